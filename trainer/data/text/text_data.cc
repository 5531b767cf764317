#include "trainer/data/text/text_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/data/text/document_reader.h"
#include "trainer/data/text/text_windows.h"
#include "trainer/data/text/tokenize_files.h"
#include "trainer/data/text/tokenizer.h"

namespace levin {
namespace {

constexpr size_t kMostTokens = size_t{1} << 30;  // 4 GiB

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

TextData::TextData(Options options) : SplitData(options.loader, options.eval_batch_size), options_(std::move(options)) {
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

const std::vector<std::string>& TextData::files(Split split) const {
  return pick(split, options_.train_files, options_.val_files, options_.test_files, options_.predict_files);
}

std::shared_ptr<const Dataset> TextData::open(Split split) {
  if (files(split).empty()) return nullptr;
  const std::shared_ptr<const Tokenizer> tokenizer = load_tokenizer(options_.tokenizer);
  TokenizeOptions options;
  options.documents = document_options(options_.documents, options_.document_separator);
  options.end_of_text = tokenizer->end_of_text();
  if (!options.end_of_text) {
    throw ConfigError(
        fmt::format("[TextData] the tokenizer {} has no token for the end of text. Make token files with "
                    "levin tokenize --end-of-text, and train on them.",
                    tokenizer->name()));
  }
  options.num_threads = std::max<int64_t>(1, std::thread::hardware_concurrency());
  std::vector<uint32_t> tokens;
  const std::vector<std::filesystem::path> paths(files(split).begin(), files(split).end());
  tokenize_files(*tokenizer, paths, options, [&](std::span<const uint32_t> more) {
    if (tokens.size() + more.size() > kMostTokens) {
      throw DataError(
          fmt::format("[TextData] {}_files have more than {} tokens, too many to hold in memory. Make a token "
                      "file with levin tokenize, and train on it.",
                      name_of(split), kMostTokens));
    }
    tokens.insert(tokens.end(), more.begin(), more.end());
  });
  try {
    return std::make_shared<TextWindows>(std::move(tokens), options_.sequence_length);
  } catch (const DataError& error) {
    throw DataError(
        fmt::format("[TextData] {}_files ({}): {}", name_of(split), fmt::join(files(split), ", "), error.what()));
  }
}

void TextData::setup(Stage stage) {
  if (options_.train_files.empty() && options_.val_files.empty() && options_.test_files.empty() &&
      options_.predict_files.empty()) {
    throw ConfigError(
        "[TextData] no files are given. Set data.train_files, data.val_files, data.test_files or data.predict_files.");
  }
  SplitData::setup(stage);
}

}  // namespace levin
