#include "trainer/load_from_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/callbacks/fake_run.h"
#include "tests/trainer/recording.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/core/error.h"
#include "trainer/trainer.h"

namespace levin {
namespace {

using testing::HasSubstr;

struct WithOptions final : TinyModel {
  struct Options {
    int64_t width = 1;
    double dropout = 0.0;
    std::string name = "none";
    std::vector<int64_t> sizes = {1, 2};
    std::optional<double> scale = std::nullopt;
    void visit(OptionVisitor& visitor) {
      visitor.field("width", width, "parameters", at_least(1));
      visitor.field("dropout", dropout, "probability", between(0, 1));
      visitor.field("name", name, "a name");
      visitor.field("sizes", sizes, "sizes");
      visitor.field("scale", scale, "a scale");
    }
  };
  explicit WithOptions(const Options& chosen) : options(chosen) {
    extra = register_parameter("extra", torch::zeros({options.width}));
  }
  StateDict hyperparameters() const override { return to_hyperparameters(options); }

  Options options;
  at::Tensor extra;
};

struct WithState final : TinyModel {
  explicit WithState(int64_t size) : width(size) { register_parameter("extra", torch::zeros({width})); }
  explicit WithState(const StateDict& hyperparameters) : WithState(hyperparameters.integer("width")) {}
  StateDict hyperparameters() const override {
    StateDict state;
    state.set("width", width);
    return state;
  }
  void on_save_checkpoint(StateDict& extra) override { extra.set("seen", int64_t{5}); }
  void on_load_checkpoint(const StateDict& extra) override { seen = extra.integer("seen"); }
  int64_t width;
  int64_t seen = 0;
};

class LoadFromCheckpointTest : public testing::Test {
 protected:
  std::filesystem::path fit(TinyModel& model) {
    TrainerOptions options = quiet({.max_epochs = 1});
    options.enable_checkpointing = true;
    options.default_root_dir = folder_.path;
    TinyData data;
    return Trainer(options).fit(model, data).run_dir / "checkpoints" / "last";
  }

  TemporaryFolder folder_;
};

TEST_F(LoadFromCheckpointTest, OptionsTravelInTheCheckpoint) {
  WithOptions model({.width = 3, .dropout = 0.1, .name = "it's: \"x\"", .sizes = {4, 5, 6}, .scale = 1.0 / 3.0});
  const auto loaded = load_from_checkpoint<WithOptions>(fit(model));
  EXPECT_EQ(loaded->weight(), model.weight());
  EXPECT_EQ(loaded->extra.numel(), 3);
  EXPECT_EQ(loaded->options.dropout, 0.1);
  EXPECT_EQ(loaded->options.name, "it's: \"x\"");
  EXPECT_EQ(loaded->options.sizes, std::vector<int64_t>({4, 5, 6}));
  EXPECT_EQ(loaded->options.scale, 1.0 / 3.0);
}

TEST_F(LoadFromCheckpointTest, TheModelReadsThemItself) {
  WithState model(2);
  const auto loaded = load_from_checkpoint<WithState>(fit(model));
  EXPECT_EQ(loaded->width, 2);
  EXPECT_EQ(loaded->seen, 5);
  EXPECT_EQ(loaded->weight(), model.weight());
}

TEST_F(LoadFromCheckpointTest, WithoutArgumentsNothingIsNeeded) {
  TinyModel model;
  const auto folder = fit(model);
  EXPECT_EQ(load_from_checkpoint<TinyModel>(folder)->weight(), model.weight());
}

TEST_F(LoadFromCheckpointTest, WhatIsMissingIsNamed) {
  TinyModel model;
  const auto folder = fit(model);
  EXPECT_THAT(thrown_text<CheckpointError>([&] { load_from_checkpoint<WithOptions>(folder); }),
              testing::AllOf(HasSubstr("keeps no hyper-parameters"), HasSubstr(folder.string())));
  EXPECT_THAT(thrown_text<CheckpointError>([&] { load_from_checkpoint<TinyModel>(folder_.path / "none"); }),
              HasSubstr("none"));
}

}  // namespace
}  // namespace levin
