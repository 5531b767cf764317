#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>
#include <memory>

namespace levin {

/// Bounds the memory of the tensors that are made on the CPU in its scopes, on any thread: an allocation beyond it
/// throws c10::OutOfMemoryError, as on a GPU that is full. Tensors may outlive scope and limit, and count until they
/// end.
class MemoryLimit {
 private:
  class Account;
  class LimitedAllocator;

 public:
  /// bytes > 0.
  explicit MemoryLimit(int64_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  /// Takes the place of LibTorch's CPU allocator, for the whole process. Scopes end in the reverse order of their
  /// beginning, on one thread.
  class Scope {
   public:
    /// nullptr: no limit. The limit must outlive the scope.
    explicit Scope(MemoryLimit* limit);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    c10::Allocator* previous_ = nullptr;
    std::shared_ptr<Account> previous_account_;
  };

  /// What tensors of the scopes hold now, and held at most.
  int64_t used_bytes() const;
  int64_t peak_bytes() const;

 private:
  std::shared_ptr<Account> account_;
};

}  // namespace levin
