#include "trainer/core/batch.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

at::Tensor floats_of(at::IntArrayRef shape) { return at::zeros(shape, at::kFloat); }
at::Tensor ints_of(at::IntArrayRef shape) { return at::zeros(shape, at::kLong); }

Batch named(std::string name, at::Tensor tensor) { return Batch::Fields{{std::move(name), std::move(tensor)}}; }

template <class Function>
std::string data_error(Function&& function) {
  return error_text<DataError>(function);
}

TEST(BatchTest, ATensorIsALeaf) {
  const at::Tensor tensor = floats_of({2, 3});
  const Batch batch = tensor;
  EXPECT_TRUE(batch.is_tensor());
  EXPECT_FALSE(batch.is_list());
  EXPECT_FALSE(batch.is_fields());
  EXPECT_EQ(batch.size(), 1);
  EXPECT_TRUE(batch.tensor().is_same(tensor));
}

TEST(BatchTest, AListGivesItsItems) {
  const at::Tensor images = floats_of({4, 2});
  const at::Tensor labels = ints_of({4});
  const Batch batch = Batch::of(images, labels);
  EXPECT_TRUE(batch.is_list());
  EXPECT_EQ(batch.size(), 2);
  EXPECT_EQ(batch.items().size(), 2);
  EXPECT_TRUE(batch[0].tensor().is_same(images));
  EXPECT_TRUE(batch[1].tensor().is_same(labels));
}

TEST(BatchTest, FieldsAreFoundByNameAndKeepTheirOrder) {
  const at::Tensor image = floats_of({4, 2});
  const at::Tensor label = ints_of({4});
  const Batch batch = Batch::Fields{{"label", label}, {"image", image}};
  EXPECT_TRUE(batch.is_fields());
  EXPECT_EQ(batch.size(), 2);
  EXPECT_TRUE(batch["image"].tensor().is_same(image));
  EXPECT_TRUE(batch["label"].tensor().is_same(label));
  EXPECT_EQ(batch.fields()[0].first, "label");
  EXPECT_EQ(batch.fields()[1].first, "image");
}

TEST(BatchTest, TreesNest) {
  const at::Tensor leaf = floats_of({2});
  const Batch batch = Batch::of(Batch::Fields{{"pair", Batch::of(ints_of({2}), leaf)}});
  EXPECT_TRUE(batch[0]["pair"][1].tensor().is_same(leaf));
}

TEST(BatchTest, IsTheEmptyListByDefault) {
  EXPECT_TRUE(Batch().is_list());
  EXPECT_EQ(Batch().size(), 0);
}

TEST(BatchTest, TwoFieldsOfOneNameAreAnError) {
  EXPECT_EQ(data_error([] {
              Batch(Batch::Fields{{"x", ints_of({1})}, {"y", ints_of({1})}, {"x", ints_of({1})}});
            }),
            "[Batch] field names must differ, got \"x\" twice.");
}

TEST(BatchTest, AnotherKindThanExpectedIsAnError) {
  const Batch leaf = floats_of({2, 3});
  const Batch list = Batch::of(ints_of({4}));
  const Batch fields = named("x", ints_of({4}));
  EXPECT_EQ(data_error([&] { list.tensor(); }), "[Batch] expected a tensor, got a list: [int64 [4]].");
  EXPECT_EQ(data_error([&] { fields.tensor(); }), "[Batch] expected a tensor, got a set of fields: {x: int64 [4]}.");
  EXPECT_EQ(data_error([&] { leaf.items(); }), "[Batch] expected a list, got a tensor: float32 [2, 3].");
  EXPECT_EQ(data_error([&] { fields[0]; }), "[Batch] expected a list, got a set of fields: {x: int64 [4]}.");
  EXPECT_EQ(data_error([&] { list.fields(); }), "[Batch] expected named fields, got a list: [int64 [4]].");
  EXPECT_EQ(data_error([&] { leaf["x"]; }), "[Batch] expected named fields, got a tensor: float32 [2, 3].");
}

TEST(BatchTest, AnIndexBehindTheListIsAnError) {
  const Batch list = Batch::of(floats_of({4, 2}), ints_of({4}));
  EXPECT_EQ(data_error([&] { list[2]; }),
            "[Batch] index 2 is out of range: the list has 2 items: [float32 [4, 2], int64 [4]].");
}

TEST(BatchTest, AnUnknownFieldIsAnErrorThatListsTheFields) {
  const Batch batch = Batch::Fields{{"image", floats_of({4})}, {"label", ints_of({4})}};
  EXPECT_EQ(data_error([&] { batch["lable"]; }), "[Batch] there is no field \"lable\"; the fields are: image, label.");
}

TEST(BatchTest, TensorsUnpacksAList) {
  const at::Tensor images = floats_of({4, 2});
  const at::Tensor labels = ints_of({4});
  const auto [first, second] = Batch::of(images, labels).tensors<2>();
  EXPECT_TRUE(first.is_same(images));
  EXPECT_TRUE(second.is_same(labels));
}

TEST(BatchTest, TensorsNeedsAListOfExactlyThatManyTensors) {
  EXPECT_EQ(data_error([] { Batch::of(ints_of({4})).tensors<2>(); }),
            "[Batch] expected a list of 2 tensors, got a list of size 1: [int64 [4]].");
  EXPECT_EQ(data_error([] { Batch::of(ints_of({4}), ints_of({4})).tensors<1>(); }),
            "[Batch] expected a list of 1 tensors, got a list of size 2: [int64 [4], int64 [4]].");
  EXPECT_EQ(data_error([] { Batch(ints_of({4})).tensors<1>(); }),
            "[Batch] expected a list of 1 tensors, got a tensor of size 1: int64 [4].");
  EXPECT_EQ(data_error([] { named("x", ints_of({4})).tensors<1>(); }),
            "[Batch] expected a list of 1 tensors, got a set of fields of size 1: {x: int64 [4]}.");
  EXPECT_EQ(data_error([] { Batch::of(Batch::of(ints_of({4}))).tensors<1>(); }),
            "[Batch] expected a list of 1 tensors, got a list of size 1: [[int64 [4]]].");
}

TEST(BatchTest, MapKeepsTheTree) {
  const Batch batch = Batch::of(floats_of({2}), Batch::Fields{{"x", ints_of({3, 1})}});
  const Batch wide = batch.map([](const at::Tensor& leaf) { return leaf.to(at::kDouble); });
  EXPECT_EQ(wide.describe(), "[float64 [2], {x: float64 [3, 1]}]");
  EXPECT_EQ(batch.describe(), "[float32 [2], {x: int64 [3, 1]}]");
}

TEST(BatchTest, MapLeavesUndefinedTensorsOut) {
  int64_t calls = 0;
  const Batch result = Batch::of(at::Tensor(), ints_of({2})).map([&](const at::Tensor& leaf) {
    ++calls;
    return leaf;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(result[0].tensor().defined());
}

TEST(BatchTest, ToTheSameDeviceReturnsTheSameTensors) {
  const at::Tensor leaf = floats_of({2});
  const at::Tensor field = ints_of({2});
  const Batch moved = Batch::of(leaf, Batch::Fields{{"x", field}}, at::Tensor()).to(at::kCPU);
  EXPECT_TRUE(moved[0].tensor().is_same(leaf));
  EXPECT_TRUE(moved[1]["x"].tensor().is_same(field));
  EXPECT_FALSE(moved[2].tensor().defined());
}

TEST(BatchTest, ToAnotherDeviceMovesEachLeaf) {
  const Batch moved = Batch::of(floats_of({2}), Batch::Fields{{"x", ints_of({})}}, at::Tensor()).to(at::kMeta);
  EXPECT_TRUE(moved[0].tensor().is_meta());
  EXPECT_TRUE(moved[1]["x"].tensor().is_meta());
  EXPECT_FALSE(moved[2].tensor().defined());
  EXPECT_EQ(moved.describe(), "[float32 [2], {x: int64 []}, undefined]");
}

TEST(BatchTest, BatchSizeIsThatOfTheFirstLeafWithADimension) {
  EXPECT_EQ(Batch(floats_of({5, 2})).batch_size(), 5);
  EXPECT_EQ(Batch(floats_of({0, 2})).batch_size(), 0);
  EXPECT_EQ(Batch::of(floats_of({}), at::Tensor(), ints_of({3}), ints_of({4})).batch_size(), 3);
  EXPECT_EQ(Batch::of(Batch(), Batch::Fields{{"x", floats_of({})}, {"y", ints_of({7})}}).batch_size(), 7);
}

TEST(BatchTest, ABatchOfScalarsIsOneSample) {
  EXPECT_EQ(Batch(floats_of({})).batch_size(), 1);
  EXPECT_EQ(Batch::of(floats_of({}), Batch::Fields{{"x", ints_of({})}}).batch_size(), 1);
}

TEST(BatchTest, ABatchWithoutALeafHasNoSize) {
  for (const Batch& batch : {Batch(), Batch(at::Tensor()), Batch(Batch::Fields{{"x", Batch()}})}) {
    EXPECT_EQ(data_error([&] { batch.batch_size(); }), "[Batch] an empty batch has no batch size.");
  }
}

TEST(BatchTest, SliceTakesSamplesOfEachLeaf) {
  const Batch batch = Batch::of(at::arange(6).view({3, 2}), Batch::Fields{{"x", at::arange(3)}}, floats_of({}));
  const Batch part = batch.slice(1, 3);
  EXPECT_TRUE(at::equal(part[0].tensor(), at::arange(2, 6).view({2, 2})));
  EXPECT_TRUE(at::equal(part[1]["x"].tensor(), at::arange(1, 3)));
  EXPECT_EQ(part[2].tensor().dim(), 0);
}

TEST(BatchTest, SliceIsAView) {
  const at::Tensor leaf = ints_of({4});
  Batch(leaf).slice(2, 3).tensor().fill_(7);
  EXPECT_EQ(leaf[2].item<int64_t>(), 7);
}

TEST(BatchTest, SliceMayBeEmpty) { EXPECT_EQ(Batch(ints_of({4})).slice(4, 4).batch_size(), 0); }

TEST(BatchTest, SliceOutOfRangeIsAnError) {
  const Batch batch = Batch::of(ints_of({4}), floats_of({3, 2}));
  EXPECT_EQ(data_error([&] { batch.slice(2, 4); }),
            "[Batch] samples [2, 4) are out of range for a leaf float32 [3, 2].");
  EXPECT_EQ(data_error([&] { batch.slice(-1, 2); }), "[Batch] samples [-1, 2) are out of range for a leaf int64 [4].");
  EXPECT_EQ(data_error([&] { batch.slice(2, 1); }), "[Batch] samples [2, 1) are out of range for a leaf int64 [4].");
}

TEST(BatchTest, DescribesTypesAndShapes) {
  EXPECT_EQ(Batch().describe(), "[]");
  EXPECT_EQ(Batch(Batch::Fields{}).describe(), "{}");
  EXPECT_EQ(Batch::of(floats_of({128, 1, 28, 28}), ints_of({128})).describe(),
            "[float32 [128, 1, 28, 28], int64 [128]]");
  EXPECT_EQ(Batch(Batch::Fields{{"x", floats_of({2})}, {"y", Batch::of(ints_of({}))}}).describe(),
            "{x: float32 [2], y: [int64 []]}");
}

TEST(DescribeTensorTest, NamesTheDtype) {
  EXPECT_EQ(describe_tensor({}), "undefined");
  EXPECT_EQ(describe_tensor(at::zeros({1}, at::kDouble)), "float64 [1]");
  EXPECT_EQ(describe_tensor(at::zeros({1}, at::kInt)), "int32 [1]");
  EXPECT_EQ(describe_tensor(at::zeros({1}, at::kByte)), "uint8 [1]");
  EXPECT_EQ(describe_tensor(at::zeros({1}, at::kBool)), "bool [1]");
  EXPECT_EQ(describe_tensor(at::zeros({1}, at::kHalf)), "Half [1]");
}

}  // namespace
}  // namespace levin
