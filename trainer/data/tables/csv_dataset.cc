#include "trainer/data/tables/csv_dataset.h"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/core/nearest_name.h"
#include "trainer/data/tables/csv_columns.h"
#include "trainer/data/tables/csv_file.h"

namespace levin {
namespace {

using Record = std::vector<std::string_view>;

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// The values of columns of one type, row by row; they become a tensor without a copy.
template <class T>
class Table {
 public:
  explicit Table(size_t num_columns) : num_columns_(static_cast<int64_t>(num_columns)) {}
  void add(T value) { values_->push_back(value); }
  /// Replaces each value of a column.
  template <class Map>
  void map_column(size_t column, const Map& map) {
    for (size_t i = column; i < values_->size(); i += static_cast<size_t>(num_columns_))
      (*values_)[i] = map((*values_)[i]);
  }
  /// [N, columns], or [N] where that is asked for.
  at::Tensor tensor(at::ScalarType dtype, bool is_flat = false) const {
    const int64_t num_rows = static_cast<int64_t>(values_->size()) / num_columns_;
    const std::vector<int64_t> shape = is_flat ? std::vector{num_rows} : std::vector{num_rows, num_columns_};
    return at::from_blob(
        values_->data(), shape, [values = values_](void* /*data*/) {}, dtype);
  }

 private:
  int64_t num_columns_;
  std::shared_ptr<std::vector<T>> values_ = std::make_shared<std::vector<T>>();
};

/// A column that is read.
struct Column {
  std::string name;
  size_t place = 0;  // in a record
  bool is_target = false;
  std::optional<CategoryCoder> categories = std::nullopt;
};

class Reader {
 public:
  Reader(const std::filesystem::path& path, const CsvOptions& options)
      : options_(options), file_(path, options.separator.front()) {
    Record record;
    if (!file_.next(record)) throw DataError(fmt::format("[CsvDataset] {} has no records.", path.string()));
    num_fields_ = record.size();
    for (size_t i = 0; i < record.size(); ++i) {
      names_.push_back(options_.has_header ? std::string(record[i]) : fmt::to_string(i));
      if (std::ranges::count(names_, names_.back()) > 1) {
        throw DataError(fmt::format("[CsvDataset] {}: two columns are called \"{}\".", path.string(), names_.back()));
      }
    }
    choose_columns();
    if (!options_.has_header) add(record);
  }

  void read() {
    Record record;
    while (file_.next(record)) add(record);
    if (num_records_ == 0) throw DataError(fmt::format("[CsvDataset] {} has no records.", file_.path().string()));
  }

  Batch finish() {
    Batch::Fields fields;
    if (!numbers_.empty()) fields.emplace_back("features", number_table_->tensor(at::kFloat));
    if (!categories_.empty()) {
      sort_categories(categories_, *category_table_);
      fields.emplace_back("categories", category_table_->tensor(at::kLong));
    }
    if (!targets_.empty()) {
      const bool is_flat = targets_.size() == 1;
      if (has_integer_targets_) sort_categories(targets_, *integer_targets_);
      fields.emplace_back("target", has_integer_targets_ ? integer_targets_->tensor(at::kLong, is_flat)
                                                         : float_targets_->tensor(at::kFloat, is_flat));
    }
    return Batch(std::move(fields));
  }

  const std::vector<std::string>& features() const { return features_; }
  std::map<std::string, std::vector<std::string>> vocabularies() const {
    std::map<std::string, std::vector<std::string>> result;
    for (const std::vector<Column>* columns : {&categories_, &targets_}) {
      for (const Column& column : *columns) {
        if (column.categories) result[column.name] = column.categories->vocabulary();
      }
    }
    return result;
  }

 private:
  void choose_columns() {
    std::vector<std::string> targets = options_.targets;
    const bool has_any = std::ranges::any_of(targets, [&](const std::string& name) { return contains(names_, name); });
    if (options_.may_lack_targets && !has_any) targets.clear();
    features_ = options_.features;
    if (features_.empty()) {
      std::ranges::copy_if(names_, std::back_inserter(features_),
                           [&](const std::string& name) { return !contains(options_.targets, name); });
    }
    for (const std::string& name : features_) {
      Column column = find_column(name, /*is_target=*/false);
      (column.categories ? categories_ : numbers_).push_back(std::move(column));
    }
    for (const std::string& name : targets) targets_.push_back(find_column(name, /*is_target=*/true));
    for (const std::string& name : options_.categories) {
      if (!contains(features_, name) && !contains(options_.targets, name)) {
        throw ConfigError(
            fmt::format("[CsvDataset] {}: categories must name features or targets, but column \"{}\" is neither.",
                        file_.path().string(), name));
      }
    }
    check_targets();
    number_table_.emplace(numbers_.size());
    category_table_.emplace(categories_.size());
    integer_targets_.emplace(targets_.size());
    float_targets_.emplace(targets_.size());
  }

  Column find_column(const std::string& name, bool is_target) const {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) {
      throw DataError(fmt::format("[CsvDataset] {} has no column \"{}\"{}.", file_.path().string(), name,
                                  suggest_name(name, names_)));
    }
    Column column{.name = name, .place = static_cast<size_t>(found - names_.begin()), .is_target = is_target};
    if (contains(options_.categories, name)) {
      const auto given = options_.vocabularies.find(name);
      column.categories = given == options_.vocabularies.end() ? CategoryCoder() : CategoryCoder(given->second, name);
    }
    return column;
  }

  void check_targets() {
    const bool are_integers = options_.target_type == "int64";
    const auto is_integer = [&](const Column& column) { return column.categories || are_integers; };
    has_integer_targets_ = !targets_.empty() && is_integer(targets_.front());
    for (const Column& column : targets_) {
      if (is_integer(column) != has_integer_targets_) {
        throw ConfigError(
            fmt::format("[CsvDataset] targets must be of one type, but \"{}\" is {} and \"{}\" is not. Set target_type "
                        "to int64, or "
                        "leave one out.",
                        targets_.front().name, has_integer_targets_ ? "int64" : "float32", column.name));
      }
    }
  }

  void add(const Record& record) {
    if (record.size() != num_fields_) {
      throw DataError(fmt::format("[CsvDataset] {}, line {}: a record must have {} fields as the first has, got {}.",
                                  file_.path().string(), file_.line(), num_fields_, record.size()));
    }
    for (const Column& column : numbers_) number_table_->add(read_number(column, record[column.place]));
    for (Column& column : categories_) category_table_->add(read_category(column, record[column.place]));
    for (Column& column : targets_) {
      const std::string_view text = record[column.place];
      if (column.categories) {
        integer_targets_->add(read_category(column, text));
      } else if (has_integer_targets_) {
        integer_targets_->add(read_integer(column, text));
      } else {
        float_targets_->add(read_number(column, text));
      }
    }
    ++num_records_;
  }

  float read_number(const Column& column, std::string_view text) const {
    if (const std::optional<float> value = parse_float(text)) return *value;
    if (!contains(options_.missing_values, text)) {
      refuse(column, text, "is no number of float32. Name the column in categories if it holds texts");
    }
    check_may_be_missing(column, text);
    return std::numeric_limits<float>::quiet_NaN();
  }

  int64_t read_integer(const Column& column, std::string_view text) const {
    if (const std::optional<int64_t> value = parse_integer(text)) return *value;
    if (contains(options_.missing_values, text)) check_may_be_missing(column, text);
    refuse(column, text, "is no integer. Set target_type to float32, or name the column in categories");
  }

  int64_t read_category(Column& column, std::string_view text) const {
    if (contains(options_.missing_values, text)) {
      check_may_be_missing(column, text);
      text = "";
    }
    const std::optional<int64_t> code = column.categories->code(text);
    if (!code) refuse(column, text, "is not in the vocabulary of the column, which the training data have");
    return *code;
  }

  void check_may_be_missing(const Column& column, std::string_view text) const {
    if (column.is_target) refuse(column, text, "is a missing value, which a target must not be");
    if (options_.missing == "error") refuse(column, text, "is a missing value. Set missing to nan to allow that");
  }

  [[noreturn]] void refuse(const Column& column, std::string_view text, const char* problem) const {
    constexpr size_t kLongest = 60;
    throw DataError(fmt::format("[CsvDataset] {}, line {}, column \"{}\": \"{}{}\" {}.", file_.path().string(),
                                file_.line(), column.name, text.substr(0, kLongest),
                                text.size() > kLongest ? "..." : "", problem));
  }

  static void sort_categories(std::vector<Column>& columns, Table<int64_t>& table) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].categories) continue;
      const std::vector<int64_t> numbers = columns[i].categories->finish();
      table.map_column(i, [&](int64_t code) { return numbers[static_cast<size_t>(code)]; });
    }
  }

  const CsvOptions& options_;
  CsvFile file_;
  size_t num_fields_ = 0;
  int64_t num_records_ = 0;
  std::vector<std::string> names_;
  std::vector<std::string> features_;
  std::vector<Column> numbers_;
  std::vector<Column> categories_;
  std::vector<Column> targets_;
  bool has_integer_targets_ = false;
  std::optional<Table<float>> number_table_;
  std::optional<Table<int64_t>> category_table_;
  std::optional<Table<int64_t>> integer_targets_;
  std::optional<Table<float>> float_targets_;
};

void check_options(CsvOptions options) {
  OptionChecker checker;
  options.visit(checker);
  if (!checker.problems().empty()) throw ConfigError("[CsvDataset] " + checker.problems().front() + ".");
  if (options.separator.size() != 1) {
    throw ConfigError(
        fmt::format("[CsvDataset] separator must be one character, got \"{}\". A tab is \"\\t\", in double quotes.",
                    options.separator));
  }
}

}  // namespace

void CsvOptions::visit(OptionVisitor& visitor) {
  visitor.field("features", features, "columns that are inputs; []: all but the targets");
  visitor.field("targets", targets, "columns to predict");
  visitor.field("categories", categories, "those of both that hold texts");
  visitor.field("target_type", target_type, "of targets that are numbers", one_of({"float32", "int64"}));
  visitor.field("missing", missing, "a feature that is missing is an error, or NaN", one_of({"error", "nan"}));
  visitor.field("missing_values", missing_values, "what stands for a missing value");
  visitor.field("separator", separator, "character between the fields");
  visitor.field("has_header", has_header, "the first line has the names of the columns; else they are 0, 1, ...");
}

CsvDataset::CsvDataset(const std::filesystem::path& file, const CsvOptions& options)
    : samples_(read(file, options, columns_)) {}

Batch CsvDataset::read(const std::filesystem::path& file, const CsvOptions& options, Columns& columns) {
  check_options(options);
  Reader reader(file, options);
  reader.read();
  Batch batch = reader.finish();
  columns = {.features = reader.features(), .vocabularies = reader.vocabularies()};
  return batch;
}

}  // namespace levin
