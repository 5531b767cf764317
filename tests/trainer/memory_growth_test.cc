#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "callbacks/loggers/csv_logger.h"
#include "callbacks/loggers/tensorboard_logger.h"
#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0;
  int64_t resident = 0;
  file >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// Field case B27: what a step logs must not keep its graph, and nothing may pile up over the steps of an epoch.
TEST(MemoryGrowthTest, TenThousandStepsTakeNoMoreMemoryThanTwoThousand) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer keeps freed memory for a while, to find later uses of it.";
#endif
  const TestFolder folder;
  // Each graph holds 4 kB of activations: 8000 of them would be 32 MB.
  TinyModel model([](TinyModel& m, const Batch& batch, StepContext& ctx) {
    const at::Tensor loss = (m.forward(batch[0].tensor()).expand({-1, 1024}) * 1.0).square().mean();
    ctx.log("loss", loss, {.on_epoch = true, .prog_bar = true});
    return loss;
  });
  model.w.detach().fill_(1.0);
  TinyData data(10000, 1);
  int64_t at_2000 = 0;
  int64_t at_10000 = 0;
  const auto callback = std::make_shared<HookCallback>();
  callback->batch_end = [&](const RunContext& run, const StepOutput& /*output*/) {
    if (run.state.global_step == 2000) at_2000 = resident_bytes();
    if (run.state.global_step == 10000) at_10000 = resident_bytes();
  };
  auto options = quiet({.max_epochs = 1, .log_every_n_steps = 10});
  options.logger = true;
  options.default_root_dir = folder.path().string();
  Trainer trainer(options, {.callbacks = {callback},
                            .loggers = {std::make_shared<CSVLogger>(), std::make_shared<TensorBoardLogger>()}});
  trainer.fit(model, data);
  ASSERT_GT(at_2000, 0);
  EXPECT_LT(at_10000 - at_2000, 2 << 20) << "bytes at step 2000: " << at_2000;
}

}  // namespace
}  // namespace levin
