#include "trainer/data/text/text_dataset.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>

#include "trainer/core/error.h"

namespace levin {
namespace {

class TextStream final : public SampleStream {
 public:
  TextStream(std::vector<std::filesystem::path> files, std::shared_ptr<const Tokenizer> tokenizer,
             TextDataset::Options options)
      : files_(std::move(files)), tokenizer_(std::move(tokenizer)), options_(std::move(options)) {}

  std::optional<Batch> next() override {
    const auto document = read();
    if (!document) return std::nullopt;
    std::vector<uint32_t> tokens = tokenizer_->encode(document->text);
    if (options_.appends_end_of_text) tokens.push_back(*tokenizer_->end_of_text());
    at::Tensor sample = at::empty({static_cast<int64_t>(tokens.size())}, at::TensorOptions(at::kLong));
    std::copy(tokens.begin(), tokens.end(), sample.mutable_data_ptr<int64_t>());
    return sample;
  }

  int64_t skip(int64_t count) override {
    int64_t skipped = 0;
    while (skipped < count && read()) ++skipped;
    return skipped;
  }

  std::optional<StateDict> state() const override {
    StateDict state;
    state.set("num_files", static_cast<int64_t>(files_.size()));
    state.set("file", static_cast<int64_t>(file_));
    state.set("offset", reader_ ? reader_->offset() : 0);
    return state;
  }

  void load_state(const StateDict& state) override {
    const auto num_files = static_cast<int64_t>(files_.size());
    const int64_t file = state.integer("file");
    const int64_t offset = state.integer("offset");
    if (state.integer("num_files") != num_files || file < 0 || file > num_files || offset < 0) {
      throw CheckpointError(fmt::format(
          "[TextDataset] the saved position is byte {} of file {} of {}, but there are {} files. Resume with the same "
          "files in the same order.",
          offset, file, state.integer("num_files"), num_files));
    }
    reader_.reset();
    file_ = static_cast<size_t>(file);
    if (offset == 0) return;
    if (!open()) throw CheckpointError(fmt::format("[TextDataset] there is no file {} of {}.", file, num_files));
    reader_->seek(offset);
  }

 private:
  bool open() {
    if (!reader_ && file_ < files_.size()) {
      reader_ = std::make_unique<DocumentReader>(files_[file_], options_.documents);
    }
    return reader_ != nullptr;
  }

  std::optional<DocumentPart> read() {
    while (open()) {
      if (const auto document = reader_->next()) return document;
      reader_.reset();
      ++file_;
    }
    return std::nullopt;
  }

  std::vector<std::filesystem::path> files_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  TextDataset::Options options_;
  size_t file_ = 0;
  std::unique_ptr<DocumentReader> reader_;  // of that file, once it is open
};

}  // namespace

TextDataset::TextDataset(std::vector<std::filesystem::path> files, std::shared_ptr<const Tokenizer> tokenizer,
                         Options options)
    : files_(std::move(files)), tokenizer_(std::move(tokenizer)), options_(std::move(options)) {
  if (files_.empty()) throw ConfigError("[TextDataset] there must be at least one file.");
  if (options_.appends_end_of_text && !tokenizer_->end_of_text()) {
    throw ConfigError(fmt::format(
        "[TextDataset] the tokenizer {} has no token for the end of text. Set appends_end_of_text to false.",
        tokenizer_->name()));
  }
  for (const auto& file : files_) DocumentReader(file, options_.documents);  // says what is wrong with one
}

std::unique_ptr<SampleStream> TextDataset::open(const SampleRandom& /*random*/) const {
  return std::make_unique<TextStream>(files_, tokenizer_, options_);
}

}  // namespace levin
