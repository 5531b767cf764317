#pragma once

namespace levin {

/// Notes SIGINT and SIGTERM while it lives, instead of letting them end the process. A second SIGINT ends it at once.
/// What was there before is put back by the destructor. At most one watch is active; a nested one does nothing.
class SignalWatch {
 public:
  explicit SignalWatch(bool is_enabled);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// The first signal that arrived, or 0. One relaxed atomic read.
  static int received();

 private:
  bool is_active_ = false;
};

}  // namespace levin
