#include "callbacks/model_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "callbacks/check_options.h"
#include "trainer/core/lightning_module.h"

namespace levin {
namespace {

constexpr size_t kMaxShapes = 4;  // of one row; an LSTM has dozens
constexpr size_t kNumColumns = 5;

struct Amount {
  int64_t count = 0;
  int64_t bytes = 0;

  void add(const at::Tensor& tensor) {
    count += tensor.numel();
    bytes += tensor.numel() * static_cast<int64_t>(tensor.element_size());
  }
  void add(const Amount& other) {
    count += other.count;
    bytes += other.bytes;
  }
};

struct Row {
  std::string name;
  std::string type;
  std::string shapes;
  Amount amount;
};

// 1234567 -> "1,234,567"
std::string group_thousands(int64_t value) {
  std::string digits = fmt::format("{}", value);
  for (auto i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<size_t>(i), 1, ',');
  return digits;
}

std::string format_bytes(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array<const char*, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes) / 1024.0;
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {  // 1023.95 would be printed as 1024.0
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

void erase_all(std::string& text, std::string_view part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part)) text.erase(at, part.size());
}

// "torch::nn::Conv2dImpl" -> "Conv2d"
std::string type_name(const torch::nn::Module& module) {
  std::string name = module.name();
  erase_all(name, "torch::nn::");
  erase_all(name, "(anonymous namespace)::");
  constexpr std::string_view kSuffix = "Impl";
  if (name.size() > kSuffix.size() && name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  return name;
}

// Walks a module and its submodules in order of registration, and sees each tensor once.
class Walk {
 public:
  explicit Walk(int64_t max_depth) : max_depth_(max_depth) {}

  // Returns what is in `module` and below and was not seen before.
  Amount visit(const torch::nn::Module& module, const std::string& name, int64_t depth) {
    const bool has_row = depth > 0 && (max_depth_ < 0 || depth <= max_depth_);
    const size_t index = rows_.size();
    if (has_row) rows_.push_back({name, type_name(module), "", {}});
    std::string shapes;
    Amount amount = count_own(module, shapes);
    // What the module itself holds has no row of a submodule to stand in.
    if (depth == 0 && max_depth_ != 0 && amount.count > 0) rows_.push_back({".", type_name(module), shapes, amount});
    for (const auto& child : module.named_children()) {
      amount.add(visit(*child.value(), name.empty() ? child.key() : name + "." + child.key(), depth + 1));
    }
    if (has_row) {
      rows_[index].shapes = shapes;
      rows_[index].amount = amount;
    }
    return amount;
  }

  const std::vector<Row>& rows() const { return rows_; }
  const Amount& trainable() const { return trainable_; }
  const Amount& frozen() const { return frozen_; }
  const Amount& buffers() const { return buffers_; }
  bool has_shared() const { return has_shared_; }

 private:
  bool is_new(const at::Tensor& tensor) { return seen_.insert(tensor.unsafeGetTensorImpl()).second; }

  Amount count_own(const torch::nn::Module& module, std::string& shapes) {
    Amount own;
    std::vector<std::string> parts;
    for (const auto& parameter : module.named_parameters(/*recurse=*/false)) {
      const at::Tensor& tensor = parameter.value();
      const bool counts = is_new(tensor);
      parts.push_back(fmt::format("[{}]{}", fmt::join(tensor.sizes(), ", "), counts ? "" : "*"));
      has_shared_ = has_shared_ || !counts;
      if (!counts) continue;
      own.add(tensor);
      (tensor.requires_grad() ? trainable_ : frozen_).add(tensor);
    }
    for (const auto& buffer : module.named_buffers(/*recurse=*/false)) {
      if (is_new(buffer.value())) buffers_.add(buffer.value());
    }
    if (parts.size() > kMaxShapes) {
      const size_t num_hidden = parts.size() - kMaxShapes;
      parts.resize(kMaxShapes);
      parts.push_back(fmt::format("+{} more", num_hidden));
    }
    shapes = fmt::format("{}", fmt::join(parts, " "));
    return own;
  }

  int64_t max_depth_;
  std::vector<Row> rows_;
  std::unordered_set<const void*> seen_;
  Amount trainable_;
  Amount frozen_;
  Amount buffers_;
  bool has_shared_ = false;
};

using Cells = std::array<std::string, kNumColumns>;

// Two blanks between columns, numbers to the right, no blanks at the end of a line.
std::string format_table(const std::vector<Cells>& lines) {
  std::array<size_t, kNumColumns> widths{};
  for (const Cells& cells : lines) {
    for (size_t i = 0; i < kNumColumns; ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  size_t total = 2 * (kNumColumns - 1);
  for (const size_t width : widths) total += width;
  std::string text;
  for (size_t row = 0; row < lines.size(); ++row) {
    const Cells& c = lines[row];
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>{}}  {:>{}}\n", c[0], widths[0], c[1], widths[1], c[2], widths[2],
                        c[3], widths[3], c[4], widths[4]);
    if (row == 0) text += std::string(total, '-') + "\n";
  }
  return text + std::string(total, '-') + "\n";
}

std::string format_totals(const Walk& walk) {
  Amount parameters = walk.trainable();
  parameters.add(walk.frozen());
  Amount all = parameters;
  all.add(walk.buffers());
  const std::array<std::pair<const char*, Amount>, 5> totals = {{{"Trainable parameters", walk.trainable()},
                                                                 {"Frozen parameters", walk.frozen()},
                                                                 {"Total parameters", parameters},
                                                                 {"Buffers", walk.buffers()},
                                                                 {"Parameters and buffers", all}}};
  const size_t count_width = group_thousands(all.count).size();
  std::string text;
  for (const auto& [name, amount] : totals) {
    text += fmt::format("{:<22}  {:>{}}  {:>10}\n", name, group_thousands(amount.count), count_width,
                        format_bytes(amount.bytes));
  }
  return text;
}

}  // namespace

void ModelSummary::Options::visit(OptionVisitor& visitor) {
  visitor.field("max_depth", max_depth, "levels of submodules that have a row; 0 is totals only, -1 is all",
                at_least(-1));
}

ModelSummary::ModelSummary(const Options& options, std::shared_ptr<Console> console)
    : options_(options), console_(console ? std::move(console) : stderr_console()) {
  check_options("ModelSummary", options_);
}

void ModelSummary::on_fit_start(const RunContext& run) {
  if (run.communicator.rank() == 0) console_->write(summarize(run.module, options_.max_depth));
}

std::vector<SummaryRow> summary_rows(const torch::nn::Module& module, int64_t max_depth) {
  Walk walk(max_depth);
  walk.visit(module, "", 0);
  std::vector<SummaryRow> rows;
  for (const Row& row : walk.rows()) {
    rows.push_back({row.name, row.type, row.shapes, row.amount.count, row.amount.bytes});
  }
  return rows;
}

std::string summarize(const torch::nn::Module& module, int64_t max_depth) {
  Walk walk(max_depth);
  walk.visit(module, "", 0);
  std::string text;
  if (!walk.rows().empty()) {
    std::vector<Cells> lines = {{"Name", "Type", "Parameter shapes", "Parameters", "Size"}};
    for (const Row& row : walk.rows()) {
      lines.push_back(
          {row.name, row.type, row.shapes, group_thousands(row.amount.count), format_bytes(row.amount.bytes)});
    }
    text = format_table(lines);
  }
  text += format_totals(walk);
  if (walk.has_shared()) text += "* is registered before and counted there.\n";
  return text;
}

}  // namespace levin
