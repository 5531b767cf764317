#include "trainer/callback_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "trainer/core/error.h"

namespace levin {

CallbackList::CallbackList(std::vector<std::shared_ptr<Callback>> callbacks) : callbacks_(std::move(callbacks)) {
  std::stable_partition(callbacks_.begin(), callbacks_.end(),
                        [](const std::shared_ptr<Callback>& callback) { return !callback->runs_last(); });
}

namespace {

// A callback without a key of its own is known by its place.
std::string prefix_of(const Callback& callback, size_t index) {
  const std::string key = callback.state_key();
  return key.empty() ? fmt::format("{}.", index) : key + ".";
}

}  // namespace

StateDict CallbackList::state() const {
  StateDict result;
  for (size_t i = 0; i < callbacks_.size(); ++i) {
    const std::string prefix = prefix_of(*callbacks_[i], i);
    const StateDict state = callbacks_[i]->state();
    if (!state.empty() && !result.under(prefix).empty()) {
      throw ConfigError(
          fmt::format("[Trainer] two callbacks keep their state as \"{}\". Leave one out, or give them different "
                      "options.",
                      callbacks_[i]->state_key()));
    }
    result.merge(prefix, state);
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
