#include "trainer/callback_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "trainer/core/error.h"

namespace levin {

namespace {

// A callback without a key of its own is known by its place.
std::string prefix_of(const Callback& callback, size_t index) {
  const std::string key = callback.state_key();
  return key.empty() ? fmt::format("{}.", index) : key + ".";
}

// Before the training, and not when the first checkpoint is saved.
void check_keys(const std::vector<std::shared_ptr<Callback>>& callbacks) {
  std::set<std::string> keys;
  for (const auto& callback : callbacks) {
    const std::string key = callback->state_key();
    if (key.empty() || keys.insert(key).second) continue;
    throw ConfigError(fmt::format(
        "[Trainer] two callbacks keep their state as \"{}\". Leave one out, or give them different options.", key));
  }
}

}  // namespace

CallbackList::CallbackList(std::vector<std::shared_ptr<Callback>> callbacks) : callbacks_(std::move(callbacks)) {
  check_keys(callbacks_);
  std::stable_partition(callbacks_.begin(), callbacks_.end(),
                        [](const std::shared_ptr<Callback>& callback) { return !callback->runs_last(); });
}

StateDict CallbackList::state() const {
  StateDict result;
  for (size_t i = 0; i < callbacks_.size(); ++i) {
    result.merge(prefix_of(*callbacks_[i], i), callbacks_[i]->state());
  }
  return result;
}

void CallbackList::load_state(const StateDict& state, bool go_back) const {
  for (size_t i = 0; i < callbacks_.size(); ++i) {
    if (go_back && !callbacks_[i]->goes_back()) continue;
    const StateDict own = state.under(prefix_of(*callbacks_[i], i));
    if (!own.empty()) callbacks_[i]->load_state(own);
  }
}

void CallbackList::on_exception(const RunContext& run, const std::exception& error) const noexcept {
  for (const auto& callback : callbacks_) callback->on_exception(run, error);
}

}  // namespace levin
