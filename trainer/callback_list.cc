#include "trainer/callback_list.h"

#include <algorithm>

namespace levin {

CallbackList::CallbackList(std::vector<std::shared_ptr<Callback>> callbacks) : callbacks_(std::move(callbacks)) {
  std::stable_partition(callbacks_.begin(), callbacks_.end(),
                        [](const std::shared_ptr<Callback>& callback) { return !callback->runs_last(); });
}

void CallbackList::on_exception(const RunContext& run, const std::exception& error) const noexcept {
  for (const auto& callback : callbacks_) callback->on_exception(run, error);
}

}  // namespace levin
