#include "trainer/core/data_loader.h"

#include "trainer/core/error.h"

namespace levin {

void DataLoader::attach(const LoaderContext& /*context*/) {}

StateDict DataLoader::state() const { return {}; }

void DataLoader::load_state(const StateDict& state) {
  if (state.empty()) return;
  throw CheckpointError("[DataLoader] this loader cannot restore a position: it does not override load_state().");
}

}  // namespace levin
