#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/core/option_visitor.h"
#include "trainer/data/split_data.h"

namespace levin {

/// Training on text files as they are: setup() tokenizes them into memory, 4 bytes a token. A batch is the list
/// [input, target], int64 [B, T] both; target[b][t] = input[b][t + 1]. Window i of a split are its tokens
/// [i * T, i * T + T + 1), over the borders of documents, with the end of text after each; what does not fill a window
/// at the end is left out. For text of more than a few hundred MB, `levin tokenize` makes a file once.
///
/// A split without files has no loader.
class TextData final : public SplitData {
 public:
  struct Options {
    std::vector<std::string> train_files = {};
    std::vector<std::string> val_files = {};
    std::vector<std::string> test_files = {};
    std::vector<std::string> predict_files = {};
    /// "bytes", or the path of a tokenizer.json: see load_tokenizer().
    std::string tokenizer = "bytes";
    /// "file", "line" or "separator": see DocumentBorder.
    std::string documents = "file";
    /// Only, and then needed, with "separator".
    std::string document_separator = {};
    int64_t sequence_length = 1024;
    int64_t eval_batch_size = 32;
    /// batch_size and the worker options; the data module sets the others.
    LoaderOptions loader = {};

    void visit(OptionVisitor& visitor);
  };

  /// Errors: ConfigError if an option is out of range or options do not fit together.
  explicit TextData(Options options);

  /// Tokenizes the files of the stage. Errors: ConfigError if no split has files, or the tokenizer is missing or has no
  /// end of text; DataError that names the file if one is missing or damaged, or a split is too short for one window or
  /// too long for memory.
  void setup(Stage stage) override;

 private:
  const std::vector<std::string>& files(Split split) const;
  std::shared_ptr<const Dataset> open(Split split) override;

  Options options_;
};

}  // namespace levin
