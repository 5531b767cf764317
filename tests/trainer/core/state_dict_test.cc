#include "trainer/core/state_dict.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

// One entry of each type.
StateDict all_types() {
  StateDict state;
  state.set("weight", at::zeros({2}));
  state.set("epoch", int64_t{3});
  state.set("loss", 0.5);
  state.set("name", std::string("run"));
  return state;
}

std::vector<std::string> names(const StateDict& state) {
  std::vector<std::string> result;
  for (const auto& [name, value] : state) result.push_back(name);
  return result;
}

TEST(StateDictTest, GivesBackEachType) {
  const StateDict state = all_types();
  EXPECT_EQ(state.tensor("weight").numel(), 2);
  EXPECT_EQ(state.integer("epoch"), 3);
  EXPECT_EQ(state.real("loss"), 0.5);
  EXPECT_EQ(state.text("name"), "run");
}

TEST(StateDictTest, TensorsAreShared) {
  const at::Tensor tensor = at::zeros({2});
  StateDict state;
  state.set("weight", tensor);
  EXPECT_TRUE(state.tensor("weight").is_same(tensor));
}

TEST(StateDictTest, KeepsTheOrderOfEntries) {
  EXPECT_EQ(names(all_types()), (std::vector<std::string>{"weight", "epoch", "loss", "name"}));
}

TEST(StateDictTest, CountsEntries) {
  EXPECT_TRUE(StateDict().empty());
  EXPECT_EQ(StateDict().size(), 0);
  EXPECT_FALSE(all_types().empty());
  EXPECT_EQ(all_types().size(), 4);
  EXPECT_TRUE(all_types().contains("epoch"));
  EXPECT_FALSE(all_types().contains("epo"));
}

TEST(StateDictTest, ASecondEntryOfOneNameIsAnError) {
  StateDict state = all_types();
  EXPECT_EQ(error_text<InternalError>([&] { state.set("epoch", int64_t{4}); }),
            "[StateDict] the entry \"epoch\" is there already.");
  EXPECT_EQ(state.integer("epoch"), 3);
}

TEST(StateDictTest, AMissingEntryIsAnError) {
  const StateDict state = all_types();
  EXPECT_EQ(error_text<CheckpointError>([&] { state.tensor("bias"); }),
            "[StateDict] the saved state has no entry \"bias\" (a tensor expected).");
  EXPECT_EQ(error_text<CheckpointError>([&] { state.integer("step"); }),
            "[StateDict] the saved state has no entry \"step\" (an integer expected).");
  EXPECT_EQ(error_text<CheckpointError>([&] { state.real("lr"); }),
            "[StateDict] the saved state has no entry \"lr\" (a real number expected).");
  EXPECT_EQ(error_text<CheckpointError>([&] { state.text("tag"); }),
            "[StateDict] the saved state has no entry \"tag\" (a text expected).");
}

TEST(StateDictTest, AnEntryOfAnotherTypeIsAnError) {
  const StateDict state = all_types();
  EXPECT_EQ(error_text<CheckpointError>([&] { state.integer("weight"); }),
            "[StateDict] the saved entry \"weight\" must be an integer, got a tensor.");
  EXPECT_EQ(error_text<CheckpointError>([&] { state.real("epoch"); }),
            "[StateDict] the saved entry \"epoch\" must be a real number, got an integer.");
  EXPECT_EQ(error_text<CheckpointError>([&] { state.text("loss"); }),
            "[StateDict] the saved entry \"loss\" must be a text, got a real number.");
  EXPECT_EQ(error_text<CheckpointError>([&] { state.tensor("name"); }),
            "[StateDict] the saved entry \"name\" must be a tensor, got a text.");
}

TEST(StateDictTest, MergeAddsAPrefixThatUnderCutsOff) {
  StateDict state;
  state.set("epoch", int64_t{9});
  state.merge("loader.", all_types());
  EXPECT_EQ(names(state),
            (std::vector<std::string>{"epoch", "loader.weight", "loader.epoch", "loader.loss", "loader.name"}));
  EXPECT_EQ(state.integer("loader.epoch"), 3);

  const StateDict loader = state.under("loader.");
  EXPECT_EQ(names(loader), names(all_types()));
  EXPECT_EQ(loader.integer("epoch"), 3);
  EXPECT_TRUE(state.under("optimizer.").empty());
}

TEST(StateDictTest, MergeOntoAnEntryIsAnError) {
  StateDict state;
  state.set("loader.epoch", int64_t{9});
  EXPECT_EQ(error_text<InternalError>([&] { state.merge("loader.", all_types()); }),
            "[StateDict] the entry \"loader.epoch\" is there already.");
}

}  // namespace
}  // namespace levin
