#include "trainer/checkpoint/checkpoint.h"

#include <signal.h>
#include <sys/resource.h>

#include "tests/trainer/checkpoint/test_files.h"
#include "trainer/checkpoint/temporary_folder.h"
#include "trainer/core/files/safetensors.h"

namespace levin {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

// Model, optimizer and run all tell `value`.
Checkpoint make_checkpoint(int64_t value) {
  const auto real = static_cast<float>(value);
  Checkpoint checkpoint;
  checkpoint.model.set("fc.weight", floats({real, real, real}));
  checkpoint.optimizer.set("fc.weight.step", value);
  checkpoint.optimizer.set("fc.weight.exp_avg", floats({real, real}));
  checkpoint.optimizer.set("lr", 0.1);
  checkpoint.run.set("loop.step", value);
  checkpoint.run.set("name", std::string("gpt"));
  checkpoint.run.set("rng.cpu", tensor_of("abc", {3}, at::kByte));
  return checkpoint;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& item : fs::directory_iterator(folder)) names.push_back(item.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

int64_t value_in(const fs::path& folder) { return load_checkpoint(folder).run.integer("loop.step"); }

TEST(CheckpointTest, SavedStateReadsBack) {
  const TestFolder test;
  save_checkpoint(test / "x", make_checkpoint(7));
  const Checkpoint read = load_checkpoint(test / "x");
  EXPECT_EQ(read.model.size(), 1u);
  EXPECT_EQ(bytes_of(read.model.tensor("fc.weight")), bytes_of(floats({7, 7, 7})));
  EXPECT_EQ(read.optimizer.size(), 3u);
  EXPECT_EQ(read.optimizer.integer("fc.weight.step"), 7);
  EXPECT_EQ(bytes_of(read.optimizer.tensor("fc.weight.exp_avg")), bytes_of(floats({7, 7})));
  EXPECT_EQ(read.optimizer.real("lr"), 0.1);
  EXPECT_EQ(read.run.size(), 3u);
  EXPECT_EQ(read.run.integer("loop.step"), 7);
  EXPECT_EQ(read.run.text("name"), "gpt");
  EXPECT_EQ(bytes_of(read.run.tensor("rng.cpu")), "abc");
}

TEST(CheckpointTest, FilesAreThoseOfTheContract) {
  const TestFolder test;
  save_checkpoint(test / "x", make_checkpoint(7));
  EXPECT_THAT(names_in(test / "x"), ElementsAre("manifest.json", "model.safetensors", "optimizer.safetensors",
                                                "run.safetensors", "state.json"));
  save_checkpoint(test / "y", {});
  EXPECT_THAT(names_in(test / "y"),
              ElementsAre("manifest.json", "model.safetensors", "optimizer.safetensors", "state.json"));
  EXPECT_TRUE(load_checkpoint(test / "y").model.empty());
}

TEST(CheckpointTest, LaterSaveReplacesTheEarlierOne) {
  const TestFolder test;
  save_checkpoint(test / "x", make_checkpoint(1));
  Checkpoint without_run_tensors = make_checkpoint(2);
  without_run_tensors.run = {};
  without_run_tensors.run.set("loop.step", int64_t{2});
  save_checkpoint(test / "x", without_run_tensors);
  EXPECT_EQ(value_in(test / "x"), 2);
  EXPECT_FALSE(fs::exists(test / "x/run.safetensors"));
  EXPECT_THAT(test.names(), ElementsAre("x"));
}

TEST(CheckpointTest, TiedTensorsAreSavedOnceAndReadBackTied) {
  const TestFolder test;
  Checkpoint checkpoint;
  const at::Tensor shared = floats({1, 2, 3, 4});
  checkpoint.model.set("encoder.weight", shared);
  checkpoint.model.set("other", floats({1, 2, 3, 4}));
  checkpoint.model.set("decoder.weight", shared.detach());
  checkpoint.model.set("half", shared.slice(0, 0, 2));  // a view of a part is no tie
  save_checkpoint(test / "x", checkpoint);

  const SafetensorsFile file(test / "x/model.safetensors");
  EXPECT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{"decoder.weight", "encoder.weight"}, {"format", "pt"}}));

  const Checkpoint read = load_checkpoint(test / "x");
  EXPECT_EQ(read.model.size(), 4u);
  read.model.tensor("encoder.weight").fill_(9);
  EXPECT_EQ(bytes_of(read.model.tensor("decoder.weight")), bytes_of(floats({9, 9, 9, 9})));
  EXPECT_EQ(bytes_of(read.model.tensor("other")), bytes_of(floats({1, 2, 3, 4})));
  EXPECT_EQ(bytes_of(read.model.tensor("half")), bytes_of(floats({1, 2})));
}

TEST(CheckpointTest, TensorsCalledLikeTheMetadataReadBack) {
  const TestFolder test;
  Checkpoint checkpoint;
  const at::Tensor shared = floats({1});
  checkpoint.model.set("pt", shared);
  save_checkpoint(test / "x", checkpoint);
  EXPECT_EQ(load_checkpoint(test / "x").model.size(), 1u);
  checkpoint.model.set("format", shared);
  save_checkpoint(test / "x", checkpoint);
  EXPECT_EQ(load_checkpoint(test / "x").model.size(), 2u);
}

TEST(CheckpointTest, AnyFlippedBitIsRefused) {
  const TestFolder test;
  save_checkpoint(test / "x", make_checkpoint(7));
  for (const std::string& name : names_in(test / "x")) {
    const fs::path file = test / ("x/" + name);
    const std::string good = read_bytes(file);
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
      write_bytes(file, bad);
      EXPECT_THROW(load_checkpoint(test / "x"), CheckpointError) << name << ", byte " << i;
    }
    write_bytes(file, good);
  }
  EXPECT_EQ(value_in(test / "x"), 7);
}

TEST(CheckpointTest, MissingFilesAreRefused) {
  const TestFolder test;
  save_checkpoint(test / "x", make_checkpoint(7));
  for (const std::string& name : names_in(test / "x")) {
    fs::rename(test / ("x/" + name), test / "kept");
    EXPECT_THAT(checkpoint_error_of([&] { load_checkpoint(test / "x"); }), HasSubstr(name + " is missing"));
    fs::rename(test / "kept", test / ("x/" + name));
  }
  EXPECT_THAT(checkpoint_error_of([&] { load_checkpoint(test / "y"); }),
              HasSubstr("there is no folder " + (test / "y").string()));
}

TEST(CheckpointTest, ManifestThatListsTooLittleIsRefused) {
  const TestFolder test;
  fs::create_directory(test / "x");
  write_bytes(test / "x/manifest.json", R"({"format": 1, "files": {}})");
  EXPECT_THAT(checkpoint_error_of([&] { load_checkpoint(test / "x"); }),
              HasSubstr("the manifest does not list model.safetensors"));
}

TEST(CheckpointTest, UndefinedTensorIsNamedAndTheOlderCheckpointKept) {
  const TestFolder test;
  save_checkpoint(test / "x", make_checkpoint(1));
  Checkpoint bad = make_checkpoint(2);
  bad.optimizer.set("fc.bias.exp_avg", at::Tensor());
  EXPECT_THAT(checkpoint_error_of([&] { save_checkpoint(test / "x", bad); }),
              AllOf(HasSubstr("fc.bias.exp_avg"), HasSubstr("it is undefined")));
  EXPECT_EQ(value_in(test / "x"), 1);
  EXPECT_THAT(test.names(), ElementsAre("x"));
}

// Until it is destroyed, no file may grow beyond a size: a write then fails as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t num_bytes) {
    old_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    rlimit limit = old_limit_;
    limit.rlim_cur = num_bytes;
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    ::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_limit_ = {};
  sighandler_t old_handler_ = nullptr;
};

// A checkpoint each of whose files, in the order of writing, is larger than those before.
Checkpoint make_growing_checkpoint(int64_t value) {
  Checkpoint checkpoint;
  checkpoint.model.set("w", floats({1}));
  checkpoint.optimizer.set("w", floats(std::vector<float>(20, 1)));
  checkpoint.run.set("rng", floats(std::vector<float>(40, 1)));
  checkpoint.run.set("loop.step", value);
  checkpoint.run.set("text", std::string(250, 'a'));
  return checkpoint;
}

TEST(CheckpointTest, FailedWriteIsReportedAndTheOlderCheckpointKept) {
  const TestFolder test;
  save_checkpoint(test / "x", make_growing_checkpoint(1));
  std::vector<std::string> failed_files;
  std::string text = "not tried";
  for (rlim_t limit = 0; !text.empty() && limit < 1000; ++limit) {
    SCOPED_TRACE(limit);
    text.clear();
    {
      const FileSizeLimit file_size_limit(limit);
      try {
        save_checkpoint(test / "x", make_growing_checkpoint(2));
      } catch (const CheckpointError& error) {
        text = error.what();
      }
    }
    ASSERT_THAT(test.names(), ElementsAre("x"));
    if (text.empty()) break;
    ASSERT_EQ(value_in(test / "x"), 1);
    ASSERT_THAT(text, AllOf(HasSubstr("cannot write " + (test / ".x.tmp-").string()), HasSubstr(": File too large")));
    const size_t end = text.find(": File too large");
    const size_t begin = text.rfind('/', end) + 1;
    const std::string file = text.substr(begin, end - begin);
    if (failed_files.empty() || failed_files.back() != file) failed_files.push_back(file);
  }
  EXPECT_THAT(failed_files, ElementsAre("model.safetensors", "optimizer.safetensors", "run.safetensors", "state.json",
                                        "manifest.json"));
  EXPECT_EQ(value_in(test / "x"), 2);
}

TEST(CheckpointTest, BackupIsLoadedWhereTheFolderIsGone) {
  const TestFolder test;
  save_checkpoint(test / "x", make_checkpoint(1));
  fs::rename(test / "x", make_backup_name(test / "x"));
  EXPECT_EQ(value_in(test / "x"), 1);
}

}  // namespace
}  // namespace levin
