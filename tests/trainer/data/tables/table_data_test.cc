#include "trainer/data/tables/table_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"
#include "tests/trainer/data/tables/numpy_test_file.h"
#include "trainer/core/error.h"
#include "trainer/core/files/safetensors.h"
#include "trainer/data/tables/csv_data.h"
#include "trainer/data/tables/numpy_data.h"
#include "trainer/data/tables/safetensors_data.h"

namespace levin {
namespace {

using Values = std::vector<int64_t>;

/// The first column of what the loader delivers in its first epoch.
Values deliver(DataLoader& loader, const std::function<at::Tensor(const Batch&)>& column) {
  loader.attach({.seed = 3});
  loader.start_epoch(0);
  Values values;
  while (const std::optional<Batch> batch = loader.next()) {
    const at::Tensor tensor = column(*batch).to(at::kLong).contiguous();
    values.insert(values.end(), tensor.const_data_ptr<int64_t>(), tensor.const_data_ptr<int64_t>() + tensor.numel());
  }
  return values;
}

Values sorted(Values values) {
  std::ranges::sort(values);
  return values;
}

class TableDataTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// Rows 0 to size - 1.
  std::string numpy(const std::string& name, int size) const {
    std::string data;
    for (int i = 0; i < size; ++i) data += static_cast<char>(i);
    write_bytes(folder_ / name, numpy_bytes(numpy_header("|u1", "(" + std::to_string(size) + ",)"), data));
    return path(name);
  }
  std::string csv(const std::string& name, const std::string& text) const {
    write_bytes(folder_ / name, text);
    return path(name);
  }

  TestFolder folder_;
};

at::Tensor first_item(const Batch& batch) { return batch[0].tensor(); }

TEST_F(TableDataTest, EachPartHasTheLoaderOfItsFiles) {
  NumpyData data({.train = {numpy("train.npy", 10)},
                  .val = {numpy("val.npy", 4)},
                  .test = {numpy("test.npy", 5)},
                  .predict = {numpy("predict.npy", 3)},
                  .loading = {.batch_size = 4, .eval_batch_size = 2}});
  for (const Stage stage : {Stage::kTrain, Stage::kTest, Stage::kPredict}) data.setup(stage);
  EXPECT_EQ(data.train_dataloader()->batch_size(), 4);
  EXPECT_EQ(data.val_dataloader()->batch_size(), 2);
  const Values train = deliver(*data.train_dataloader(), first_item);
  EXPECT_EQ(sorted(train), (Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_NE(train, sorted(train));  // training is shuffled
  EXPECT_EQ(deliver(*data.val_dataloader(), first_item), (Values{0, 1, 2, 3}));
  EXPECT_EQ(deliver(*data.test_dataloader(), first_item), (Values{0, 1, 2, 3, 4}));
  EXPECT_EQ(deliver(*data.predict_dataloader(), first_item), (Values{0, 1, 2}));
}

TEST_F(TableDataTest, APartWithoutFilesHasNoLoader) {
  NumpyData data({.train = {numpy("train.npy", 10)}});
  for (const Stage stage : {Stage::kTrain, Stage::kValidate, Stage::kTest, Stage::kPredict}) data.setup(stage);
  EXPECT_NE(data.train_dataloader(), nullptr);
  EXPECT_EQ(data.val_dataloader(), nullptr);
  EXPECT_EQ(data.test_dataloader(), nullptr);
  EXPECT_EQ(data.predict_dataloader(), nullptr);
}

TEST_F(TableDataTest, AStageOpensOnlyItsFiles) {
  NumpyData data({.train = {"/nowhere/x.npy"}, .test = {numpy("test.npy", 5)}});
  data.setup(Stage::kTest);
  EXPECT_EQ(data.test_dataloader()->num_batches(), 1);
}

TEST_F(TableDataTest, OneFileIsSplitAtRandomByItsOwnSeed) {
  const std::string file = numpy("all.npy", 100);
  const auto split_of = [&](uint64_t split_seed) {
    NumpyData data({.train = {file}, .loading = {.val_fraction = 0.2, .test_fraction = 0.1, .split_seed = split_seed}});
    data.setup(Stage::kTrain);
    std::vector<Values> parts;
    parts.push_back(sorted(deliver(*data.train_dataloader(), first_item)));
    parts.push_back(deliver(*data.val_dataloader(), first_item));
    NumpyData of_test(
        {.train = {file}, .loading = {.val_fraction = 0.2, .test_fraction = 0.1, .split_seed = split_seed}});
    of_test.setup(Stage::kTest);  // of another process
    parts.push_back(deliver(*of_test.test_dataloader(), first_item));
    return parts;
  };
  const std::vector<Values> parts = split_of(1);
  EXPECT_EQ(parts[0].size(), 70u);
  EXPECT_EQ(parts[1].size(), 20u);
  EXPECT_EQ(parts[2].size(), 10u);
  std::set<int64_t> all;
  for (const Values& part : parts) all.insert(part.begin(), part.end());
  EXPECT_EQ(all.size(), 100u);
  EXPECT_EQ(split_of(1), parts);
  EXPECT_NE(split_of(2), parts);
}

TEST_F(TableDataTest, AFileOfItsOwnAndAFractionExcludeEachOther) {
  NumpyData data({.train = {"a.npy"}, .val = {"b.npy"}, .loading = {.val_fraction = 0.2}});
  EXPECT_EQ(error_text<ConfigError>([&] { data.setup(Stage::kTrain); }),
            "[NumpyData] val has files of its own, so val_fraction must be 0, got 0.2.");
  NumpyData without_train({.loading = {.test_fraction = 0.2}});
  EXPECT_EQ(error_text<ConfigError>([&] { without_train.setup(Stage::kTest); }),
            "[NumpyData] test_fraction is a part of train, which is not given.");
}

TEST_F(TableDataTest, AMissingFileIsNamedWithItsOption) {
  NumpyData data({.train = {numpy("train.npy", 10)}, .val = {"nowhere.npy"}});
  const std::string text = error_text<DataError>([&] { data.setup(Stage::kTrain); });
  EXPECT_TRUE(text.starts_with("[NumpyData] there is no file nowhere.npy, which data.val names. Paths are taken from "))
      << text;
}

TEST_F(TableDataTest, TheBatchSizeOfTheTrainingCanBeSet) {
  NumpyData data({.train = {numpy("train.npy", 10)}, .val = {numpy("val.npy", 4)}});
  EXPECT_TRUE(data.set_batch_size(7));
  data.setup(Stage::kTrain);
  EXPECT_EQ(data.train_dataloader()->batch_size(), 7);
  EXPECT_EQ(data.val_dataloader()->batch_size(), 256);
}

TEST_F(TableDataTest, DropLastIsForTheTrainingOnly) {
  NumpyData data({.train = {numpy("train.npy", 10)},
                  .val = {numpy("val.npy", 5)},
                  .loading = {.batch_size = 4, .eval_batch_size = 4, .drop_last = true}});
  data.setup(Stage::kTrain);
  EXPECT_EQ(data.train_dataloader()->num_batches(), 2);
  EXPECT_EQ(data.val_dataloader()->num_batches(), 2);
}

TEST_F(TableDataTest, WorkersDeliverTheSame) {
  NumpyData data({.train = {numpy("train.npy", 20)}, .loading = {.batch_size = 3}});
  NumpyData with_workers({.train = {path("train.npy")}, .loading = {.batch_size = 3, .workers = {.num_workers = 2}}});
  data.setup(Stage::kTrain);
  with_workers.setup(Stage::kTrain);
  EXPECT_EQ(deliver(*data.train_dataloader(), first_item), deliver(*with_workers.train_dataloader(), first_item));
}

TEST_F(TableDataTest, NamesOfNumpyFilesMayBeMoreThanAPartHas) {
  NumpyData data({.train = {numpy("x.npy", 3), numpy("y.npy", 3)}, .predict = {path("x.npy")}, .names = {"x", "y"}});
  data.setup(Stage::kTrain);
  data.setup(Stage::kPredict);
  const auto loader = data.train_dataloader();
  loader->start_epoch(0);
  EXPECT_EQ(loader->next()->describe(), "{x: uint8 [3], y: uint8 [3]}");
  EXPECT_EQ(deliver(*data.predict_dataloader(), [](const Batch& batch) { return batch["x"].tensor(); }),
            (Values{0, 1, 2}));
}

TEST_F(TableDataTest, SafetensorsHaveALoaderForEachFile) {
  write_safetensors(folder_ / "a.safetensors", {{"x", floats({0, 1, 2})}, {"y", floats({3, 4, 5})}});
  SafetensorsData data({.val = path("a.safetensors"), .tensors = {"y"}});
  data.setup(Stage::kValidate);
  EXPECT_EQ(deliver(*data.val_dataloader(), [](const Batch& batch) { return batch["y"].tensor(); }), (Values{3, 4, 5}));
  EXPECT_EQ(data.train_dataloader(), nullptr);
}

at::Tensor target_of(const Batch& batch) { return batch["target"].tensor(); }

TEST_F(TableDataTest, TheTrainingFileOfCsvDecidesColumnsAndCategories) {
  const std::string train = csv("train.csv", "a,b,kind\n1,2,dog\n3,4,cat\n5,6,cow\n");
  const std::string test = csv("test.csv", "kind,b,a\ndog,20,10\ncow,40,30\n");  // other columns first, no cat
  CsvData data({.train = train, .test = test, .csv = {.targets = {"kind"}, .categories = {"kind"}}});
  data.setup(Stage::kTest);
  EXPECT_EQ(deliver(*data.test_dataloader(), target_of), (Values{2, 1}));
  EXPECT_EQ(deliver(*data.test_dataloader(), [](const Batch& batch) { return batch["features"].tensor().flatten(); }),
            (Values{10, 20, 30, 40}));
}

TEST_F(TableDataTest, CsvForPredictionsMayLackTheTargets) {
  const std::string train = csv("train.csv", "y,x\n1,2\n3,4\n");
  CsvData data({.train = train, .predict = csv("predict.csv", "x\n7\n8\n"), .csv = {.targets = {"y"}}});
  data.setup(Stage::kPredict);
  EXPECT_EQ(deliver(*data.predict_dataloader(), [](const Batch& batch) { return batch["features"].tensor(); }),
            (Values{7, 8}));
  CsvData of_test({.train = train, .test = path("predict.csv"), .csv = {.targets = {"y"}}});
  EXPECT_NE(error_text<DataError>([&] { of_test.setup(Stage::kTest); }).find("has no column \"y\""), std::string::npos);
}

TEST_F(TableDataTest, CsvWithNamedFeaturesNeedsNoTrainingFileForATest) {
  CsvData data({.train = "/nowhere/train.csv",
                .test = csv("test.csv", "x,y\n1,2\n"),
                .csv = {.features = {"x"}, .targets = {"y"}}});
  data.setup(Stage::kTest);
  EXPECT_EQ(deliver(*data.test_dataloader(), target_of), (Values{2}));
}

}  // namespace
}  // namespace levin
