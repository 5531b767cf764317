#include "trainer/memory_limit.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "trainer/core/byte_size.h"

namespace levin {

class MemoryLimit::Account {
 public:
  explicit Account(int64_t limit) : limit_(limit) {}

  void take(int64_t bytes) {
    const int64_t used = used_.fetch_add(bytes) + bytes;
    if (used > limit_) {
      used_.fetch_sub(bytes);
      TORCH_CHECK_WITH(OutOfMemoryError, false, "CPU out of memory: ", format_byte_size(bytes), " were asked for, and ",
                       format_byte_size(used - bytes), " of the memory_limit of ", format_byte_size(limit_),
                       " are in use.");
    }
    int64_t peak = peak_.load();
    while (used > peak && !peak_.compare_exchange_weak(peak, used)) {
    }
  }
  void give_back(int64_t bytes) { used_.fetch_sub(bytes); }
  int64_t used() const { return used_.load(); }
  int64_t peak() const { return peak_.load(); }

 private:
  const int64_t limit_;
  std::atomic<int64_t> used_ = 0;
  std::atomic<int64_t> peak_ = 0;
};

/// Puts a header before each block, so that the block can be given back after the allocator is gone.
class MemoryLimit::LimitedAllocator final : public c10::Allocator {
 public:
  LimitedAllocator(std::shared_ptr<Account> account, c10::Allocator& base)
      : account_(std::move(account)), base_(base) {}

  c10::DataPtr allocate(size_t num_bytes) override {
    if (num_bytes == 0) return {nullptr, nullptr, &release, at::Device(at::kCPU)};
    const auto bytes = static_cast<int64_t>(num_bytes);
    account_->take(bytes);
    void* block = nullptr;
    try {
      block = base_.raw_allocate(kHeaderBytes + num_bytes);
    } catch (...) {
      account_->give_back(bytes);
      throw;
    }
    new (block) Header{account_, &base_, bytes};
    void* data = static_cast<char*>(block) + kHeaderBytes;
    return {data, data, &release, at::Device(at::kCPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* destination, const void* source, size_t num_bytes) const override {
    std::memcpy(destination, source, num_bytes);
  }

 private:
  struct Header {
    std::shared_ptr<Account> account;
    c10::Allocator* base;
    int64_t bytes;
  };
  // Keeps the alignment that LibTorch gives its blocks.
  static constexpr size_t kHeaderBytes = 64;
  static_assert(sizeof(Header) <= kHeaderBytes);

  static void release(void* data) {
    if (data == nullptr) return;
    void* block = static_cast<char*>(data) - kHeaderBytes;
    auto* header = static_cast<Header*>(block);
    const Header taken = std::move(*header);
    header->~Header();
    taken.base->raw_deallocate(block);
    taken.account->give_back(taken.bytes);
  }

  std::shared_ptr<Account> account_;
  c10::Allocator& base_;
};

MemoryLimit::MemoryLimit(int64_t bytes)
    : account_(std::make_shared<Account>(bytes)),
      allocator_(std::make_unique<LimitedAllocator>(account_, *c10::GetCPUAllocator())) {}

MemoryLimit::~MemoryLimit() = default;

MemoryLimit::Scope::Scope(MemoryLimit* limit) : previous_(limit == nullptr ? nullptr : c10::GetCPUAllocator()) {
  if (limit != nullptr) c10::SetCPUAllocator(limit->allocator_.get());
}

MemoryLimit::Scope::~Scope() {
  if (previous_ != nullptr) c10::SetCPUAllocator(previous_);
}

int64_t MemoryLimit::used_bytes() const { return account_->used(); }
int64_t MemoryLimit::peak_bytes() const { return account_->peak(); }

}  // namespace levin
