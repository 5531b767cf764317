#include "trainer/checkpoint_writer.h"

#include <ATen/ops/ones.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "tests/trainer/checkpoint/test_files.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

Checkpoint small_checkpoint() {
  Checkpoint checkpoint;
  checkpoint.model.set("w", at::ones({2}));
  checkpoint.run.set("epoch", int64_t{0});
  return checkpoint;
}

// The changes of visible names in a folder, in their order: what a kill at any moment may leave is a start of the list.
class NameChanges {
 public:
  explicit NameChanges(const fs::path& folder) : watch_(inotify_init1(IN_NONBLOCK)) {
    EXPECT_GE(inotify_add_watch(watch_, folder.c_str(), IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM), 0);
  }
  ~NameChanges() { ::close(watch_); }
  NameChanges(const NameChanges&) = delete;
  NameChanges& operator=(const NameChanges&) = delete;

  Names read() const {
    Names changes;
    alignas(inotify_event) std::array<char, 16384> buffer = {};
    const ssize_t size = ::read(watch_, buffer.data(), buffer.size());
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      if (event->name[0] != '.')
        changes.push_back(((event->mask & IN_DELETE) != 0 ? "-" : "+") + std::string(event->name));
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
    return changes;
  }

 private:
  int watch_;
};

class CheckpointWriterTest : public testing::Test {
 protected:
  void save(const std::string& name, const SaveOptions& options = {}) {
    writer_.submit(folder_ / name, small_checkpoint(), options);
    writer_.wait();
  }
  // What a save that replaces "old" does, with both links.
  SaveOptions replacing_old() const {
    return {.links = {{folder_ / "last", "new"}, {folder_ / "best", "new"}}, .replaces = {folder_ / "old"}};
  }

  TestFolder folder_;
  CheckpointWriter writer_;
};

TEST_F(CheckpointWriterTest, LinksMoveAfterTheNewFolderAndBeforeTheOldOneGoes) {
  save("old", {.links = {{folder_ / "last", "old"}, {folder_ / "best", "old"}}});
  const NameChanges changes(folder_.path());
  save("new", replacing_old());
  EXPECT_EQ(changes.read(), Names({"+new", "+last", "+best", "-old"}));
  EXPECT_EQ(fs::read_symlink(folder_ / "last"), "new");
  EXPECT_EQ(folder_.names(), Names({"best", "last", "new"}));
}

// A failure between the steps: no link dangles, and the new checkpoint counts.
TEST_F(CheckpointWriterTest, LinkThatCannotMoveKeepsTheOlderFolder) {
  save("old", {.links = {{folder_ / "last", "old"}}});
  fs::create_directories(folder_ / "best/in_the_way");
  EXPECT_THROW(save("new", replacing_old()), CheckpointError);
  EXPECT_EQ(folder_.names(), Names({"best", "last", "new", "old"}));
  EXPECT_EQ(fs::read_symlink(folder_ / "last"), "new");
  EXPECT_EQ(writer_.last_complete(), folder_ / "new");
}

// A full disk, or the like: all is as it was.
TEST_F(CheckpointWriterTest, CheckpointThatCannotBeWrittenMovesNothing) {
  save("old", {.links = {{folder_ / "last", "old"}, {folder_ / "best", "old"}}});
  write_bytes(folder_ / "new", "a file in the way");
  EXPECT_THROW(save("new", replacing_old()), CheckpointError);
  EXPECT_EQ(fs::read_symlink(folder_ / "last"), "old");
  EXPECT_EQ(fs::read_symlink(folder_ / "best"), "old");
  EXPECT_TRUE(fs::is_directory(folder_ / "old"));
  EXPECT_EQ(writer_.last_complete(), folder_ / "old");
}

TEST_F(CheckpointWriterTest, LinkWhoseTargetIsNotThereStays) {
  save("old", {.links = {{folder_ / "last", "old"}, {folder_ / "best", "gone"}}});
  EXPECT_EQ(folder_.names(), Names({"last", "old"}));
}

}  // namespace
}  // namespace levin
