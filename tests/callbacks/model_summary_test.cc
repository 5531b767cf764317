#include "callbacks/model_summary.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include "tests/callbacks/fake_console.h"
#include "tests/callbacks/fake_run.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

namespace nn = torch::nn;

// Shares its weight with an embedding.
struct TiedHeadImpl : nn::Module {
  explicit TiedHeadImpl(const at::Tensor& weight) {
    register_parameter("weight", weight);
    register_parameter("bias", at::zeros({10}));
  }
};
TORCH_MODULE(TiedHead);

struct TinyLanguageModel : nn::Module {
  TinyLanguageModel() {
    register_parameter("scale", at::ones({1}));
    const auto embedding = register_module("embedding", nn::Embedding(10, 4));
    const auto body = register_module(
        "body", nn::Sequential(nn::Linear(nn::LinearOptions(4, 4).bias(false)), nn::ReLU(), nn::BatchNorm1d(4)));
    register_module("head", TiedHead(embedding->weight));
    embedding->weight.set_requires_grad(false);
  }
};

// embedding 10 * 4 = 40, body 4 * 4 + 4 + 4 = 24, head 10 (its weight is the embedding's), scale 1: 75 parameters of 4
// bytes. BatchNorm has two buffers of 4 floats and one int64: 9 numbers, 40 bytes.
TEST(ModelSummaryTest, TableHasOneRowAModuleAndCountsTiedParametersOnce) {
  EXPECT_EQ(summarize(TinyLanguageModel(), 2),
            "Name       Type                      Parameter shapes  Parameters   Size\n"
            "------------------------------------------------------------------------\n"
            ".          levin::TinyLanguageModel  [1]                        1    4 B\n"
            "embedding  Embedding                 [10, 4]                   40  160 B\n"
            "body       Sequential                                          24   96 B\n"
            "body.0     Linear                    [4, 4]                    16   64 B\n"
            "body.1     ReLU                                                 0    0 B\n"
            "body.2     BatchNorm1d               [4] [4]                    8   32 B\n"
            "head       levin::TiedHead           [10, 4]* [10]             10   40 B\n"
            "------------------------------------------------------------------------\n"
            "Trainable parameters    35       140 B\n"
            "Frozen parameters       40       160 B\n"
            "Total parameters        75       300 B\n"
            "Buffers                  9        40 B\n"
            "Parameters and buffers  84       340 B\n"
            "* is registered before and counted there.\n");
}

TEST(ModelSummaryTest, RowAtTheLastLevelCountsWhatLiesBelow) {
  const std::string text = summarize(TinyLanguageModel(), 1);
  EXPECT_NE(text.find("body       Sequential                                          24   96 B\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("body.0"), std::string::npos) << text;
}

TEST(ModelSummaryTest, MinusOneShowsAllLevels) {
  struct BoxImpl : nn::Module {
    explicit BoxImpl(std::shared_ptr<nn::Module> content) { register_module("0", std::move(content)); }
  };
  const auto deep = std::make_shared<BoxImpl>(std::make_shared<BoxImpl>(nn::Sequential(nn::Linear(1, 1)).ptr()));
  EXPECT_EQ(summarize(*deep, 2).find("0.0.0"), std::string::npos);
  EXPECT_NE(summarize(*deep, -1).find("0.0.0"), std::string::npos);
}

// 1,000 * 1,200 = 1,200,000 weights and 1,200 biases: 1,201,200 floats = 4,804,800 bytes = 4.58 MiB.
TEST(ModelSummaryTest, DepthZeroIsTotalsOnlyInHumanUnits) {
  EXPECT_EQ(summarize(*nn::Linear(1000, 1200), 0),
            "Trainable parameters    1,201,200     4.6 MiB\n"
            "Frozen parameters               0         0 B\n"
            "Total parameters        1,201,200     4.6 MiB\n"
            "Buffers                         0         0 B\n"
            "Parameters and buffers  1,201,200     4.6 MiB\n");
}

TEST(ModelSummaryTest, LongListsOfShapesAreCut) {
  struct ManyImpl : nn::Module {
    ManyImpl() {
      for (int i = 0; i < 6; ++i) register_parameter("p" + std::to_string(i), at::zeros({i + 1}));
    }
  };
  EXPECT_NE(summarize(ManyImpl(), 1).find("[1] [2] [3] [4] +2 more"), std::string::npos);
}

TEST(ModelSummaryTest, ModuleWithoutParametersHasATable) {
  EXPECT_NE(summarize(*nn::Sequential(nn::ReLU()), 2).find("Trainable parameters    0         0 B\n"),
            std::string::npos);
}

TEST(ModelSummaryTest, FitStartWritesTheSummaryOfTheModule) {
  const auto console = std::make_shared<FakeConsole>(false);
  FakeRun run;
  ModelSummary({.max_depth = 0}, console).on_fit_start(run.context(Stage::kTrain));
  EXPECT_EQ(console->written.substr(0, 20), "Trainable parameters");
}

TEST(ModelSummaryTest, DepthBelowMinusOneIsAnError) {
  try {
    ModelSummary summary({.max_depth = -2});
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "[ModelSummary] max_depth must be >= -1, got -2.");
  }
}

}  // namespace
}  // namespace levin
