#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/hook_recorder.h"
#include "tests/trainer/recording.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

// Builds the expected list.
class Expected {
 public:
  Expected& add(const std::string& call) {
    calls_.push_back(call);
    return *this;
  }
  Expected& callbacks(const std::string& hook) { return add("first." + hook).add("last." + hook); }
  Expected& both(const std::string& hook) { return callbacks(hook).add("module." + hook); }
  Expected& transfer() {
    for (const char* hook : {"on_before_batch_transfer", "on_after_batch_transfer"}) {
      add(std::string("data.") + hook).add(std::string("module.") + hook);
    }
    return *this;
  }
  Expected& set_up() { return add("data.prepare_data").add("data.setup").both("setup").add("module.configure_model"); }
  Expected& tear_down() { return add("data.teardown").both("teardown"); }
  // One pass of "validation", "test" or "predict".
  Expected& pass(const std::string& stage, int64_t num_batches) {
    both("on_" + stage + "_start").both("on_" + stage + "_epoch_start");
    for (int64_t i = 0; i < num_batches; ++i) {
      transfer()
          .both("on_" + stage + "_batch_start")
          .add("module." + stage + "_step")
          .both("on_" + stage + "_batch_end");
    }
    return both("on_" + stage + "_epoch_end").both("on_" + stage + "_end");
  }
  Expected& micro_batch(bool is_window_end) {
    transfer().both("on_train_batch_start").add("module.training_step");
    both("on_before_backward").both("on_after_backward");
    if (is_window_end) optimizer_step();
    return both("on_train_batch_end");
  }
  Expected& optimizer_step() {
    return both("on_before_optimizer_step").add("module.configure_gradient_clipping").both("on_before_zero_grad");
  }
  Expected& start_fit() {
    return set_up()
        .add("module.configure_optimizers")
        .callbacks("on_after_configure_optimizers")
        .add("data.train_dataloader")
        .add("data.val_dataloader")
        .both("on_fit_start");
  }
  Expected& end_fit() { return both("on_train_end").both("on_fit_end").tear_down(); }
  const Calls& calls() const { return calls_; }

 private:
  Calls calls_;
};

class HookOrderTest : public testing::Test {
 protected:
  TrainerParts parts() {
    return {.callbacks = {std::make_shared<HookRecorder>("last", calls_, /*is_last=*/true),
                          std::make_shared<HookRecorder>("first", calls_)}};
  }

  Calls calls_;
  RecordedModel model_{calls_};
  RecordedData data_{calls_, 10, 2};  // 5 batches
};

TEST_F(HookOrderTest, AFitWithSanityCheckAccumulationAndValidation) {
  Trainer trainer(
      quiet({.max_epochs = 2, .limit_val_batches = 3, .num_sanity_val_steps = 1, .accumulate_grad_batches = 2}),
      parts());
  trainer.fit(model_, data_);

  Expected expected;
  expected.start_fit();
  expected.callbacks("on_sanity_check_start").pass("validation", 1).callbacks("on_sanity_check_end");
  expected.both("on_train_start");
  for (int epoch = 0; epoch < 2; ++epoch) {
    expected.both("on_train_epoch_start");
    // Windows of 2, 2 and 1.
    for (const bool is_window_end : {false, true, false, true, true}) expected.micro_batch(is_window_end);
    expected.pass("validation", 3);
    // Callbacks that run last see what the module did.
    expected.add("first.on_train_epoch_end").add("module.on_train_epoch_end").add("last.on_train_epoch_end");
  }
  expected.end_fit();
  EXPECT_EQ(calls_, expected.calls());
}

TEST_F(HookOrderTest, AValidationWithinTheEpoch) {
  Trainer trainer(quiet({.max_epochs = 1, .limit_val_batches = 1, .val_check_interval = 2, .num_sanity_val_steps = 0}),
                  parts());
  trainer.fit(model_, data_);

  Expected expected;
  expected.start_fit().both("on_train_start").both("on_train_epoch_start");
  expected.micro_batch(true).micro_batch(true).pass("validation", 1);
  expected.micro_batch(true).micro_batch(true).pass("validation", 1).micro_batch(true);
  expected.add("first.on_train_epoch_end").add("module.on_train_epoch_end").add("last.on_train_epoch_end");
  expected.end_fit();
  EXPECT_EQ(calls_, expected.calls());
}

TEST_F(HookOrderTest, AnEarlyEndValidatesAndEndsTheEpoch) {
  const auto callback = std::make_shared<HookCallback>();
  callback->batch_end = [](const RunContext& run, const StepOutput& /*output*/) {
    if (run.state.global_step == 2) run.control.request_stop("enough");
  };
  TrainerParts all = parts();
  all.callbacks.push_back(callback);
  Trainer trainer(quiet({.max_epochs = 3, .limit_val_batches = 1, .num_sanity_val_steps = 0}), all);
  EXPECT_EQ(trainer.fit(model_, data_).status, FitStatus::kStoppedEarly);

  Expected expected;
  expected.start_fit().both("on_train_start").both("on_train_epoch_start");
  expected.micro_batch(true).micro_batch(true).pass("validation", 1);
  expected.add("first.on_train_epoch_end").add("module.on_train_epoch_end").add("last.on_train_epoch_end");
  expected.end_fit();
  EXPECT_EQ(calls_, expected.calls());
}

// What is left of the epoch is left out, the open window included.
TEST_F(HookOrderTest, TheModuleLeavesOutTheRestOfAnEpoch) {
  model_.leaves_out_batch = 1;
  Trainer trainer(quiet({.max_epochs = 1, .limit_val_batches = 0, .accumulate_grad_batches = 2}), parts());
  EXPECT_EQ(trainer.fit(model_, data_).num_steps, 1);

  Expected expected;
  expected.start_fit().both("on_train_start").both("on_train_epoch_start");
  expected.micro_batch(false).transfer().both("on_train_batch_start").optimizer_step();
  expected.add("first.on_train_epoch_end").add("module.on_train_epoch_end").add("last.on_train_epoch_end");
  expected.end_fit();
  EXPECT_EQ(calls_, expected.calls());
}

TEST_F(HookOrderTest, PassesOnTheirOwn) {
  Trainer trainer(quiet({.limit_val_batches = 1, .limit_test_batches = 2, .limit_predict_batches = 1}), parts());
  trainer.validate(model_, data_);
  trainer.test(model_, data_);
  trainer.predict(model_, data_);

  Expected expected;
  expected.set_up().add("data.val_dataloader").pass("validation", 1).tear_down();
  expected.set_up().add("data.test_dataloader").pass("test", 2).tear_down();
  expected.set_up().add("data.predict_dataloader").pass("predict", 1).tear_down();
  EXPECT_EQ(calls_, expected.calls());
}

TEST_F(HookOrderTest, AnErrorIsToldOnceAndEverythingIsTornDown) {
  const auto callback = std::make_shared<HookCallback>();
  callback->before_step = [](const RunContext& /*run*/) { throw std::runtime_error("mine"); };
  TrainerParts all = parts();
  all.callbacks.push_back(callback);
  Trainer trainer(quiet({.max_epochs = 1, .limit_val_batches = 0}), all);
  EXPECT_EQ(thrown_text<std::runtime_error>([&] { trainer.fit(model_, data_); }), "mine");

  Expected expected;
  expected.start_fit().both("on_train_start").both("on_train_epoch_start");
  expected.transfer().both("on_train_batch_start").add("module.training_step");
  expected.both("on_before_backward").both("on_after_backward").add("first.on_before_optimizer_step");
  expected.callbacks("on_exception").add("data.on_exception").tear_down();
  EXPECT_EQ(calls_, expected.calls());
}

TEST_F(HookOrderTest, AnErrorBeforeTheLoopIsToldToo) {
  const auto optimizer = [](std::vector<at::Tensor> /*parameters*/) -> Optimizers { throw std::runtime_error("mine"); };
  TrainerParts all = parts();
  all.optimizer = optimizer;
  Trainer trainer(quiet({.max_epochs = 1}), all);
  EXPECT_EQ(thrown_text<std::runtime_error>([&] { trainer.fit(model_, data_); }), "mine");
  Expected expected;
  expected.set_up().callbacks("on_exception").add("data.on_exception").tear_down();
  EXPECT_EQ(calls_, expected.calls());
}

}  // namespace
}  // namespace levin
