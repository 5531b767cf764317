// A batch that goes through the model in parts.

#include <algorithm>

#include "trainer/out_of_memory.h"
#include "trainer/part_guard.h"
#include "trainer/train_step.h"

namespace levin {

StepOutput TrainStep::run_in_parts(const Batch& batch) {
  const int64_t batch_size = batch.batch_size();
  PartOutputs outputs;
  for (int64_t begin = 0; begin < batch_size;) {
    const int64_t size = std::min(micro_batches_.part_size(batch_size), batch_size - begin);
    const int64_t end = begin + size;
    const Batch samples = size == batch_size ? batch : batch.slice(begin, end);
    const std::optional<StepOutput> output = try_part(
        {.batch = samples, .batch_samples = size == batch_size ? 0 : batch_size, .is_last = end == batch_size});
    if (!output) continue;  // from the same sample on, with fewer
    outputs.add(*output, size);
    begin = end;
  }
  return outputs.total();
}

std::optional<StepOutput> TrainStep::try_part(const Part& part) {
  std::optional<StepOutput> output;
  if (!micro_batches_.is_automatic()) {
    output = run_part(part, part_store_);
  } else {
    PartGuard guard(parameters_, buffers_, window_);
    try {
      const StepOutput whole = run_part(part, part_store_);
      guard.keep();
      output = whole;
    } catch (const std::exception& error) {
      if (!is_out_of_memory(error) || !micro_batches_.shrink(part.batch.batch_size())) throw;
    }
    if (!output) guard.put_back();
  }
  if (output) {
    store_.absorb(part_store_);
  } else {
    release_cached_memory(strategy_.device());
  }
  part_store_.forget();
  return output;
}

}  // namespace levin
