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

/// Puts a header before each block, so that the block counts until it is given back. There is one for the process, for
/// ever: a tensor asks the allocator that it came from again when it is resized.
class MemoryLimit::LimitedAllocator final : public c10::Allocator {
 public:
  static LimitedAllocator& get() {
    static auto* const allocator = new LimitedAllocator(*c10::GetCPUAllocator());
    return *allocator;
  }

  /// The account of the innermost scope; nullptr: nothing is counted. Returns the one before.
  std::shared_ptr<Account> activate(std::shared_ptr<Account> account) { return active_.exchange(std::move(account)); }

  c10::DataPtr allocate(size_t num_bytes) override {
    if (num_bytes == 0) return {nullptr, nullptr, &release, at::Device(at::kCPU)};
    const auto bytes = static_cast<int64_t>(num_bytes);
    std::shared_ptr<Account> account = active_.load();
    if (account) account->take(bytes);
    void* block = nullptr;
    try {
      block = base_.raw_allocate(kHeaderBytes + num_bytes);
    } catch (...) {
      if (account) account->give_back(bytes);
      throw;
    }
    new (block) Header{std::move(account), bytes};
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
    int64_t bytes;
  };
  // Keeps the alignment that LibTorch gives its blocks.
  static constexpr size_t kHeaderBytes = 64;
  static_assert(sizeof(Header) <= kHeaderBytes);

  explicit LimitedAllocator(c10::Allocator& base) : base_(base) {}

  static void release(void* data) {
    if (data == nullptr) return;
    void* block = static_cast<char*>(data) - kHeaderBytes;
    auto* header = static_cast<Header*>(block);
    const Header taken = std::move(*header);
    header->~Header();
    get().base_.raw_deallocate(block);
    if (taken.account) taken.account->give_back(taken.bytes);
  }

  c10::Allocator& base_;
  std::atomic<std::shared_ptr<Account>> active_;
};

MemoryLimit::MemoryLimit(int64_t bytes) : account_(std::make_shared<Account>(bytes)) {}

MemoryLimit::~MemoryLimit() = default;

MemoryLimit::Scope::Scope(MemoryLimit* limit) {
  if (limit == nullptr) return;
  LimitedAllocator& allocator = LimitedAllocator::get();
  previous_account_ = allocator.activate(limit->account_);
  previous_ = c10::GetCPUAllocator();
  c10::SetCPUAllocator(&allocator);
}

MemoryLimit::Scope::~Scope() {
  if (previous_ == nullptr) return;
  c10::SetCPUAllocator(previous_);
  LimitedAllocator::get().activate(std::move(previous_account_));
}

int64_t MemoryLimit::used_bytes() const { return account_->used(); }
int64_t MemoryLimit::peak_bytes() const { return account_->peak(); }

}  // namespace levin
