#include "trainer/data/text/text_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/data/dataset_loader.h"
#include "trainer/data/text/text_windows.h"
#include "trainer/data/text/tokenize_files.h"
#include "trainer/data/text/tokenizer.h"

namespace levin {
namespace {

constexpr size_t kMostTokens = size_t{1} << 30;  // 4 GiB

DocumentOptions document_options(const TextData::Options& options) {
  if (options.documents == "line") return {.border = DocumentBorder::kLine};
  if (options.documents == "separator") {
    return {.border = DocumentBorder::kSeparator, .separator = options.document_separator};
  }
  return {};
}

}  // namespace

void TextData::Options::visit(OptionVisitor& visitor) {
  visitor.field("train_files", train_files, "text files to train on, plain or .gz");
  visitor.field("val_files", val_files, "text files to validate on");
  visitor.field("test_files", test_files, "text files to test on");
  visitor.field("predict_files", predict_files, "text files to predict on");
  visitor.field("tokenizer", tokenizer, "bytes, or the path of a tokenizer.json");
  visitor.field("documents", documents, "what a document is", one_of({"file", "line", "separator"}));
  visitor.field("document_separator", document_separator, "the text between two documents, for documents: separator");
  visitor.field("sequence_length", sequence_length, "tokens of an input", at_least(1));
  visitor.field("batch_size", loader.batch_size, "windows of a training batch, on each rank", at_least(1));
  visitor.field("eval_batch_size", eval_batch_size, "windows of a batch elsewhere", at_least(1));
  visit_worker_options(loader, visitor);
}

TextData::TextData(Options options) : options_(std::move(options)) {
  OptionChecker checker;
  options_.visit(checker);
  if (!checker.problems().empty()) throw ConfigError("[TextData] " + checker.problems().front() + ".");
  if ((options_.documents == "separator") == options_.document_separator.empty()) {
    throw ConfigError(fmt::format(
        "[TextData] document_separator, the text between two documents, must be given with documents: separator and "
        "only then, got documents: {} and \"{}\".",
        options_.documents, options_.document_separator));
  }
}

std::shared_ptr<const Dataset> TextData::read(const char* split, const std::vector<std::string>& files) const {
  if (files.empty()) return nullptr;
  const std::shared_ptr<const Tokenizer> tokenizer = load_tokenizer(options_.tokenizer);
  TokenizeOptions options;
  options.documents = document_options(options_);
  options.end_of_text = tokenizer->end_of_text();
  if (!options.end_of_text) {
    throw ConfigError(
        fmt::format("[TextData] the tokenizer {} has no token for the end of text. Make token files with "
                    "levin tokenize --end-of-text, and train on them.",
                    tokenizer->name()));
  }
  options.num_threads = std::max<int64_t>(1, std::thread::hardware_concurrency());
  std::vector<uint32_t> tokens;
  const std::vector<std::filesystem::path> paths(files.begin(), files.end());
  tokenize_files(*tokenizer, paths, options, [&](std::span<const uint32_t> more) {
    if (tokens.size() + more.size() > kMostTokens) {
      throw DataError(
          fmt::format("[TextData] {}_files have more than {} tokens, too many to hold in memory. Make a token "
                      "file with levin tokenize, and train on it.",
                      split, kMostTokens));
    }
    tokens.insert(tokens.end(), more.begin(), more.end());
  });
  try {
    return std::make_shared<TextWindows>(std::move(tokens), options_.sequence_length);
  } catch (const DataError& error) {
    throw DataError(fmt::format("[TextData] {}_files ({}): {}", split, fmt::join(files, ", "), error.what()));
  }
}

void TextData::setup(Stage stage) {
  if (options_.train_files.empty() && options_.val_files.empty() && options_.test_files.empty() &&
      options_.predict_files.empty()) {
    throw ConfigError(
        "[TextData] no files are given. Set data.train_files, data.val_files, data.test_files or data.predict_files.");
  }
  if (stage == Stage::kTrain && !train_) train_ = read("train", options_.train_files);
  if ((stage == Stage::kTrain || stage == Stage::kValidate) && !val_) val_ = read("val", options_.val_files);
  if (stage == Stage::kTest && !test_) test_ = read("test", options_.test_files);
  if (stage == Stage::kPredict && !predict_) predict_ = read("predict", options_.predict_files);
}

std::unique_ptr<DataLoader> TextData::make_loader(const std::shared_ptr<const Dataset>& dataset,
                                                  bool is_training) const {
  if (!dataset) return nullptr;
  LoaderOptions options = options_.loader;
  options.shuffle = is_training;
  if (!is_training) {
    options.batch_size = options_.eval_batch_size;
    options.drop_last = false;
  }
  return std::make_unique<DatasetLoader>(dataset, options);
}

std::unique_ptr<DataLoader> TextData::train_dataloader() { return make_loader(train_, /*is_training=*/true); }
std::unique_ptr<DataLoader> TextData::val_dataloader() { return make_loader(val_, /*is_training=*/false); }
std::unique_ptr<DataLoader> TextData::test_dataloader() { return make_loader(test_, /*is_training=*/false); }
std::unique_ptr<DataLoader> TextData::predict_dataloader() { return make_loader(predict_, /*is_training=*/false); }

bool TextData::set_batch_size(int64_t batch_size) {
  options_.loader.batch_size = batch_size;
  return true;
}

}  // namespace levin
