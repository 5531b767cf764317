#include "trainer/data/prefetcher.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/core/single_thread_guard.h"

namespace levin {
namespace {

using Clock = std::chrono::steady_clock;

/// Threads that start in its scope ignore signals, so that these reach the thread that handles them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_ = {};
};

/// A place in the ring of batches that are being made or wait to be taken.
struct Slot {
  bool is_ready = false;
  int64_t worker = -1;               // who makes it
  std::optional<LoadedBatch> batch;  // nullopt, when ready, at the end of the epoch
  std::exception_ptr error;
};

}  // namespace

struct Prefetcher::Shared {
  std::shared_ptr<BatchSource> source;
  FeedOptions options;

  std::mutex claims;  // held over claim(), so that batches are claimed in order; taken before `mutex`
  std::mutex mutex;   // guards all below
  std::condition_variable has_room;
  std::condition_variable has_batch;
  std::condition_variable has_left;
  std::vector<Slot> slots;  // batch number -> slots[number % size]
  int64_t num_claimed = 0;
  int64_t num_taken = 0;
  bool is_over = false;  // no more batches are claimed
  std::vector<bool> is_worker_done;

  Slot& slot(int64_t number) { return slots[static_cast<size_t>(number) % slots.size()]; }
};

class Prefetcher::Worker {
 public:
  Worker(std::shared_ptr<Shared> shared, int64_t index) : shared_(std::move(shared)), index_(index) {}

  void run() {
    pthread_setname_np(pthread_self(), fmt::format("loader-{}", index_).c_str());
    {
      const SingleThreadGuard one_thread;
      const c10::AutoGradMode no_gradients(false);
      while (make_one()) {
      }
    }
    const std::lock_guard lock(shared_->mutex);
    shared_->is_worker_done[static_cast<size_t>(index_)] = true;
    shared_->has_left.notify_all();
  }

 private:
  /// False if there is nothing more to do.
  bool make_one() {
    LoadedBatch loaded;
    std::exception_ptr error;
    bool has_batch = false;
    try {
      const std::lock_guard claim(shared_->claims);
      if (!reserve(loaded.request)) return false;
      has_batch = shared_->source->claim(loaded.request);
      if (!has_batch) end_claims();
    } catch (...) {
      end_claims();
      error = wrap_error(loaded.request);
    }
    if (has_batch && !error) {
      try {
        loaded.batch = shared_->source->make(loaded.request);
      } catch (...) {
        error = wrap_error(loaded.request);
      }
    }
    return publish(std::move(loaded), has_batch, error);
  }

  /// Takes the next number, once there is room for it.
  bool reserve(BatchRequest& request) {
    std::unique_lock lock(shared_->mutex);
    const auto depth = static_cast<int64_t>(shared_->slots.size());
    shared_->has_room.wait(lock, [&] { return shared_->is_over || shared_->num_claimed < shared_->num_taken + depth; });
    if (shared_->is_over) return false;
    request.number = shared_->num_claimed++;
    Slot& slot = shared_->slot(request.number);
    slot = Slot();
    slot.worker = index_;
    return true;
  }

  void end_claims() {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_over = true;
    shared_->has_room.notify_all();
  }

  std::exception_ptr wrap_error(const BatchRequest& request) const {
    try {
      throw_batch_failed(shared_->options, fmt::format("worker {} of {}", index_, shared_->options.num_workers),
                         request);
    } catch (...) {
      return std::current_exception();
    }
  }

  bool publish(LoadedBatch loaded, bool has_batch, std::exception_ptr error) {
    const std::lock_guard lock(shared_->mutex);
    Slot& slot = shared_->slot(loaded.request.number);
    if (has_batch && !error) slot.batch = std::move(loaded);
    slot.error = std::move(error);
    slot.is_ready = true;
    shared_->has_batch.notify_all();
    return !shared_->is_over;
  }

  std::shared_ptr<Shared> shared_;
  int64_t index_;
};

Prefetcher::Prefetcher(std::shared_ptr<BatchSource> source, const FeedOptions& options)
    : options_(options), shared_(std::make_shared<Shared>()) {
  shared_->source = std::move(source);
  shared_->options = options;
  shared_->slots.resize(static_cast<size_t>(options.num_workers * options.prefetch_factor));
  shared_->is_worker_done.resize(static_cast<size_t>(options.num_workers), false);
}

Prefetcher::~Prefetcher() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_over = true;
  shared_->has_room.notify_all();
  const auto deadline = Clock::now() + std::chrono::duration<double>(options_.timeout);
  for (size_t i = 0; i < threads_.size(); ++i) {
    const auto is_done = [&] { return static_cast<bool>(shared_->is_worker_done[i]); };
    if (static_cast<int64_t>(i) == hung_worker_) {
      // It has had its time already.
    } else if (options_.timeout > 0.0) {
      shared_->has_left.wait_until(lock, deadline, is_done);
    } else {
      shared_->has_left.wait(lock, is_done);
    }
    const bool is_hung = !is_done();
    lock.unlock();
    if (is_hung) {
      threads_[i].detach();
    } else {
      threads_[i].join();
    }
    lock.lock();
  }
}

void Prefetcher::start() {
  const SignalsBlocked blocked;
  for (int64_t i = 0; i < options_.num_workers; ++i) {
    threads_.emplace_back([worker = Worker(shared_, i)]() mutable { worker.run(); });
  }
}

std::optional<LoadedBatch> Prefetcher::next() {
  if (threads_.empty()) start();
  std::unique_lock lock(shared_->mutex);
  Slot& slot = shared_->slot(shared_->num_taken);
  // A number that nobody has claimed, nor will: the end has been taken, or what failed.
  const auto is_past_end = [&] { return shared_->is_over && shared_->num_taken >= shared_->num_claimed; };
  const auto is_ready = [&] { return slot.is_ready || is_past_end(); };
  if (options_.timeout > 0.0) {
    if (!shared_->has_batch.wait_for(lock, std::chrono::duration<double>(options_.timeout), is_ready)) {
      throw_timed_out();
    }
  } else {
    shared_->has_batch.wait(lock, is_ready);
  }
  if (!slot.is_ready) return std::nullopt;
  ++shared_->num_taken;
  Slot taken = std::exchange(slot, Slot());
  if (taken.error) {
    shared_->is_over = true;
    shared_->has_room.notify_all();
    std::rethrow_exception(taken.error);
  }
  shared_->has_room.notify_one();
  return std::move(taken.batch);
}

void Prefetcher::throw_timed_out() {
  const Slot& slot = shared_->slot(shared_->num_taken);
  hung_worker_ = slot.worker;
  shared_->is_over = true;
  shared_->has_room.notify_all();
  const std::string who = slot.worker < 0
                              ? "No worker has begun it"
                              : fmt::format("Worker {} of {} hangs in the dataset", slot.worker, options_.num_workers);
  throw DataError(
      fmt::format("[{}] batch {} has not come within {} seconds. {}. Raise timeout if reading may take "
                  "longer.",
                  options_.name, options_.first_batch + shared_->num_taken, options_.timeout, who));
}

}  // namespace levin
