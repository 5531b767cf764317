#include "callbacks/prediction_writer.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "callbacks/check_options.h"
#include "callbacks/prediction_file.h"
#include "trainer/core/error.h"
#include "trainer/core/files/posix_file.h"

namespace levin {
namespace fs = std::filesystem;
namespace {

constexpr const char* kIndexName = "sample_index";
constexpr std::string_view kBatchPrefix = "batch-";

std::vector<std::string> find_problems(const PredictionWriter::Options& options) {
  std::vector<std::string> problems;
  const std::string interval = options.write_interval.value_or("");
  if (!options.file.empty() && interval == "batch") {
    problems.emplace_back("file is for write_interval epoch, and write_interval is batch; name a folder");
  }
  if (!options.folder.empty() && interval == "epoch") {
    problems.emplace_back("folder is for write_interval batch, and write_interval is epoch; name a file");
  }
  const fs::path extension = fs::path(options.file).extension();
  if (!options.file.empty() && extension != ".safetensors" && extension != ".csv") {
    problems.push_back(fmt::format("file must end in .safetensors or .csv, got \"{}\"", options.file));
  }
  return problems;
}

std::string choose_interval(const PredictionWriter::Options& options) {
  if (options.write_interval) return *options.write_interval;
  if (options.file.empty()) return "batch";
  return options.folder.empty() ? "epoch" : "batch_and_epoch";
}

// [B] of int64, or undefined if the loader does not know them or a prediction is not one row a sample.
at::Tensor index_column(const RunContext& run, const Batch& predictions) {
  const auto count = static_cast<int64_t>(run.sample_indices.size());
  if (count == 0 || predictions.batch_size() != count) return {};
  at::Tensor column = at::empty({count}, at::kLong);
  std::copy(run.sample_indices.begin(), run.sample_indices.end(), column.mutable_data_ptr<int64_t>());
  return column;
}

// The predictions with the indices as their first field, under the names that write_predictions() gives them.
Batch with_indices(const Batch& predictions, const at::Tensor& indices) {
  if (!indices.defined()) return predictions;
  Batch::Fields fields = {{kIndexName, Batch(indices)}};
  if (predictions.is_tensor()) {
    fields.emplace_back("prediction", predictions);
  } else if (predictions.is_list()) {
    for (size_t i = 0; i < predictions.size(); ++i) fields.emplace_back(std::to_string(i), predictions[i]);
  } else {
    for (const auto& [name, value] : predictions.fields()) {
      if (name == kIndexName) return predictions;  // the module knows better
      fields.emplace_back(name, value);
    }
  }
  return Batch(std::move(fields));
}

fs::path made_folder(const fs::path& folder) {
  try {
    create_folders(folder);
  } catch (const CheckpointError& error) {
    throw OutputError(fmt::format("[PredictionWriter] there is no folder {}: {}", folder.string(), error.what()));
  }
  return folder;
}

}  // namespace

void PredictionWriter::Options::visit(OptionVisitor& visitor) {
  visitor.field("file", file, "one file of all predictions, .safetensors or .csv; \"\": in the run folder");
  visitor.field("folder", folder, "folder in which each batch has a file; \"\": predictions/ in the run folder");
  visitor.field("write_interval", write_interval, "after what to write; null: as file and folder are given, or batch",
                one_of({"batch", "epoch", "batch_and_epoch"}));
  visitor.field("format", format, "of the files of batches, and of a file that is not named",
                one_of({"safetensors", "csv"}));
  visitor.field("write_indices", write_indices,
                "write the samples' indices in the dataset, where the loader knows them");
}

PredictionWriter::PredictionWriter(const Options& options) : options_(options) {
  check_options("PredictionWriter", options_);
  throw_if_any("PredictionWriter", find_problems(options_));
  options_.write_interval = choose_interval(options_);
}

fs::path PredictionWriter::place(const RunContext& run, const std::string& given, const std::string& name) const {
  if (!given.empty()) return fs::absolute(given).lexically_normal();
  if (!run.run_dir.empty()) return fs::absolute(run.run_dir / name).lexically_normal();
  throw ConfigError(fmt::format("[PredictionWriter] The run keeps no files, so there is no folder for {}. Give {}.",
                                name, writes_batches() ? "folder" : "file"));
}

void PredictionWriter::on_predict_start(const RunContext& run) {
  predictions_.clear();
  indices_.clear();
  rank_suffix_ = run.communicator.world_size() > 1 ? fmt::format("-rank-{}", run.communicator.rank()) : "";
  if (writes_batches()) {
    folder_ = made_folder(place(run, options_.folder, "predictions"));
    remove_older_batches();
  }
  if (writes_epoch()) {
    const fs::path whole = place(run, options_.file, "predictions." + options_.format);
    file_ = made_folder(whole.parent_path()) / (whole.stem().string() + rank_suffix_ + whole.extension().string());
    check_prediction_file(file_);
  }
}

fs::path PredictionWriter::batch_file(int64_t batch_idx) const {
  return folder_ / fmt::format("{}{:06}{}.{}", kBatchPrefix, batch_idx, rank_suffix_, options_.format);
}

// Those of a longer prediction would look like a part of this one.
void PredictionWriter::remove_older_batches() const {
  const std::string ending = rank_suffix_ + "." + options_.format;
  std::error_code error;
  std::vector<fs::path> older;
  for (fs::directory_iterator item(folder_, error), end; !error && item != end; item.increment(error)) {
    std::string_view name = item->path().native();
    name.remove_prefix(name.rfind('/') + 1);
    if (!name.starts_with(kBatchPrefix) || !name.ends_with(ending)) continue;
    if (name.size() <= kBatchPrefix.size() + ending.size()) continue;
    const std::string_view number = name.substr(kBatchPrefix.size(), name.size() - kBatchPrefix.size() - ending.size());
    if (number.find_first_not_of("0123456789") == std::string_view::npos) older.push_back(item->path());
  }
  for (const fs::path& path : older) {
    if (fs::remove(path, error) || !error) continue;
    throw OutputError(fmt::format("[PredictionWriter] cannot remove {}, which an earlier prediction left: {}.",
                                  path.string(), error.message()));
  }
}

void PredictionWriter::on_predict_batch_end(const RunContext& run, const Batch& predictions, const Batch& /*batch*/) {
  const at::Tensor indices = options_.write_indices ? index_column(run, predictions) : at::Tensor();
  if (writes_batches()) write_predictions(batch_file(run.state.batch_idx), {with_indices(predictions, indices)});
  if (!writes_epoch()) return;
  predictions_.push_back(predictions);
  indices_.push_back(indices);
}

void PredictionWriter::on_predict_epoch_end(const RunContext& /*run*/) {
  if (!writes_epoch()) return;
  // A column is there for all batches or for none.
  const bool has_indices =
      std::all_of(indices_.begin(), indices_.end(), [](const at::Tensor& column) { return column.defined(); });
  for (size_t i = 0; has_indices && i < predictions_.size(); ++i) {
    predictions_[i] = with_indices(predictions_[i], indices_[i]);
  }
  indices_.clear();
  write_predictions(file_, std::exchange(predictions_, {}));
}

void PredictionWriter::on_exception(const RunContext& /*run*/, const std::exception& /*error*/) noexcept {
  predictions_.clear();
  indices_.clear();
}

}  // namespace levin
