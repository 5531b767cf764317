#include "trainer/data/loader_options.h"

namespace levin {

void LoaderOptions::visit(OptionVisitor& visitor) {
  visitor.field("batch_size", batch_size, "samples of a batch, on each rank", at_least(1));
  visitor.field("shuffle", shuffle, "a new order each epoch");
  visitor.field("drop_last", drop_last, "leave out a last batch that is not full");
  visit_worker_options(*this, visitor);
}

void visit_worker_options(LoaderOptions& options, OptionVisitor& visitor) {
  visitor.field("num_workers", options.num_workers, "threads that make batches ahead; 0: none", at_least(0));
  visitor.field("prefetch_factor", options.prefetch_factor, "batches that each of them may be ahead", at_least(1));
  visitor.field("timeout", options.timeout, "seconds until a worker counts as hung; 0: never", at_least(0));
  visitor.field("pin_memory", options.pin_memory, "page-locked batches on CUDA, for an asynchronous copy");
}

}  // namespace levin
