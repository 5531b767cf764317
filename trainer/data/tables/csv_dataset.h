#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "trainer/core/option_visitor.h"
#include "trainer/data/dataset.h"

namespace levin {

/// What the columns of a CSV file mean. Without a header line they are called "0", "1", ...
struct CsvOptions {
  /// The inputs, in this order. Empty: every column that is no target.
  std::vector<std::string> features = {};
  std::vector<std::string> targets = {};
  /// Those of both that hold texts, which become the numbers 0, 1, ... of the sorted different texts.
  std::vector<std::string> categories = {};
  /// Of targets that hold numbers: "float32" or "int64".
  std::string target_type = "float32";
  /// A value that is missing: "error"; or "nan", which is NaN for a number and the category "" for a text. A target
  /// must not be missing in either case.
  std::string missing = "error";
  /// What stands for a missing value.
  std::vector<std::string> missing_values = {"", "NA", "N/A", "NaN", "nan", "null"};
  /// One character.
  std::string separator = ",";
  /// The first line has the names of the columns.
  bool has_header = true;

  /// The texts of a column of categories, in the order of their numbers; another text is then an error. Columns that
  /// are not here have those of the file. Not an option of YAML.
  std::map<std::string, std::vector<std::string>> vocabularies = {};
  /// A file without any of the targets is read without them. Not an option of YAML.
  bool may_lack_targets = false;

  void visit(OptionVisitor& visitor);
};

/// The records of a CSV file (RFC 4180; gzip-compressed or not), read into memory: 4 bytes for each number. Fields of a
/// batch, each only if there are such columns:
///   features    float32 [B, F], the features that are numbers
///   categories  int64 [B, C], the features that are categories
///   target      [B] for one target, [B, T] for several: int64 for categories, else of target_type
class CsvDataset final : public Dataset {
 public:
  /// Errors: ConfigError if the options do not fit together; DataError that names file, line, column and text if a
  /// column is missing, a value is missing or no number of its type, a category is not in a given vocabulary, a record
  /// has more or fewer fields than the first, or there are no records.
  explicit CsvDataset(const std::filesystem::path& file, const CsvOptions& options = {});

  int64_t size() const override { return samples_.size(); }
  Batch get_batch(std::span<const int64_t> indices, const SampleRandom& random) const override {
    return samples_.get_batch(indices, random);
  }

  /// All columns that are features, in their order.
  const std::vector<std::string>& feature_names() const { return columns_.features; }
  /// The texts of each column of categories, in the order of their numbers.
  const std::map<std::string, std::vector<std::string>>& vocabularies() const { return columns_.vocabularies; }

 private:
  struct Columns {
    std::vector<std::string> features;
    std::map<std::string, std::vector<std::string>> vocabularies;
  };

  static Batch read(const std::filesystem::path& file, const CsvOptions& options, Columns& columns);

  Columns columns_;
  TensorDataset samples_;
};

}  // namespace levin
