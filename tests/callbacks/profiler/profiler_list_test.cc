#include "callbacks/profiler/profiler_list.h"

#include <gtest/gtest.h>

#include "trainer/core/error.h"

namespace levin {
namespace {

class Recorder final : public Profiler {
 public:
  Recorder(std::string name, std::vector<std::string>& calls) : name_(std::move(name)), calls_(calls) {}

  void start(const std::filesystem::path& run_dir) override { add("start " + run_dir.string()); }
  void stop() override {
    add("stop");
    if (fails) throw OutputError(name_);
  }
  void begin(Section section) override { add("begin " + std::string(section_name(section))); }
  void end(Section section) override { add("end " + std::string(section_name(section))); }
  void end_batch() override { add("end_batch"); }
  std::string report() const override { return text; }

  bool fails = false;
  std::string text;

 private:
  void add(const std::string& call) { calls_.push_back(name_ + " " + call); }

  std::string name_;
  std::vector<std::string>& calls_;
};

TEST(ProfilerListTest, TellsAllInOrder) {
  std::vector<std::string> calls;
  ProfilerList list({std::make_shared<Recorder>("a", calls), std::make_shared<Recorder>("b", calls)});
  list.start("run");
  list.begin(Section::kForward);
  list.end(Section::kForward);
  list.end_batch();
  list.stop();
  EXPECT_EQ(calls, (std::vector<std::string>{"a start run", "b start run", "a begin forward", "b begin forward",
                                             "a end forward", "b end forward", "a end_batch", "b end_batch", "a stop",
                                             "b stop"}));
}

TEST(ProfilerListTest, StopsAllEvenIfOneFails) {
  std::vector<std::string> calls;
  const auto bad = std::make_shared<Recorder>("bad", calls);
  bad->fails = true;
  ProfilerList list({bad, std::make_shared<Recorder>("good", calls)});
  EXPECT_THROW(list.stop(), OutputError);
  EXPECT_EQ(calls, (std::vector<std::string>{"bad stop", "good stop"}));
}

TEST(ProfilerListTest, ReportLeavesOutWhoHasNothingToSay) {
  std::vector<std::string> calls;
  const auto a = std::make_shared<Recorder>("a", calls);
  const auto b = std::make_shared<Recorder>("b", calls);
  const auto c = std::make_shared<Recorder>("c", calls);
  a->text = "one\n";
  c->text = "three\n";
  EXPECT_EQ(ProfilerList({a, b, c}).report(), "one\n\nthree\n");
}

}  // namespace
}  // namespace levin
