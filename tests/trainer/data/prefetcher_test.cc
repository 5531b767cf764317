#include "trainer/data/prefetcher.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/scalar_tensor.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"
#include "trainer/data/dataset.h"
#include "trainer/data/dataset_loader.h"

namespace levin {
namespace {

using std::chrono::steady_clock;

int64_t num_threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

/// Sample i is the number i, after `before_read` has been called with i.
class WatchedNumbers final : public SampleDataset {
 public:
  WatchedNumbers(int64_t size, std::function<void(int64_t)> before_read)
      : size_(size), before_read_(std::move(before_read)) {}
  int64_t size() const override { return size_; }
  Batch get_sample(int64_t index, RandomStream& /*random*/) const override {
    before_read_(index);
    return at::scalar_tensor(index, at::kLong);
  }

 private:
  int64_t size_;
  std::function<void(int64_t)> before_read_;
};

DatasetLoader watched(int64_t size, const std::function<void(int64_t)>& before_read, LoaderOptions options) {
  return {std::make_shared<WatchedNumbers>(size, before_read), std::move(options)};
}

int64_t first_of(const Batch& batch) { return batch.tensor()[0].item<int64_t>(); }

/// Lets threads through once it has been opened.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    opened_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
};

TEST(PrefetcherTest, DeliversInOrderThoughLaterBatchesAreReadyFirst) {
  Gate others_have_read;
  std::atomic<int> num_read = 0;
  DatasetLoader loader = watched(4,
                                 [&](int64_t index) {
                                   if (index == 0) others_have_read.pass();
                                   if (++num_read == 3) others_have_read.open();
                                 },
                                 {.batch_size = 1, .num_workers = 2, .prefetch_factor = 2});
  for (int64_t expected = 0; expected < 4; ++expected) EXPECT_EQ(first_of(*loader.next()), expected);
  EXPECT_FALSE(loader.next().has_value());
}

TEST(PrefetcherTest, ReadsNoFurtherAheadThanItMay) {
  std::atomic<int64_t> largest = -1;
  DatasetLoader loader = watched(100,
                                 [&](int64_t index) {
                                   int64_t seen = largest;
                                   while (seen < index && !largest.compare_exchange_weak(seen, index)) {
                                   }
                                 },
                                 {.batch_size = 1, .num_workers = 2, .prefetch_factor = 3});
  for (int64_t taken = 1; taken <= 20; ++taken) {
    loader.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_LT(largest, taken + 6);
  }
  EXPECT_GE(largest, 20);  // and it does read ahead
}

TEST(PrefetcherTest, LeavesNoThreadBehind) {
  const int64_t before = num_threads();
  {
    DatasetLoader loader = watched(100, [](int64_t) {}, {.batch_size = 2, .num_workers = 3});
    loader.next();
    EXPECT_EQ(num_threads(), before + 3);
    loader.stop();
    EXPECT_EQ(num_threads(), before);
    loader.start_epoch(1);
    while (loader.next()) {
    }
    EXPECT_EQ(num_threads(), before);
    loader.start_epoch(2);
    loader.next();
  }
  EXPECT_EQ(num_threads(), before);
}

void fail_at_seven(int64_t index) {
  if (index == 7) throw std::runtime_error("the disk is gone");
}

TEST(PrefetcherTest, AnErrorNamesTheSampleTheBatchAndTheWorker) {
  DatasetLoader loader = watched(20, fail_at_seven, {.batch_size = 3, .num_workers = 1});
  EXPECT_EQ(first_of(*loader.next()), 0);
  EXPECT_EQ(first_of(*loader.next()), 3);  // what comes before is delivered
  EXPECT_EQ(error_text<DataError>([&] { loader.next(); }),
            "[DatasetLoader] batch 2 could not be made of samples 6, 7, 8, in worker 0 of 1: [SampleDataset] sample 7 "
            "could not be read: the disk is gone");
}

TEST(PrefetcherTest, AnErrorWithoutWorkersNamesTheSample) {
  DatasetLoader loader = watched(20, fail_at_seven, {.batch_size = 10});
  EXPECT_EQ(error_text<DataError>([&] { loader.next(); }),
            "[DatasetLoader] batch 0 could not be made of samples 0, 1, 2, 3, 4, 5, 6, 7 and 2 more: [SampleDataset] "
            "sample 7 could not be read: the disk is gone");
}

TEST(PrefetcherTest, AfterAnErrorNoThreadIsLeftAndTheNextEpochWorks) {
  std::atomic<bool> is_broken = true;
  const auto read = [&](int64_t index) {
    if (is_broken) fail_at_seven(index);
  };
  DatasetLoader loader = watched(20, read, {.batch_size = 5, .num_workers = 2});
  const int64_t before = num_threads();
  EXPECT_EQ(first_of(*loader.next()), 0);
  EXPECT_THROW(loader.next(), DataError);
  EXPECT_LE(num_threads(), before);
  is_broken = false;
  EXPECT_EQ(first_of(*loader.next()), 5);  // the batch that failed was not delivered
  loader.start_epoch(1);
  int64_t num_batches = 0;
  while (loader.next()) ++num_batches;
  EXPECT_EQ(num_batches, 4);
}

TEST(PrefetcherTest, AnErrorThatIsNoExceptionIsReportedToo) {
  DatasetLoader loader = watched(4, [](int64_t) { throw 42; }, {.batch_size = 2, .num_workers = 1});
  EXPECT_EQ(error_text<DataError>([&] { loader.next(); }),
            "[DatasetLoader] batch 0 could not be made of samples 0, 1, in worker 0 of 1: the dataset threw what is no "
            "std::exception.");
}

TEST(PrefetcherTest, AWorkerThatHangsMeetsTheTimeout) {
  const auto gate = std::make_shared<Gate>();
  const auto num_left = std::make_shared<std::atomic<int>>(0);
  const auto read = [gate, num_left](int64_t index) {
    if (index != 2) return;
    gate->pass();
    ++*num_left;
  };
  const auto start = steady_clock::now();
  {
    DatasetLoader loader = watched(20, read, {.batch_size = 2, .num_workers = 2, .timeout = 0.3});
    EXPECT_EQ(first_of(*loader.next()), 0);
    const std::string text = error_text<DataError>([&] { loader.next(); });
    EXPECT_TRUE(text.starts_with("[DatasetLoader] batch 1 has not come within 0.3 seconds. Worker ")) << text;
    EXPECT_TRUE(text.ends_with(" of 2 hangs in the dataset. Raise timeout if reading may take longer.")) << text;
  }
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(5));
  gate->open();  // the thread that was left behind ends now
  while (*num_left == 0) std::this_thread::yield();
}

TEST(PrefetcherTest, WorkersComputeWithOneThreadAndBlockSignals) {
  at::set_num_threads(2);
  std::atomic<int> num_compute_threads = 0;
  std::atomic<bool> blocks_signals = true;
  const auto read = [&](int64_t) {
    num_compute_threads = std::max(num_compute_threads.load(), at::get_num_threads());
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
      if (sigismember(&blocked, signal) != 1) blocks_signals = false;
    }
  };
  DatasetLoader loader = watched(20, read, {.batch_size = 5, .num_workers = 2});
  while (loader.next()) {
  }
  EXPECT_EQ(num_compute_threads, 1);
  EXPECT_TRUE(blocks_signals);
  EXPECT_EQ(at::get_num_threads(), 2);  // the training's own number stays
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGINT), 0);
}

// Lightning's issue 20412: the same draws in each epoch, rank or worker.
TEST(PrefetcherTest, RandomNumbersDependOnSeedEpochAndSampleAlone) {
  class Draws final : public SampleDataset {
   public:
    int64_t size() const override { return 12; }
    Batch get_sample(int64_t index, RandomStream& random) const override {
      return Batch::of(at::scalar_tensor(index, at::kLong),
                       at::scalar_tensor(static_cast<int64_t>(random() >> 1), at::kLong));
    }
  };
  const auto draws_of = [](int64_t epoch, int64_t workers, int64_t world_size) {
    std::vector<int64_t> draws(12);
    for (int64_t rank = 0; rank < world_size; ++rank) {
      DatasetLoader loader(std::make_shared<Draws>(), {.batch_size = 2, .shuffle = true, .num_workers = workers});
      loader.attach({.seed = 7, .rank = rank, .world_size = world_size});
      loader.start_epoch(epoch);
      while (const std::optional<Batch> batch = loader.next()) {
        for (int64_t i = 0; i < batch->batch_size(); ++i) {
          draws[static_cast<size_t>((*batch)[0].tensor()[i].item<int64_t>())] = (*batch)[1].tensor()[i].item<int64_t>();
        }
      }
    }
    return draws;
  };
  const std::vector<int64_t> expected = draws_of(0, 0, 1);
  EXPECT_EQ(draws_of(0, 4, 1), expected);
  EXPECT_EQ(draws_of(0, 2, 2), expected);
  std::vector<int64_t> all = expected;
  const std::vector<int64_t> next = draws_of(1, 2, 2);
  all.insert(all.end(), next.begin(), next.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());  // no draw comes twice
}

}  // namespace
}  // namespace levin
