#include "callbacks/prediction_writer.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <stdexcept>

#include "tests/callbacks/fake_run.h"
#include "tests/trainer/checkpoint/test_files.h"
#include "tests/trainer/core/error_text.h"
#include "trainer/core/files/safetensors.h"

namespace levin {
namespace {

using Names = std::vector<std::string>;

// Plays the prediction by hand: batches of two samples, whose predictions are the numbers 0, 1, 2, ...
class PredictionWriterTest : public testing::Test {
 protected:
  PredictionWriterTest() { run_.run_dir = folder_.path(); }

  RunContext context() {
    RunContext context = run_.context(Stage::kPredict);
    context.sample_indices = run_.sample_indices;
    return context;
  }
  void start(PredictionWriter& writer) {
    run_.state = {};
    writer.on_predict_start(context());
  }
  void batch(PredictionWriter& writer, const Batch& predictions) {
    writer.on_predict_batch_end(context(), predictions, Batch(at::zeros({2})));
    ++run_.state.batch_idx;
  }
  static Batch numbers(int64_t first) { return at::arange(first, first + 2, at::kFloat); }

  TestFolder folder_;
  FakeRun run_;
};

TEST_F(PredictionWriterTest, EachBatchIsOnTheDiskBeforeTheNextOne) {
  PredictionWriter writer({.format = "csv"});
  start(writer);
  batch(writer, numbers(0));
  const auto names = [&] {
    Names found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "predictions")) {
      found.push_back(entry.path().filename());
    }
    std::sort(found.begin(), found.end());
    return found;
  };
  EXPECT_EQ(names(), Names({"batch-000000.csv"}));
  batch(writer, numbers(2));
  EXPECT_EQ(names(), Names({"batch-000000.csv", "batch-000001.csv"}));
  writer.on_predict_epoch_end(context());
  EXPECT_EQ(names(), Names({"batch-000000.csv", "batch-000001.csv"}));
  EXPECT_EQ(read_bytes(folder_ / "predictions/batch-000001.csv"), "prediction\n2\n3\n");
}

TEST_F(PredictionWriterTest, FileHoldsTheWholePrediction) {
  PredictionWriter writer({.file = (folder_ / "new/all.csv").string()});
  start(writer);
  batch(writer, numbers(0));
  batch(writer, numbers(2));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new/all.csv"));
  writer.on_predict_epoch_end(context());
  EXPECT_EQ(read_bytes(folder_ / "new/all.csv"), "prediction\n0\n1\n2\n3\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "predictions"));
}

TEST_F(PredictionWriterTest, BothMayBeWritten) {
  PredictionWriter writer({.write_interval = "batch_and_epoch"});
  start(writer);
  batch(writer, numbers(0));
  writer.on_predict_epoch_end(context());
  EXPECT_EQ(folder_.names(), Names({"predictions", "predictions.safetensors"}));
  EXPECT_TRUE(SafetensorsFile(folder_ / "predictions/batch-000000.safetensors")
                  .read("prediction")
                  .equal(at::arange(2, at::kFloat)));
}

// The samples' places in the dataset, so that rows can be matched with it.
TEST_F(PredictionWriterTest, IndicesOfTheSamplesAreWrittenWhereTheyAreKnown) {
  PredictionWriter writer({.file = (folder_ / "p.csv").string(), .folder = (folder_ / "p").string(), .format = "csv"});
  start(writer);
  run_.sample_indices = {7, 3};
  batch(writer, numbers(0));
  run_.sample_indices = {5, 1};
  batch(writer, numbers(2));
  writer.on_predict_epoch_end(context());
  EXPECT_EQ(read_bytes(folder_ / "p/batch-000000.csv"), "sample_index,prediction\n7,0\n3,1\n");
  EXPECT_EQ(read_bytes(folder_ / "p.csv"), "sample_index,prediction\n7,0\n3,1\n5,2\n1,3\n");
}

TEST_F(PredictionWriterTest, IndicesStandBesideFieldsAndListItems) {
  PredictionWriter writer({.format = "csv"});
  start(writer);
  run_.sample_indices = {7, 3};
  batch(writer, Batch(Batch::Fields{{"class", numbers(0)}}));
  batch(writer, Batch(Batch::Items{numbers(0), numbers(4)}));
  batch(writer, Batch(Batch::Fields{{"sample_index", numbers(8)}}));  // the module's own
  EXPECT_EQ(read_bytes(folder_ / "predictions/batch-000000.csv"), "sample_index,class\n7,0\n3,1\n");
  EXPECT_EQ(read_bytes(folder_ / "predictions/batch-000001.csv"), "sample_index,0,1\n7,0,4\n3,1,5\n");
  EXPECT_EQ(read_bytes(folder_ / "predictions/batch-000002.csv"), "sample_index\n8\n9\n");
}

// One value for a batch of two: the last batch has one sample, and would have an index alone.
TEST_F(PredictionWriterTest, PredictionThatIsNotOneRowASampleHasNoIndices) {
  PredictionWriter writer({.file = (folder_ / "p.csv").string()});
  start(writer);
  run_.sample_indices = {0, 1};
  batch(writer, at::full({1}, 0.5));
  run_.sample_indices = {2};
  batch(writer, at::full({1}, 0.25));
  writer.on_predict_epoch_end(context());
  EXPECT_EQ(read_bytes(folder_ / "p.csv"), "prediction\n0.5\n0.25\n");
}

TEST_F(PredictionWriterTest, IndicesMayBeLeftOut) {
  PredictionWriter writer({.format = "csv", .write_indices = false});
  start(writer);
  run_.sample_indices = {7, 3};
  batch(writer, numbers(0));
  EXPECT_EQ(read_bytes(folder_ / "predictions/batch-000000.csv"), "prediction\n0\n1\n");
}

TEST_F(PredictionWriterTest, BatchesOfALongerPredictionBeforeAreRemovedAndNothingElse) {
  std::filesystem::create_directories(folder_ / "predictions");
  for (const char* name : {"batch-000000.csv", "batch-1000000.csv", "batch-000001.safetensors", "batch-a.csv",
                           "batch-.csv", "my-batch-000001.csv", "batch-000001-rank-1.csv"}) {
    write_bytes(folder_ / ("predictions/" + std::string(name)), "old");
  }
  PredictionWriter writer({.format = "csv"});
  start(writer);
  for (const char* gone : {"batch-000000.csv", "batch-1000000.csv"}) {
    EXPECT_FALSE(std::filesystem::exists(folder_ / ("predictions/" + std::string(gone)))) << gone;
  }
  for (const char* kept :
       {"batch-000001.safetensors", "batch-a.csv", "batch-.csv", "my-batch-000001.csv", "batch-000001-rank-1.csv"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / ("predictions/" + std::string(kept)))) << kept;
  }
}

// A full disk: what is half written has no name, and an older file stays.
TEST_F(PredictionWriterTest, FailedWriteLeavesTheOlderFile) {
  const auto file = folder_ / "p.csv";
  PredictionWriter writer({.file = file.string()});
  start(writer);
  batch(writer, numbers(0));
  write_bytes(file, "older");
  std::filesystem::create_symlink("/dev/full", folder_ / ".p.csv.tmp");
  EXPECT_NE(error_text<OutputError>([&] { writer.on_predict_epoch_end(context()); }).find("No space left on device"),
            std::string::npos);
  EXPECT_EQ(folder_.names(), Names({"p.csv"}));
  EXPECT_EQ(read_bytes(file), "older");
}

TEST_F(PredictionWriterTest, BatchesOfAFailedPredictionAreForgotten) {
  PredictionWriter writer({.file = (folder_ / "p.csv").string()});
  start(writer);
  batch(writer, numbers(0));
  writer.on_exception(context(), std::runtime_error("out of data"));
  start(writer);
  batch(writer, numbers(4));
  writer.on_predict_epoch_end(context());
  EXPECT_EQ(read_bytes(folder_ / "p.csv"), "prediction\n4\n5\n");
}

TEST_F(PredictionWriterTest, RunWithoutAFolderNeedsAPlace) {
  run_.run_dir.clear();
  PredictionWriter writer;
  EXPECT_EQ(error_text<ConfigError>([&] { start(writer); }),
            "[PredictionWriter] The run keeps no files, so there is no folder for predictions. Give folder.");
}

TEST_F(PredictionWriterTest, OptionsThatAreWrongAreNamed) {
  EXPECT_EQ(
      error_text<ConfigError>([] { PredictionWriter({.file = "p.txt", .folder = "f", .write_interval = "epoch"}); }),
      "[PredictionWriter] folder is for write_interval batch, and write_interval is epoch; name a file; file must "
      "end in .safetensors or .csv, got \"p.txt\".");
  EXPECT_EQ(error_text<ConfigError>([] { PredictionWriter({.file = "p.csv", .write_interval = "batch"}); }),
            "[PredictionWriter] file is for write_interval epoch, and write_interval is batch; name a folder.");
  EXPECT_NE(error_text<ConfigError>([] { PredictionWriter({.format = "npy"}); }).find("npy"), std::string::npos);
}

}  // namespace
}  // namespace levin
