#include "trainer/data/collate.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

using Samples = std::vector<Batch>;

at::Tensor integers(const std::vector<int64_t>& values) { return at::tensor(values, at::kLong); }

std::string stack_error(const Samples& samples) {
  return error_text<DataError>([&] { stack_samples(samples); });
}

std::string pad_error(const Samples& samples) {
  return error_text<DataError>([&] { pad_collate()(samples); });
}

TEST(StackSamplesTest, LeavesGetABatchDimension) {
  const Batch batch = stack_samples(Samples{at::full({2, 3}, 1.0), at::full({2, 3}, 2.0)});
  EXPECT_EQ(batch.describe(), "float32 [2, 2, 3]");
  EXPECT_EQ(batch.tensor()[1][0][0].item<float>(), 2.0F);
  EXPECT_EQ(stack_samples(Samples{at::scalar_tensor(7), at::scalar_tensor(8)}).describe(), "float32 [2]");
}

TEST(StackSamplesTest, TreesAreKept) {
  const auto sample = [](int64_t value) {
    return Batch(
        Batch::Fields{{"x", Batch::of(at::full({2}, value), at::full({}, value))}, {"y", at::full({3}, value)}});
  };
  const Batch batch = stack_samples(Samples{sample(1), sample(2), sample(3)});
  EXPECT_EQ(batch.describe(), "{x: [int64 [3, 2], int64 [3]], y: int64 [3, 3]}");
  EXPECT_TRUE(at::equal(batch["x"][1].tensor(), integers({1, 2, 3})));
}

TEST(StackSamplesTest, UndefinedLeavesStayUndefined) {
  EXPECT_FALSE(stack_samples(Samples{at::Tensor(), at::Tensor()}).tensor().defined());
}

TEST(StackSamplesTest, DifferencesAreNamedWithTheirPlace) {
  EXPECT_EQ(
      stack_error({at::zeros({2}), at::zeros({2}), at::zeros({3})}),
      "[collate] the samples of a batch must be alike, but the tensor is float32 [2] in the first and float32 [3] "
      "in sample 2 of the batch.");
  EXPECT_EQ(stack_error({Batch(Batch::Fields{{"x", Batch::of(at::zeros({2}), at::zeros({}))}}),
                         Batch(Batch::Fields{{"x", Batch::of(at::zeros({2}), at::zeros({}, at::kLong))}})}),
            "[collate] the samples of a batch must be alike, but [\"x\"][1] is float32 [] in the first and int64 [] in "
            "sample 1 of the batch.");
  EXPECT_EQ(stack_error({Batch::of(at::zeros({})), Batch::of(at::zeros({}), at::zeros({}))}),
            "[collate] the samples of a batch must be alike, but the whole is a list of 1 in the first and a list of 2 "
            "in sample 1 of the batch.");
  EXPECT_NE(stack_error({Batch(at::zeros({2})), Batch::of(at::zeros({2}))}).find("a list of 1 in sample 1"),
            std::string::npos);
  EXPECT_NE(stack_error({Batch(at::Tensor()), Batch(at::zeros({2}))}).find("undefined in the first"),
            std::string::npos);
  EXPECT_NE(stack_error({Batch(Batch::Fields{{"x", at::zeros({})}}), Batch(Batch::Fields{{"y", at::zeros({})}})})
                .find("field \"x\" in the first and field \"y\" in sample 1"),
            std::string::npos);
}

TEST(StackSamplesTest, NoSamplesAreAnError) {
  EXPECT_EQ(stack_error({}), "[collate] a batch has at least one sample, got none.");
}

TEST(PadCollateTest, ShorterSequencesAreFilledAtTheirEnd) {
  const Batch batch = pad_collate()(Samples{integers({1, 2, 3}), integers({4}), integers({5, 6})});
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_TRUE(at::equal(batch[0].tensor(), integers({1, 2, 3, 4, 0, 0, 5, 6, 0}).view({3, 3})));
  EXPECT_TRUE(at::equal(batch[1].tensor(), integers({3, 1, 2})));
}

TEST(PadCollateTest, OtherDimensionsAreKept) {
  const Batch batch = pad_collate({.values = {-1.0}})(Samples{at::ones({1, 2}), at::ones({3, 2})});
  EXPECT_EQ(batch.describe(), "[float32 [2, 3, 2], int64 [2]]");
  EXPECT_EQ(batch[0].tensor()[0][0][1].item<float>(), 1.0F);
  EXPECT_EQ(batch[0].tensor()[0][1][0].item<float>(), -1.0F);
  EXPECT_EQ(batch[0].tensor()[0][2][1].item<float>(), -1.0F);
}

TEST(PadCollateTest, EachLeafHasItsValueAndTheLastServesTheRest) {
  const auto sample = [](int64_t length) {
    return Batch::of(at::ones({length}, at::kLong), at::ones({length}, at::kLong), at::ones({length}, at::kLong));
  };
  const Batch batch = pad_collate({.values = {0.0, -100.0}})(Samples{sample(1), sample(2)});
  EXPECT_TRUE(at::equal(batch[0].tensor(), integers({1, 0, 1, 1}).view({2, 2})));
  EXPECT_TRUE(at::equal(batch[1].tensor(), integers({1, -100, 1, 1}).view({2, 2})));
  EXPECT_TRUE(at::equal(batch[2].tensor(), integers({1, -100, 1, 1}).view({2, 2})));
  EXPECT_TRUE(at::equal(batch[3].tensor(), integers({1, 2})));
}

TEST(PadCollateTest, FieldsGetAFieldOfLengths) {
  const auto sample = [](int64_t length) {
    return Batch(Batch::Fields{{"label", at::full({}, length)}, {"text", at::ones({length})}});
  };
  const Batch batch = pad_collate()(Samples{sample(2), sample(4)});
  EXPECT_EQ(batch.describe(), "{label: int64 [2], text: float32 [2, 4], lengths: int64 [2]}");
  EXPECT_TRUE(at::equal(batch["lengths"].tensor(), integers({2, 4})));
  EXPECT_TRUE(at::equal(batch["label"].tensor(), integers({2, 4})));
}

TEST(PadCollateTest, LengthsAreRoundedUp) {
  EXPECT_EQ(pad_collate({.multiple_of = 8})(Samples{at::ones({3}), at::ones({9})})[0].describe(), "float32 [2, 16]");
  EXPECT_EQ(pad_collate({.multiple_of = 8})(Samples{at::ones({8}), at::ones({3})})[0].describe(), "float32 [2, 8]");
}

TEST(PadCollateTest, EmptySequencesAreAllowed) {
  const Batch batch = pad_collate()(Samples{integers({}), integers({7})});
  EXPECT_TRUE(at::equal(batch[0].tensor(), integers({0, 7}).view({2, 1})));
  EXPECT_TRUE(at::equal(batch[1].tensor(), integers({0, 1})));
  EXPECT_EQ(pad_collate()(Samples{integers({}), integers({})})[0].describe(), "int64 [2, 0]");
}

TEST(PadCollateTest, ScalarsAreStackedWithoutLengths) {
  EXPECT_EQ(pad_collate()(Samples{at::zeros({}), at::zeros({})}).describe(), "float32 [2]");
}

TEST(PadCollateTest, OtherDimensionsMustBeAlike) {
  EXPECT_EQ(pad_error({at::zeros({1, 2}), at::zeros({1, 3})}),
            "[collate] the samples of a batch must be alike, but the tensor is float32 [1, 2] in the first and float32 "
            "[1, 3] in sample 1 of the batch.");
  EXPECT_NE(pad_error({at::zeros({1}), at::zeros({1}, at::kLong)}).find("int64 [1] in sample 1"), std::string::npos);
  EXPECT_NE(pad_error({at::zeros({1}), at::zeros({})}).find("float32 [] in sample 1"), std::string::npos);
  EXPECT_NE(pad_error({at::zeros({}), at::zeros({1})}).find("float32 [1] in sample 1"), std::string::npos);
}

TEST(PadCollateTest, OptionsMustFit) {
  EXPECT_EQ(error_text<ConfigError>([] { pad_collate({.multiple_of = 0}); }),
            "[pad_collate] multiple_of must be >= 1, got 0.");
  EXPECT_EQ(error_text<ConfigError>([] { pad_collate({.values = {}}); }),
            "[pad_collate] values must have at least one value, got none.");
}

}  // namespace
}  // namespace levin
