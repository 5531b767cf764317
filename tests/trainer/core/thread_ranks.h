#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/where.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "trainer/core/communicator.h"
#include "trainer/core/error.h"

namespace levin {

/// Ranks that are threads of the test. As with a real back end, a rank that makes another call than the others is an
/// error or a time-out, and a maximum or minimum may lose NaN.
class ThreadRanks {
 public:
  explicit ThreadRanks(int64_t world_size) : world_size_(world_size), tensors_(static_cast<size_t>(world_size)) {}

  /// Runs `body` on each rank and waits. Returns what each rank threw, empty where it threw nothing.
  std::vector<std::string> run(const std::function<void(Communicator&)>& body) {
    std::vector<std::string> errors(static_cast<size_t>(world_size_));
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < world_size_; ++rank) {
      threads.emplace_back([&, rank] {
        Rank communicator(*this, rank);
        try {
          body(communicator);
        } catch (const std::exception& error) {
          errors[static_cast<size_t>(rank)] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return errors;
  }

  /// Collective calls so far, counted on rank 0.
  int64_t num_calls() const { return num_calls_; }

 private:
  class Rank final : public Communicator {
   public:
    Rank(ThreadRanks& ranks, int64_t rank) : ranks_(ranks), rank_(rank) {}

    int64_t rank() const override { return rank_; }
    int64_t world_size() const override { return ranks_.world_size_; }
    void all_reduce(at::Tensor& tensor, ReduceOp op) override {
      const std::vector<at::Tensor> all = ranks_.exchange(rank_, tensor);
      at::Tensor result = all[0].clone();
      for (size_t i = 1; i < all.size(); ++i) result = combine(result, all[i], op);
      tensor.copy_(result);
    }
    void broadcast(at::Tensor& tensor, int64_t source) override {
      tensor.copy_(ranks_.exchange(rank_, tensor)[static_cast<size_t>(source)]);
    }
    void barrier() override {
      at::Tensor nothing;
      (void)ranks_.exchange(rank_, nothing);
    }

   private:
    static at::Tensor combine(const at::Tensor& a, const at::Tensor& b, ReduceOp op) {
      switch (op) {
        case ReduceOp::kSum: return a.add(b);
        case ReduceOp::kMin: return at::where(a.lt(b), a, b);
        case ReduceOp::kMax: return at::where(a.gt(b), a, b);
        case ReduceOp::kMean: break;
      }
      // Of integers it truncates (Lightning #21838), and a mean of means is wrong as well.
      throw DistributedError("no metric may use the mean over ranks");
    }

    ThreadRanks& ranks_;
    int64_t rank_;
  };

  std::vector<at::Tensor> exchange(int64_t rank, const at::Tensor& tensor) {
    if (rank == 0) ++num_calls_;
    tensors_[static_cast<size_t>(rank)] = tensor.defined() ? tensor.clone() : tensor;
    wait();
    std::vector<at::Tensor> all = tensors_;
    wait();
    for (const at::Tensor& other : all) {
      if (other.defined() != tensor.defined() ||
          (tensor.defined() && (other.sizes() != tensor.sizes() || other.scalar_type() != tensor.scalar_type()))) {
        throw DistributedError("the ranks make different calls");
      }
    }
    return all;
  }

  void wait() {
    std::unique_lock lock(mutex_);
    const int64_t turn = turn_;
    if (++num_waiting_ == world_size_) {
      num_waiting_ = 0;
      ++turn_;
      all_here_.notify_all();
      return;
    }
    if (!all_here_.wait_for(lock, std::chrono::seconds(10), [&] { return turn_ != turn; })) {
      throw DistributedError("a rank does not make the call of the others");
    }
  }

  int64_t world_size_;
  std::vector<at::Tensor> tensors_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  int64_t num_waiting_ = 0;
  int64_t turn_ = 0;
  int64_t num_calls_ = 0;
};

}  // namespace levin
