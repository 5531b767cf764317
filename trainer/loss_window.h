#pragma once

#include <cstdint>

namespace levin {

/// The weights of the micro-batches of one optimizer step, so that the step equals that of one large batch:
/// sum of all losses / sum of all weights.
///
/// The total is known at the end only. Backward therefore divides by an expected total (as if all micro-batches were
/// like the first one), and correction() mends the gradients where it was another.
class LossWindow {
 public:
  /// A window of so many micro-batches begins.
  void begin(int64_t size) { *this = LossWindow(size); }
  /// By what the loss sum of the next micro-batch is divided. Where a batch goes through in parts: so many samples are
  /// in this part, and in the whole batch.
  double divisor(double weight, double part_samples = 1.0, double batch_samples = 1.0) {
    if (total_ == 0.0) expected_ = weight * batch_samples / part_samples * static_cast<double>(size_);
    total_ += weight;
    return expected_;
  }
  /// A micro-batch is done, with or without a loss.
  void end_micro_batch() { ++count_; }

  bool is_empty() const { return count_ == 0; }
  bool is_full() const { return count_ >= size_; }
  /// False if every micro-batch was skipped.
  bool has_gradients() const { return total_ > 0.0; }
  /// Factor on the gradients at the end of the window; mostly exactly 1.
  double correction() const { return expected_ == total_ ? 1.0 : expected_ / total_; }

  int64_t size() const { return size_; }
  int64_t count() const { return count_; }
  double expected() const { return expected_; }
  double total() const { return total_; }
  void restore(int64_t size, int64_t count, double expected, double total) {
    size_ = size;
    count_ = count;
    expected_ = expected;
    total_ = total;
  }

  LossWindow() = default;

 private:
  explicit LossWindow(int64_t size) : size_(size) {}

  int64_t size_ = 1;
  int64_t count_ = 0;      // micro-batches so far
  double expected_ = 0.0;  // total weight that backward has divided by
  double total_ = 0.0;     // total weight so far
};

}  // namespace levin
