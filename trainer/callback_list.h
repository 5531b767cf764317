#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "callbacks/callback.h"

namespace levin {

/// Calls one hook of every callback, in list order; those that run last come last.
class CallbackList {
 public:
  explicit CallbackList(std::vector<std::shared_ptr<Callback>> callbacks);

  /// callbacks.call(&Callback::on_train_start, run).
  template <class... Parameters, class... Arguments>
  void call(void (Callback::*hook)(Parameters...), Arguments&&... arguments) const {
    for (const auto& callback : callbacks_) (callback.get()->*hook)(arguments...);
  }
  void on_exception(const RunContext& run, const std::exception& error) const noexcept;

  bool empty() const { return callbacks_.empty(); }

 private:
  std::vector<std::shared_ptr<Callback>> callbacks_;
};

}  // namespace levin
