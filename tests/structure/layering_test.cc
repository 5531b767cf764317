#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxHeaderLines = 200;
constexpr size_t kMaxSourceLines = 400;

struct Rule {
  std::string folder;
  std::vector<std::string> may_use;
};

// The folder list of architecture.md; the first that fits counts.
const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"trainer/core/", {"trainer/core/"}},
      {"trainer/", {"trainer/", "strategies/", "callbacks/", "kernels/"}},
      {"strategies/", {"strategies/", "trainer/core/", "kernels/"}},
      {"callbacks/", {"callbacks/", "trainer/core/"}},
      {"kernels/", {"kernels/"}},
      {"examples/", {"examples/", "trainer/", "levin.h"}},
      {"levin.h", {"trainer/", "strategies/", "callbacks/", "kernels/"}},
  };
  return all;
}

// Who may write to the terminal or end the process, beside the examples.
bool may_use_terminal(const std::string& path) {
  return path.starts_with("callbacks/console.") || path == "trainer/config/cli.cc" || path.starts_with("examples/");
}

// The text with comments blanked, and the insides of string literals too where asked. Lines stay where they are.
std::string strip(const std::string& text, bool strips_strings) {
  enum class In { kCode, kLine, kBlock, kString, kChar };
  std::string out = text;
  In in = In::kCode;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const std::string_view two = std::string_view(text).substr(i, 2);
    if (in == In::kCode) {
      if (two == "//") in = In::kLine;
      if (two == "/*") in = In::kBlock;
      if (c == '"') in = In::kString;
      // Not the mark in 1'000.
      if (c == '\'' && (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0)) in = In::kChar;
      if (in == In::kLine || in == In::kBlock) out[i] = ' ';
      continue;
    }
    const bool is_comment = in == In::kLine || in == In::kBlock;
    if (c == '\n') {
      if (in == In::kLine) in = In::kCode;
      continue;
    }
    if (in == In::kBlock && two == "*/") {
      out[i] = out[i + 1] = ' ';
      ++i;
      in = In::kCode;
      continue;
    }
    if (!is_comment && c == '\\') {
      if (strips_strings) out[i] = out[i + 1] = ' ';
      ++i;
      continue;
    }
    if ((in == In::kString && c == '"') || (in == In::kChar && c == '\'')) {
      in = In::kCode;
      continue;
    }
    if (is_comment || strips_strings) out[i] = ' ';
  }
  return out;
}

std::vector<std::string> quoted_includes(const std::string& text) {
  static const std::regex include(R"re((?:^|\n)[ \t]*#[ \t]*include[ \t]*"([^"]+)")re");
  const std::string code = strip(text, /*strips_strings=*/false);
  std::vector<std::string> found;
  for (std::sregex_iterator it(code.begin(), code.end(), include), end; it != end; ++it) found.push_back((*it)[1]);
  return found;
}

// `umbrella`: the headers that levin.h shows, which examples may include one by one.
std::vector<std::string> find_bad_includes(const std::string& path, const std::string& text,
                                           const std::set<std::string>& umbrella) {
  const auto rule =
      std::find_if(rules().begin(), rules().end(), [&](const Rule& r) { return path.starts_with(r.folder); });
  if (rule == rules().end()) return {path + ": no rule for this folder"};
  std::vector<std::string> problems;
  for (const std::string& header : quoted_includes(text)) {
    const bool is_allowed = std::any_of(rule->may_use.begin(), rule->may_use.end(),
                                        [&](const std::string& folder) { return header.starts_with(folder); });
    const bool is_shown = path.starts_with("examples/") && umbrella.contains(header);
    if (!is_allowed && !is_shown) problems.push_back(path + " may not include " + header);
  }
  return problems;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The word before `end`, or the last other character.
std::string word_before(const std::string& code, size_t end) {
  while (end > 0 && std::isspace(static_cast<unsigned char>(code[end - 1])) != 0) --end;
  size_t begin = end;
  while (begin > 0 && is_word(code[begin - 1])) --begin;
  return begin == end ? code.substr(end > 0 ? end - 1 : 0, end > 0 ? 1 : 0) : code.substr(begin, end - begin);
}

// True if the free function `name` is called; methods and declarations of that name are none of ours.
bool calls(const std::string& code, const std::string& name) {
  for (size_t at = code.find(name); at != std::string::npos; at = code.find(name, at + 1)) {
    const size_t end = code.find_first_not_of(" \n", at + name.size());
    if (at > 0 && is_word(code[at - 1])) continue;
    if (end == std::string::npos || code[end] != '(') continue;
    const std::string before = word_before(code, at);
    if (before == "." || before == ">") continue;
    if (!before.empty() && is_word(before[0]) && before != "return" && before != "else" && before != "do") continue;
    return true;
  }
  return false;
}

std::vector<std::string> find_terminal_use(const std::string& path, const std::string& text) {
  if (may_use_terminal(path)) return {};
  const std::string code = strip(text, /*strips_strings=*/true);
  std::vector<std::string> problems;
  for (const char* stream : {"std::cout", "std::cerr", "std::clog"}) {
    if (code.find(stream) != std::string::npos) problems.push_back(path + " uses " + stream);
  }
  for (const char* function :
       {"printf", "fprintf", "vprintf", "puts", "putchar", "exit", "_exit", "quick_exit", "abort", "terminate"}) {
    if (calls(code, function)) problems.push_back(path + " calls " + function);
  }
  return problems;
}

// Who makes a Trainer may own it (unique_ptr); nobody else keeps one.
std::vector<std::string> find_held_trainers(const std::string& path, const std::string& text) {
  static const std::regex held(R"(\bTrainer\s*(const\s*)?\*|(shared|weak)_ptr\s*<\s*(const\s+)?(levin::)?Trainer\s*>|)"
                               R"(reference_wrapper\s*<\s*(const\s+)?(levin::)?Trainer\s*>|\bTrainer\s*&\s*\w+_\s*;)");
  if (!std::regex_search(strip(text, /*strips_strings=*/true), held)) return {};
  return {path + " holds a Trainer"};
}

std::vector<std::string> find_excess_length(const std::string& path, const std::string& text) {
  const auto num_lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  const size_t limit = path.ends_with(".h") || path.ends_with(".cuh") ? kMaxHeaderLines : kMaxSourceLines;
  if (num_lines <= limit) return {};
  return {path + " has " + std::to_string(num_lines) + " lines, more than " + std::to_string(limit)};
}

struct Source {
  std::string path;  // from the root of the workspace
  std::string text;
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_TRUE(in.good()) << path;
  return text.str();
}

// The files that Bazel lays out for a test are links to the sources.
fs::path workspace_root() {
  return fs::canonical("tests/structure/layering_test.cc").parent_path().parent_path().parent_path();
}

bool is_source(const fs::path& path) {
  static const std::set<std::string> extensions = {".h", ".cc", ".cu", ".cuh"};
  return extensions.contains(path.extension().string());
}

const std::vector<Source>& library() {
  static const std::vector<Source> all = [] {
    const fs::path root = workspace_root();
    std::vector<Source> sources = {{"levin.h", read(root / "levin.h")}};
    for (const char* folder : {"trainer", "strategies", "callbacks", "kernels", "examples"}) {
      if (!fs::exists(root / folder)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        if (!entry.is_regular_file() || !is_source(entry.path())) continue;
        sources.push_back({entry.path().lexically_relative(root).string(), read(entry.path())});
      }
    }
    return sources;
  }();
  return all;
}

std::set<std::string> umbrella_headers() {
  const std::vector<std::string> headers = quoted_includes(library().front().text);
  return {headers.begin(), headers.end()};
}

template <class Check>
std::string check_library(const Check& check) {
  std::string problems;
  for (const Source& source : library()) {
    for (const std::string& problem : check(source.path, source.text)) problems += problem + "\n";
  }
  return problems;
}

TEST(LayeringTest, TheWholeLibraryIsRead) {
  std::set<std::string> folders;
  for (const Source& source : library()) folders.insert(source.path.substr(0, source.path.find('/')));
  for (const char* folder : {"levin.h", "trainer", "strategies", "callbacks", "examples"}) {
    EXPECT_TRUE(folders.contains(folder)) << folder;
  }
  EXPECT_GT(library().size(), 100u);
}

TEST(LayeringTest, FoldersIncludeOnlyWhatTheyMayUse) {
  const std::set<std::string> umbrella = umbrella_headers();
  EXPECT_GT(umbrella.size(), 10u);
  EXPECT_EQ(check_library([&](const auto& path, const auto& text) { return find_bad_includes(path, text, umbrella); }),
            "");
}

TEST(LayeringTest, TheLibraryNeitherPrintsNorEndsTheProcess) { EXPECT_EQ(check_library(find_terminal_use), ""); }

TEST(LayeringTest, NoClassHoldsATrainer) { EXPECT_EQ(check_library(find_held_trainers), ""); }

TEST(LayeringTest, FilesAreShort) { EXPECT_EQ(check_library(find_excess_length), ""); }

// The checks themselves: each must find what it is there for.
TEST(LayeringTest, BadIncludesAreFound) {
  const auto is_bad = [](const std::string& path, const std::string& header) {
    return !find_bad_includes(path, "#pragma once\n\n#include \"" + header + "\"\n", {"callbacks/callback.h"}).empty();
  };
  EXPECT_TRUE(is_bad("trainer/core/batch.h", "strategies/strategy.h"));
  EXPECT_TRUE(is_bad("trainer/core/batch.h", "trainer/run.h"));
  EXPECT_TRUE(is_bad("strategies/ddp/ddp.cc", "callbacks/callback.h"));
  EXPECT_TRUE(is_bad("callbacks/callback.h", "trainer/run.h"));
  EXPECT_TRUE(is_bad("trainer/run.cc", "tests/trainer/tiny_model.h"));
  EXPECT_TRUE(is_bad("trainer/run.cc", "run.h"));
  EXPECT_TRUE(is_bad("examples/gpt/gpt.cc", "strategies/strategy.h"));
  EXPECT_TRUE(is_bad("newfolder/a.cc", "trainer/core/batch.h"));
  EXPECT_FALSE(is_bad("examples/gpt/gpt.cc", "callbacks/callback.h"));
  EXPECT_FALSE(is_bad("trainer/run.cc", "callbacks/callback.h"));
  EXPECT_TRUE(find_bad_includes("trainer/core/a.h", "// #include \"strategies/strategy.h\"\n", {}).empty());
}

TEST(LayeringTest, TerminalUseIsFound) {
  const auto is_bad = [](const std::string& code) { return !find_terminal_use("trainer/run.cc", code).empty(); };
  EXPECT_TRUE(is_bad("void f() { std::cout << 1; }"));
  EXPECT_TRUE(is_bad("void f() { std::printf(\"a\"); }"));
  EXPECT_TRUE(is_bad("void f() { printf (\"a\"); }"));
  EXPECT_TRUE(is_bad("void f() { if (x) return exit(1); }"));
  EXPECT_TRUE(is_bad("void f() { /* a */ std::abort(); }"));
  EXPECT_FALSE(is_bad("void f() { communicator.abort(); loop->exit(); snprintf(a, 1, b); }"));
  EXPECT_FALSE(is_bad("virtual void abort();"));
  EXPECT_FALSE(is_bad("// exit(1)\nconst char* text = \"printf(\\\"std::cout\\\")\";"));
  EXPECT_TRUE(find_terminal_use("examples/a.cc", "std::cout << 1;").empty());
}

TEST(LayeringTest, HeldTrainersAreFound) {
  const auto is_bad = [](const std::string& code) { return !find_held_trainers("callbacks/a.h", code).empty(); };
  EXPECT_TRUE(is_bad("class A { Trainer* trainer_; };"));
  EXPECT_TRUE(is_bad("class A { const levin::Trainer *trainer; };"));
  EXPECT_TRUE(is_bad("class A { std::shared_ptr<Trainer> trainer_; };"));
  EXPECT_TRUE(is_bad("class A { Trainer& trainer_; };"));
  EXPECT_FALSE(is_bad("void print(const Trainer& trainer); LightningTrainer* other; // no Trainer*"));
}

TEST(LayeringTest, LongFilesAreFound) {
  const auto lines = [](size_t count) { return std::string(count, '\n'); };
  EXPECT_FALSE(find_excess_length("trainer/a.h", lines(kMaxHeaderLines + 1)).empty());
  EXPECT_FALSE(find_excess_length("trainer/a.cc", lines(kMaxSourceLines + 1)).empty());
  EXPECT_TRUE(find_excess_length("trainer/a.h", lines(kMaxHeaderLines)).empty());
}

}  // namespace
