#include "callbacks/lambda_callback.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "tests/callbacks/fake_run.h"

namespace levin {
namespace {

using Names = std::vector<std::string>;

// From the source of Callback, so that none of them is forgotten.
Names names_of_all_hooks() {
  std::ifstream in("callbacks/callback.h");
  std::ostringstream text;
  text << in.rdbuf();
  const std::string source = text.str();
  static const std::regex hook(R"(virtual void (setup|teardown|on_\w+)\()");
  Names names;
  for (std::sregex_iterator it(source.begin(), source.end(), hook), end; it != end; ++it) names.push_back((*it)[1]);
  return names;
}

LambdaCallback::Hooks recording_hooks(Names& called) {
  return {
      .setup = [&](const auto&...) { called.push_back("setup"); },
      .teardown = [&](const auto&...) { called.push_back("teardown"); },
      .on_after_configure_optimizers = [&](const auto&...) { called.push_back("on_after_configure_optimizers"); },
      .on_fit_start = [&](const auto&...) { called.push_back("on_fit_start"); },
      .on_fit_end = [&](const auto&...) { called.push_back("on_fit_end"); },
      .on_sanity_check_start = [&](const auto&...) { called.push_back("on_sanity_check_start"); },
      .on_sanity_check_end = [&](const auto&...) { called.push_back("on_sanity_check_end"); },
      .on_train_start = [&](const auto&...) { called.push_back("on_train_start"); },
      .on_train_end = [&](const auto&...) { called.push_back("on_train_end"); },
      .on_train_epoch_start = [&](const auto&...) { called.push_back("on_train_epoch_start"); },
      .on_train_epoch_end = [&](const auto&...) { called.push_back("on_train_epoch_end"); },
      .on_train_batch_start = [&](const auto&...) { called.push_back("on_train_batch_start"); },
      .on_train_batch_end = [&](const auto&...) { called.push_back("on_train_batch_end"); },
      .on_before_backward = [&](const auto&...) { called.push_back("on_before_backward"); },
      .on_after_backward = [&](const auto&...) { called.push_back("on_after_backward"); },
      .on_before_optimizer_step = [&](const auto&...) { called.push_back("on_before_optimizer_step"); },
      .on_before_zero_grad = [&](const auto&...) { called.push_back("on_before_zero_grad"); },
      .on_validation_start = [&](const auto&...) { called.push_back("on_validation_start"); },
      .on_validation_epoch_start = [&](const auto&...) { called.push_back("on_validation_epoch_start"); },
      .on_validation_batch_start = [&](const auto&...) { called.push_back("on_validation_batch_start"); },
      .on_validation_batch_end = [&](const auto&...) { called.push_back("on_validation_batch_end"); },
      .on_validation_epoch_end = [&](const auto&...) { called.push_back("on_validation_epoch_end"); },
      .on_validation_end = [&](const auto&...) { called.push_back("on_validation_end"); },
      .on_test_start = [&](const auto&...) { called.push_back("on_test_start"); },
      .on_test_epoch_start = [&](const auto&...) { called.push_back("on_test_epoch_start"); },
      .on_test_batch_start = [&](const auto&...) { called.push_back("on_test_batch_start"); },
      .on_test_batch_end = [&](const auto&...) { called.push_back("on_test_batch_end"); },
      .on_test_epoch_end = [&](const auto&...) { called.push_back("on_test_epoch_end"); },
      .on_test_end = [&](const auto&...) { called.push_back("on_test_end"); },
      .on_predict_start = [&](const auto&...) { called.push_back("on_predict_start"); },
      .on_predict_epoch_start = [&](const auto&...) { called.push_back("on_predict_epoch_start"); },
      .on_predict_batch_start = [&](const auto&...) { called.push_back("on_predict_batch_start"); },
      .on_predict_batch_end = [&](const auto&...) { called.push_back("on_predict_batch_end"); },
      .on_predict_epoch_end = [&](const auto&...) { called.push_back("on_predict_epoch_end"); },
      .on_predict_end = [&](const auto&...) { called.push_back("on_predict_end"); },
      .on_exception = [&](const auto&...) { called.push_back("on_exception"); },
      .on_save_checkpoint = [&](const RunContext&, StateDict&) { called.push_back("on_save_checkpoint"); },
  };
}

void call_training_hooks(Callback& callback, const RunContext& run) {
  callback.setup(run);
  callback.teardown(run);
  callback.on_after_configure_optimizers(run);
  callback.on_fit_start(run);
  callback.on_fit_end(run);
  callback.on_sanity_check_start(run);
  callback.on_sanity_check_end(run);
  callback.on_train_start(run);
  callback.on_train_end(run);
  callback.on_train_epoch_start(run);
  callback.on_train_epoch_end(run);
  callback.on_train_batch_start(run, Batch());
  callback.on_train_batch_end(run, StepOutput::skip(), Batch());
  callback.on_before_backward(run, at::Tensor());
  callback.on_after_backward(run);
  callback.on_before_optimizer_step(run);
  callback.on_before_zero_grad(run);
}

void call_other_hooks(Callback& callback, const RunContext& run) {
  StateDict model;
  callback.on_validation_start(run);
  callback.on_validation_epoch_start(run);
  callback.on_validation_batch_start(run, Batch());
  callback.on_validation_batch_end(run, Batch());
  callback.on_validation_epoch_end(run);
  callback.on_validation_end(run);
  callback.on_test_start(run);
  callback.on_test_epoch_start(run);
  callback.on_test_batch_start(run, Batch());
  callback.on_test_batch_end(run, Batch());
  callback.on_test_epoch_end(run);
  callback.on_test_end(run);
  callback.on_predict_start(run);
  callback.on_predict_epoch_start(run);
  callback.on_predict_batch_start(run, Batch());
  callback.on_predict_batch_end(run, Batch(), Batch());
  callback.on_predict_epoch_end(run);
  callback.on_predict_end(run);
  callback.on_exception(run, std::runtime_error("a"));
  callback.on_save_checkpoint(run, model);
}

TEST(LambdaCallbackTest, EachHookOfCallbackCallsItsFunction) {
  Names called;
  LambdaCallback callback(recording_hooks(called));
  FakeRun run;
  call_training_hooks(callback, run.context(Stage::kTrain));
  call_other_hooks(callback, run.context(Stage::kTrain));
  EXPECT_GT(called.size(), 30u);
  EXPECT_EQ(called, names_of_all_hooks());
}

TEST(LambdaCallbackTest, HooksThatAreLeftOutDoNothing) {
  LambdaCallback callback(LambdaCallback::Hooks{});
  FakeRun run;
  EXPECT_NO_THROW(call_training_hooks(callback, run.context(Stage::kTrain)));
  EXPECT_NO_THROW(call_other_hooks(callback, run.context(Stage::kTrain)));
  EXPECT_FALSE(callback.runs_last());
}

TEST(LambdaCallbackTest, FunctionMaySteerTheRunAndThrow) {
  FakeRun run;
  LambdaCallback callback({
      .on_train_epoch_end = [](const RunContext& context) { context.control.request_stop("enough"); },
      .on_validation_end = [](const RunContext&) { throw std::runtime_error("no"); },
      .on_exception = [](const RunContext&, const std::exception&) { throw std::runtime_error("a second error"); },
      .on_save_checkpoint = [](const RunContext&, StateDict& model) { model.set("extra", int64_t{1}); },
      .runs_last = true,
  });
  callback.on_train_epoch_end(run.context(Stage::kTrain));
  EXPECT_EQ(run.control.stop_reasons, Names{"enough"});
  EXPECT_THROW(callback.on_validation_end(run.context(Stage::kValidate)), std::runtime_error);
  callback.on_exception(run.context(Stage::kTrain), std::runtime_error("the first"));  // would end the process
  StateDict model;
  callback.on_save_checkpoint(run.context(Stage::kTrain), model);
  EXPECT_EQ(model.integer("extra"), 1);
  EXPECT_TRUE(callback.runs_last());
}

}  // namespace
}  // namespace levin
