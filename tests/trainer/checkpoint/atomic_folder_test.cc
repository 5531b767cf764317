#include "trainer/checkpoint/atomic_folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "tests/trainer/checkpoint/test_files.h"
#include "trainer/checkpoint/temporary_folder.h"

namespace levin {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

void write_folder(const fs::path& path, const std::string& text) {
  AtomicFolder folder(path);
  folder.write_file("a.txt", [&](FileWriter& writer) { writer.write(text); });
  folder.commit();
}

// The id of a process that has ended.
pid_t ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

// `path`, which this process made, renamed as if a process that has ended had made it.
fs::path abandon(const fs::path& path) {
  std::string name = path.filename();
  const std::string own = "-" + std::to_string(::getpid()) + "-";
  name.replace(name.find(own), own.size(), "-" + std::to_string(ended_process()) + "-");
  fs::rename(path, path.parent_path() / name);
  return path.parent_path() / name;
}

TEST(AtomicFolderTest, CommittedFolderHasItsFilesAndVerifies) {
  const TestFolder test;
  write_folder(test / "x", "hello");
  EXPECT_THAT(test.names(), ElementsAre("x"));
  EXPECT_EQ(read_bytes(test / "x/a.txt"), "hello");
  const Manifest manifest = verify_folder(test / "x");
  ASSERT_EQ(manifest.size(), 1u);
  EXPECT_EQ(manifest.at("a.txt").size, 5u);
}

TEST(AtomicFolderTest, ManifestIsAsDocumented) {
  const TestFolder test;
  write_folder(test / "x", "");
  // 2d06800538d394c2 is XXH3_64bits of no bytes with seed 0, from the specification of xxHash.
  EXPECT_EQ(read_bytes(test / "x/manifest.json"), R"({
  "format": 1,
  "files": {
    "a.txt": {
      "size": 0,
      "xxh3_64": "2d06800538d394c2"
    }
  }
}
)");
}

TEST(AtomicFolderTest, NothingIsLeftWithoutCommit) {
  const TestFolder test;
  {
    AtomicFolder folder(test / "x");
    folder.write_file("a.txt", [](FileWriter& writer) { writer.write("hello"); });
    EXPECT_FALSE(fs::exists(test / "x"));
    EXPECT_EQ(test.names().size(), 1u);
  }
  EXPECT_THAT(test.names(), IsEmpty());
}

TEST(AtomicFolderTest, OlderFolderIsReplacedAsAWhole) {
  const TestFolder test;
  {
    AtomicFolder folder(test / "x");
    folder.write_file("old.txt", [](FileWriter& writer) { writer.write("old"); });
    folder.commit();
  }
  write_folder(test / "x", "new");
  EXPECT_THAT(test.names(), ElementsAre("x"));
  EXPECT_FALSE(fs::exists(test / "x/old.txt"));
  EXPECT_EQ(read_bytes(test / "x/a.txt"), "new");
}

TEST(AtomicFolderTest, FilesystemWithoutExchangeReplacesToo) {
  const TestFolder test;
  write_folder(test / "x", "old");
  write_folder(test / "y", "new");
  internal::replace_folder(test / "y", test / "x", /*try_exchange=*/false);
  EXPECT_THAT(test.names(), ElementsAre("x"));
  EXPECT_EQ(read_bytes(test / "x/a.txt"), "new");
}

TEST(AtomicFolderTest, FailedReplacementPutsTheOlderFolderBack) {
  const TestFolder test;
  write_folder(test / "x", "old");
  EXPECT_THAT(checkpoint_error_of([&] { internal::replace_folder(test / "none", test / "x", false); }),
              HasSubstr("cannot rename to its final name " + (test / "none").string()));
  EXPECT_THAT(test.names(), ElementsAre("x"));
  EXPECT_EQ(read_bytes(test / "x/a.txt"), "old");
}

TEST(AtomicFolderTest, BackupStandsInForAFolderThatIsGone) {
  const TestFolder test;
  write_folder(test / "x", "old");
  EXPECT_EQ(find_folder(test / "x"), test / "x");
  const fs::path backup = make_backup_name(test / "x");
  fs::rename(test / "x", backup);
  EXPECT_EQ(find_folder(test / "x"), backup);
  EXPECT_EQ(find_folder(test / "y"), test / "y");
  EXPECT_EQ(find_folder(test.path().string() + "/x/"), backup);
}

TEST(AtomicFolderTest, AbandonedBackupGetsItsNameBack) {
  const TestFolder test;
  write_folder(test / "x", "old");
  const fs::path backup = make_backup_name(test / "x");
  fs::rename(test / "x", backup);
  abandon(backup);
  const AtomicFolder another(test / "y");
  EXPECT_EQ(read_bytes(test / "x/a.txt"), "old");
}

TEST(AtomicFolderTest, AbandonedBackupOfAPresentFolderIsRemoved) {
  const TestFolder test;
  write_folder(test / "x", "old");
  const fs::path backup = make_backup_name(test / "x");
  fs::rename(test / "x", backup);
  abandon(backup);
  write_folder(test / "z", "new");  // gives x its name back; so make another one
  write_folder(test / "other", "older");
  fs::rename(test / "other", backup);
  abandon(backup);
  clean_up_temporaries(test.path());
  EXPECT_THAT(test.names(), ElementsAre("x", "z"));
  EXPECT_EQ(read_bytes(test / "x/a.txt"), "old");
}

TEST(AtomicFolderTest, TemporariesOfEndedProcessesAreRemovedAndOthersKept) {
  const TestFolder test;
  const fs::path own = make_temporary_name(test / "x");
  const fs::path ended = make_temporary_name(test / "x");
  for (const auto& path : {own, ended}) {
    fs::create_directory(path);
    write_bytes(path / "a.txt", "part");
  }
  abandon(ended);
  for (const char* name : {".x.tmp", ".x.tmp-1", "x.tmp-0123456789abcdef-1-1-1", ".hidden"}) {
    fs::create_directory(test / name);
  }
  clean_up_temporaries(test.path());
  EXPECT_THAT(test.names(), testing::UnorderedElementsAre(own.filename().string(), ".x.tmp", ".x.tmp-1",
                                                          "x.tmp-0123456789abcdef-1-1-1", ".hidden"));
}

TEST(AtomicFolderTest, ProcessWithAReusedIdIsNotTakenForTheOwner) {
  const TestFolder test;
  std::string name = make_temporary_name(test / "x").filename();
  // Fields: ".x.tmp", machine, process id, start time, count. The start time 1 is that of no process in this test.
  const size_t count = name.rfind('-');
  const size_t start_time = name.rfind('-', count - 1);
  name.replace(start_time + 1, count - start_time - 1, "1");
  fs::create_directory(test / name);
  clean_up_temporaries(test.path());
  EXPECT_THAT(test.names(), IsEmpty());
}

TEST(AtomicFolderTest, TemporariesOfOtherMachinesAreKeptForADay) {
  const TestFolder test;
  const std::string fresh = ".x.tmp-0123456789abcdef-1-1-0";
  const std::string stale = ".x.tmp-0123456789abcdef-1-1-1";
  fs::create_directory(test / fresh);
  fs::create_directory(test / stale);
  fs::last_write_time(test / stale, fs::file_time_type::clock::now() - std::chrono::hours(25));
  clean_up_temporaries(test.path());
  EXPECT_THAT(test.names(), ElementsAre(fresh));
}

TEST(AtomicFolderTest, FoldersAboveAreCreated) {
  const TestFolder test;
  write_folder(test / "a/b/c", "hello");
  EXPECT_EQ(read_bytes(test / "a/b/c/a.txt"), "hello");
}

TEST(AtomicFolderTest, SlashesAndDotsInTheNameAreFine) {
  const TestFolder test;
  write_folder(test.path().string() + "/./y/../x//", "hello");
  EXPECT_THAT(test.names(), ElementsAre("x"));
}

TEST(AtomicFolderTest, RelativeNamesAreFine) {
  const TestFolder test;
  const fs::path before = fs::current_path();
  fs::current_path(test.path());
  write_folder("x", "old");
  write_folder("x", "new");
  fs::current_path(before);
  EXPECT_THAT(test.names(), ElementsAre("x"));
  EXPECT_EQ(read_bytes(test / "x/a.txt"), "new");
}

TEST(AtomicFolderTest, NamesOfNoFolderAreRefused) {
  for (const char* name : {"", ".", "/", "..", "a/../.."}) {
    EXPECT_THAT(checkpoint_error_of([&] { AtomicFolder folder(name); }),
                HasSubstr("\"" + std::string(name) + "\" is not the name of a folder to write"));
  }
}

TEST(AtomicFolderTest, WhatIsNoCheckpointIsNotReplaced) {
  const TestFolder test;
  write_bytes(test / "file", "precious");
  EXPECT_THAT(checkpoint_error_of([&] { write_folder(test / "file", "new"); }), HasSubstr("is not a folder"));
  fs::create_directory(test / "photos");
  write_bytes(test / "photos/a.jpg", "precious");
  EXPECT_THAT(checkpoint_error_of([&] { write_folder(test / "photos", "new"); }),
              AllOf(HasSubstr((test / "photos").string()), HasSubstr("a folder without manifest.json")));
  EXPECT_EQ(read_bytes(test / "photos/a.jpg"), "precious");
  EXPECT_THAT(test.names(), ElementsAre("file", "photos"));
}

TEST(AtomicFolderTest, EmptyFolderIsReplaced) {
  const TestFolder test;
  fs::create_directory(test / "x");
  write_folder(test / "x", "new");
  EXPECT_EQ(read_bytes(test / "x/a.txt"), "new");
}

TEST(AtomicFolderTest, FileNamesThatLeadOutOrOccurTwiceAreRefused) {
  const TestFolder test;
  AtomicFolder folder(test / "x");
  const auto nothing = [](FileWriter&) {};
  folder.write_file("a", nothing);
  for (const char* name : {"a", "", "../b", "manifest.json"}) {
    EXPECT_THROW(folder.write_file(name, nothing), InternalError) << name;
  }
}

TEST(AtomicFolderTest, FolderThatCannotBeCreatedIsReported) {
  const TestFolder test;
  write_bytes(test / "file", "");
  EXPECT_THAT(checkpoint_error_of([&] { write_folder(test / "file/x", "new"); }),
              HasSubstr("cannot create the folder " + (test / "file").string() + "/"));
}

TEST(VerifyFolderTest, EachDamagedFileIsNamed) {
  const TestFolder test;
  AtomicFolder folder(test / "x");
  for (const char* name : {"cut", "flipped", "gone", "good"}) {
    folder.write_file(name, [&](FileWriter& writer) { writer.write("content"); });
  }
  folder.commit();
  write_bytes(test / "x/cut", "conten");
  write_bytes(test / "x/flipped", "cOntent");
  fs::remove(test / "x/gone");
  const std::string text = checkpoint_error_of([&] { verify_folder(test / "x"); });
  EXPECT_THAT(text, AllOf(HasSubstr((test / "x").string()), HasSubstr("cut has 6 bytes, not 7"),
                          HasSubstr("flipped has the checksum"), HasSubstr("gone is missing")));
  EXPECT_THAT(text, testing::Not(HasSubstr("good")));
}

TEST(VerifyFolderTest, MissingFolderAndManifestAreNamed) {
  const TestFolder test;
  EXPECT_THAT(checkpoint_error_of([&] { verify_folder(test / "x"); }),
              HasSubstr("there is no folder " + (test / "x").string()));
  write_folder(test / "x", "hello");
  fs::remove(test / "x/manifest.json");
  EXPECT_THAT(checkpoint_error_of([&] { verify_folder(test / "x"); }),
              HasSubstr("manifest.json is missing, so this is not a complete checkpoint"));
}

TEST(VerifyFolderTest, MalformedManifestsAreRefused) {
  const TestFolder test;
  fs::create_directory(test / "x");
  const auto error_of = [&](const std::string& manifest) {
    write_bytes(test / "x/manifest.json", manifest);
    return checkpoint_error_of([&] { verify_folder(test / "x"); });
  };
  EXPECT_THAT(error_of(""), HasSubstr("invalid JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("must be an object, got array"));
  EXPECT_THAT(error_of("{}"), HasSubstr("\"format\" must be 1, got nothing"));
  EXPECT_THAT(error_of(R"({"format": 2, "files": {}})"), HasSubstr("\"format\" must be 1, got 2"));
  EXPECT_THAT(error_of(R"({"format": 1})"), HasSubstr("\"files\" is missing"));
  EXPECT_THAT(error_of(R"({"format": 1, "files": {"a": {"size": 0}}})"), HasSubstr("the entry of \"a\" must have"));
  EXPECT_THAT(error_of(R"({"format": 1, "files": {"a": {"size": -1, "xxh3_64": ""}}})"), HasSubstr("must have"));
  EXPECT_THAT(error_of(R"({"format": 1, "files": {"../a": {"size": 0, "xxh3_64": ""}}})"),
              HasSubstr("\"../a\" is not the name of a file in this folder"));
  EXPECT_THAT(error_of(R"({"format": 1, "files": {"..": {"size": 0, "xxh3_64": ""}}})"), HasSubstr("is not the name"));
}

TEST(FileWriterTest, DigestIsThatOfTheFile) {
  const TestFolder test;
  FileWriter writer(test / "a");
  std::string text;
  for (int i = 0; i < 300000; ++i) text += static_cast<char>(i * 7 % 251);
  for (size_t i = 0; i < text.size(); i += 12345) writer.write(text.substr(i, 12345));
  const FileDigest digest = writer.finish();
  EXPECT_EQ(read_bytes(test / "a"), text);
  EXPECT_EQ(digest.size, text.size());
  EXPECT_EQ(digest, digest_file(test / "a"));
}

}  // namespace
}  // namespace levin
