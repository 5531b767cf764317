#include "trainer/data/iterable_dataset.h"

#include "trainer/core/error.h"

namespace levin {

int64_t SampleStream::skip(int64_t count) {
  int64_t skipped = 0;
  while (skipped < count && next()) ++skipped;
  return skipped;
}

void SampleStream::load_state(const StateDict& /*state*/) {
  throw CheckpointError("[SampleStream] this stream cannot restore a position: it does not override load_state().");
}

}  // namespace levin
