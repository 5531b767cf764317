#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "callbacks/callback.h"

namespace levin {

/// Calls one hook of every callback, in list order; those that run last come last.
class CallbackList {
 public:
  /// Errors: ConfigError if two callbacks have the same state_key().
  explicit CallbackList(std::vector<std::shared_ptr<Callback>> callbacks);

  /// callbacks.call(&Callback::on_train_start, run).
  template <class... Parameters, class... Arguments>
  void call(void (Callback::*hook)(Parameters...), Arguments&&... arguments) const {
    for (const auto& callback : callbacks_) (callback.get()->*hook)(arguments...);
  }
  /// The same for those that run last, or for all others.
  template <class... Parameters, class... Arguments>
  void call_if(bool runs_last, void (Callback::*hook)(Parameters...), Arguments&&... arguments) const {
    for (const auto& callback : callbacks_) {
      if (callback->runs_last() == runs_last) (callback.get()->*hook)(arguments...);
    }
  }
  void on_exception(const RunContext& run, const std::exception& error) const noexcept;

  /// "<state_key>.…" of every callback that has state.
  StateDict state() const;
  /// Errors: what a callback throws. go_back: only those whose state goes back with the weights.
  void load_state(const StateDict& state, bool go_back = false) const;

  bool empty() const { return callbacks_.empty(); }

 private:
  std::vector<std::shared_ptr<Callback>> callbacks_;
};

}  // namespace levin
