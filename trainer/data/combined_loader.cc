#include "trainer/data/combined_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "trainer/core/error.h"

namespace levin {

CombineMode parse_combine_mode(const std::string& name) {
  if (name == "min_size") return CombineMode::kMinSize;
  if (name == "max_size_cycle") return CombineMode::kMaxSizeCycle;
  if (name == "max_size") return CombineMode::kMaxSize;
  if (name == "sequential") return CombineMode::kSequential;
  throw ConfigError(fmt::format(
      "[CombinedLoader] the mode must be one of: min_size, max_size_cycle, max_size, sequential, got {}.", name));
}

CombinedLoader::CombinedLoader(Loaders loaders, CombineMode mode) : mode_(mode) {
  if (loaders.empty()) throw ConfigError("[CombinedLoader] there must be at least one loader, got none.");
  std::unordered_set<std::string> names;
  for (auto& named : loaders) {
    const std::string& name = named.first;
    if (named.second == nullptr) throw ConfigError(fmt::format("[CombinedLoader] the loader \"{}\" is nullptr.", name));
    if (name.empty() || name.find('.') != std::string::npos || !names.insert(name).second) {
      throw ConfigError(
          fmt::format("[CombinedLoader] each loader needs a name of its own without a dot, got \"{}\".", name));
    }
    parts_.push_back({.name = name, .loader = std::move(named.second)});
  }
}

void CombinedLoader::attach(const LoaderContext& context) {
  for (Part& part : parts_) part.loader->attach(context);
}

void CombinedLoader::start_epoch(int64_t epoch) {
  epoch_ = epoch;
  is_over_ = false;
  for (Part& part : parts_) {
    part.num_passes = 0;
    part.has_ended = false;
    start(part);
  }
}

void CombinedLoader::start(Part& part) {
  // A second pass within the epoch has an order of its own, which no epoch has.
  part.loader->start_epoch(epoch_ + (part.num_passes << 32));
}

std::optional<Batch> CombinedLoader::next() {
  if (is_over_) return std::nullopt;
  std::optional<Batch> batch = mode_ == CombineMode::kSequential ? next_in_sequence() : next_of_all();
  if (!batch) {
    is_over_ = true;
    stop();
  }
  return batch;
}

std::optional<Batch> CombinedLoader::next_in_sequence() {
  for (Part& part : parts_) {
    if (part.has_ended) continue;
    if (std::optional<Batch> batch = next_of(part)) return Batch(Batch::Fields{{part.name, std::move(*batch)}});
  }
  return std::nullopt;
}

std::optional<Batch> CombinedLoader::next_of_all() {
  Batch::Fields fields;
  for (Part& part : parts_) {
    std::optional<Batch> batch = next_of(part);
    if (batch) {
      fields.emplace_back(part.name, std::move(*batch));
    } else if (mode_ == CombineMode::kMinSize) {
      return std::nullopt;
    }
  }
  if (fields.empty() || (mode_ == CombineMode::kMaxSizeCycle && have_all_ended())) return std::nullopt;
  return Batch(std::move(fields));
}

std::optional<Batch> CombinedLoader::next_of(Part& part) {
  if (part.has_ended && mode_ != CombineMode::kMaxSizeCycle) return std::nullopt;
  if (std::optional<Batch> batch = part.loader->next()) return batch;
  part.has_ended = true;
  if (mode_ != CombineMode::kMaxSizeCycle || have_all_ended()) return std::nullopt;
  ++part.num_passes;
  start(part);
  return part.loader->next();
}

bool CombinedLoader::have_all_ended() const {
  return std::ranges::all_of(parts_, [](const Part& part) { return part.has_ended; });
}

std::optional<int64_t> CombinedLoader::num_batches() const {
  int64_t smallest = INT64_MAX;
  int64_t largest = 0;
  int64_t sum = 0;
  for (const Part& part : parts_) {
    // One that goes through its samples again counts those of its present pass; the longest ends the epoch anyway.
    const std::optional<int64_t> size = part.loader->num_batches();
    if (!size) return std::nullopt;
    smallest = std::min(smallest, *size);
    largest = std::max(largest, *size);
    sum += *size;
  }
  if (mode_ == CombineMode::kSequential) return sum;
  return mode_ == CombineMode::kMinSize ? smallest : largest;
}

std::optional<int64_t> CombinedLoader::batch_size() const {
  if (mode_ == CombineMode::kSequential) return parts_.front().loader->batch_size();
  int64_t sum = 0;
  for (const Part& part : parts_) {
    const std::optional<int64_t> size = part.loader->batch_size();
    if (!size) return std::nullopt;
    sum += *size;
  }
  return sum;
}

StateDict CombinedLoader::state() const {
  StateDict state;
  state.set("epoch", epoch_);
  for (const Part& part : parts_) {
    state.set(part.name + ".num_passes", part.num_passes);
    state.set(part.name + ".has_ended", static_cast<int64_t>(part.has_ended));
    state.merge(part.name + ".loader.", part.loader->state());
  }
  return state;
}

void CombinedLoader::load_state(const StateDict& state) {
  epoch_ = state.integer("epoch");
  is_over_ = false;
  for (Part& part : parts_) {
    part.num_passes = state.integer(part.name + ".num_passes");
    part.has_ended = state.integer(part.name + ".has_ended") != 0;
    part.loader->load_state(state.under(part.name + ".loader."));
  }
}

void CombinedLoader::stop() noexcept {
  for (Part& part : parts_) part.loader->stop();
}

}  // namespace levin
