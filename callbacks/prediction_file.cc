#include "callbacks/prediction_file.h"

#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/core/files/safetensors.h"
#include "trainer/core/files/whole_file.h"

namespace levin {
namespace {

using Leaves = std::vector<std::pair<std::string, at::Tensor>>;

void collect_leaves(const Batch& batch, const std::string& prefix, Leaves& leaves) {
  const auto join = [&](const std::string& name) { return prefix.empty() ? name : prefix + "." + name; };
  if (batch.is_tensor()) {
    const at::Tensor& leaf = batch.tensor();
    leaves.emplace_back(prefix.empty() ? "prediction" : prefix, leaf.dim() == 0 ? leaf.reshape({1}) : leaf);
  } else if (batch.is_list()) {
    for (size_t i = 0; i < batch.size(); ++i) collect_leaves(batch[i], join(std::to_string(i)), leaves);
  } else {
    for (const auto& [name, value] : batch.fields()) collect_leaves(value, join(name), leaves);
  }
}

/// One tensor a name, all batches joined along the first dimension.
Leaves join_batches(const std::vector<Batch>& predictions) {
  std::vector<std::pair<std::string, std::vector<at::Tensor>>> columns;
  for (const Batch& batch : predictions) {
    Leaves leaves;
    collect_leaves(batch, "", leaves);
    if (columns.empty()) {
      for (const auto& [name, leaf] : leaves) columns.emplace_back(name, std::vector<at::Tensor>{});
    }
    bool is_same = leaves.size() == columns.size();
    for (size_t i = 0; is_same && i < leaves.size(); ++i) is_same = leaves[i].first == columns[i].first;
    if (!is_same) {
      throw DataError(fmt::format("[predict] every batch must have the same fields, got {} after {}.", batch.describe(),
                                  predictions.front().describe()));
    }
    for (size_t i = 0; i < leaves.size(); ++i) columns[i].second.push_back(leaves[i].second);
  }
  Leaves joined;
  for (const auto& [name, tensors] : columns) joined.emplace_back(name, at::cat(tensors));
  return joined;
}

/// The leaves as doubles [rows, columns], and the header.
std::string write_csv(const Leaves& leaves) {
  std::vector<at::Tensor> blocks;
  std::string text;
  for (const auto& [name, leaf] : leaves) {
    if (leaf.dim() > 2) {
      throw DataError(
          fmt::format("[predict] \"{}\" is {}; a .csv takes [B] and [B, C]. Write a .safetensors file instead.", name,
                      describe_tensor(leaf)));
    }
    blocks.push_back((leaf.dim() == 2 ? leaf : leaf.unsqueeze(1)).to(at::kDouble).contiguous());
    for (int64_t column = 0; column < blocks.back().size(1); ++column) {
      if (!text.empty()) text += ',';
      text += leaf.dim() == 2 ? fmt::format("{}_{}", name, column) : name;
    }
  }
  text += '\n';
  const int64_t num_rows = blocks.empty() ? 0 : blocks.front().size(0);
  for (int64_t row = 0; row < num_rows; ++row) {
    bool is_first = true;
    for (size_t block = 0; block < blocks.size(); ++block) {
      const double* values = blocks[block].const_data_ptr<double>() + row * blocks[block].size(1);
      for (int64_t column = 0; column < blocks[block].size(1); ++column) {
        // float32 values are written with as many digits as they have.
        const bool is_single = leaves[block].second.scalar_type() == at::kFloat;
        if (!is_first) text += ',';
        text += is_single ? fmt::format("{}", static_cast<float>(values[column])) : fmt::format("{}", values[column]);
        is_first = false;
      }
    }
    text += '\n';
  }
  return text;
}

}  // namespace

void check_prediction_file(const std::filesystem::path& file) {
  if (file.extension() != ".safetensors" && file.extension() != ".csv") {
    throw ConfigError(fmt::format("[predict] the output must end in .safetensors or .csv, got {}.", file.string()));
  }
  std::error_code error;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, error)) {
    throw ConfigError(fmt::format("[predict] cannot write {}: there is no folder {}.", file.string(), folder.string()));
  }
  if (std::filesystem::is_directory(file, error)) {
    throw ConfigError(fmt::format("[predict] cannot write {}: it is a folder.", file.string()));
  }
}

void write_predictions(const std::filesystem::path& file, const std::vector<Batch>& predictions) {
  check_prediction_file(file);
  const Leaves leaves = join_batches(predictions);
  for (const auto& [name, leaf] : leaves) {
    if (leaf.size(0) != leaves.front().second.size(0)) {
      throw DataError(fmt::format("[predict] \"{}\" has {} rows, but \"{}\" has {}.", name, leaf.size(0),
                                  leaves.front().first, leaves.front().second.size(0)));
    }
  }
  const std::string text = file.extension() == ".csv" ? write_csv(leaves) : "";
  try {
    write_whole_file(file, [&](FileWriter& writer) {
      if (file.extension() == ".csv") return writer.write(text);
      write_safetensors(writer, leaves);
    });
  } catch (const CheckpointError& error) {
    // It is no checkpoint that could not be written.
    std::string_view reason = error.what();
    if (reason.starts_with("[Checkpoint] ")) reason.remove_prefix(std::string_view("[Checkpoint] ").size());
    throw OutputError(fmt::format("[predict] {}", reason));
  }
}

}  // namespace levin
