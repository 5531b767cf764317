#include "trainer/checkpoint/state_json.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/trainer/checkpoint/test_files.h"

namespace levin {
namespace {

using testing::HasSubstr;

const std::filesystem::path kFile = "state.json";

StateDict::Value round_trip(StateDict::Value value) {
  StateDict state;
  state.set("x", std::move(value));
  const NamedStates read = scalars_from_json(scalars_to_json({{"run", state}}, kFile), kFile);
  return read.at(0).second.begin()->second;
}

std::string error_of(const std::string& text) {
  const std::string error = checkpoint_error_of([&] { scalars_from_json(text, kFile); });
  EXPECT_THAT(error, HasSubstr("state.json"));
  return error;
}

TEST(StateJsonTest, TextIsAsDocumented) {
  StateDict run;
  run.set("loop.epoch", int64_t{3});
  run.set("weights", floats({1}));
  run.set("best", 0.5);
  run.set("whole", 2.0);
  run.set("worst", std::numeric_limits<double>::infinity());
  run.set("name", std::string("gpt"));
  run.set("raw", std::string("a\xff", 2));
  EXPECT_EQ(scalars_to_json({{"run", run}, {"model", {}}}, kFile), R"({
  "format": 1,
  "run": {
    "loop.epoch": 3,
    "best": 0.5,
    "whole": 2.0,
    "worst": {
      "f64": "7ff0000000000000"
    },
    "name": "gpt",
    "raw": {
      "bytes": "61ff"
    }
  },
  "model": {}
}
)");
}

TEST(StateJsonTest, IntegersReadBackAsIntegers) {
  for (const int64_t value : {int64_t{0}, int64_t{-1}, (int64_t{1} << 53) + 1, std::numeric_limits<int64_t>::max(),
                              std::numeric_limits<int64_t>::min()}) {
    EXPECT_EQ(std::get<int64_t>(round_trip(value)), value);
  }
}

TEST(StateJsonTest, DoublesReadBackBitEqual) {
  std::vector<double> values = {0.0,
                                -0.0,
                                1.0,
                                -3.0,
                                0.1,
                                1e22,
                                1e300,
                                5e-324,
                                2.2250738585072014e-308,
                                std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN(),
                                std::bit_cast<double>(uint64_t{0xfff0000000000123})};
  std::mt19937_64 engine(1);
  for (int i = 0; i < 10000; ++i) values.push_back(std::bit_cast<double>(engine()));
  for (const double value : values) {
    const StateDict::Value read = round_trip(value);
    ASSERT_TRUE(std::holds_alternative<double>(read)) << value;
    EXPECT_EQ(std::bit_cast<uint64_t>(std::get<double>(read)), std::bit_cast<uint64_t>(value)) << value;
  }
}

TEST(StateJsonTest, TextsReadBackByteEqual) {
  const std::string all_bytes = [] {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
    return bytes;
  }();
  for (const std::string& text :
       {std::string(), std::string("3"), std::string("{\"f64\": \"\"}"), std::string("a\0b", 3),
        std::string("\xc3\xa4\n\"\\"), std::string("\xed\xa0\x80"), all_bytes}) {
    EXPECT_EQ(std::get<std::string>(round_trip(text)), text);
  }
}

TEST(StateJsonTest, OrderOfEntriesIsKept) {
  StateDict state;
  for (const char* name : {"z", "a", "m", ""}) state.set(name, int64_t{1});
  const NamedStates read = scalars_from_json(scalars_to_json({{"run", state}, {"a", state}}, kFile), kFile);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].first, "run");
  std::vector<std::string> names;
  for (const auto& [name, value] : read[0].second) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre("z", "a", "m", ""));
}

TEST(StateJsonTest, NamesThatAreNotUtf8AreRefused) {
  StateDict state;
  state.set("\xff", int64_t{1});
  const std::string text = checkpoint_error_of([&] { scalars_to_json({{"run", state}}, kFile); });
  EXPECT_THAT(text, HasSubstr("cannot write state.json: the name of an entry is not UTF-8"));
}

TEST(StateJsonTest, MalformedTextIsRefused) {
  EXPECT_THAT(error_of("{"), HasSubstr("invalid JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("must be an object, got array"));
  EXPECT_THAT(error_of("{}"), HasSubstr("\"format\" must be 1, got nothing"));
  EXPECT_THAT(error_of(R"({"format": 2})"), HasSubstr("\"format\" must be 1, got 2"));
  EXPECT_THAT(error_of(R"({"format": 1, "run": 3})"), HasSubstr("\"run\" must be an object, got 3"));
  EXPECT_THAT(error_of(R"({"format": 1, "run": {"a": 1, "a": 2}})"), HasSubstr("the key \"a\" twice"));
  for (const char* value : {"true", "null", "[1]", "9223372036854775808", "{}", R"({"f64": 1})", R"({"f64": "7ff"})",
                            R"({"f64": "7ff000000000000g"})", R"({"bytes": "abc"})", R"({"bytes": "zz"})",
                            R"({"bytes": "00", "f64": "00"})", R"({"what": "00"})"}) {
    EXPECT_THAT(error_of(R"({"format": 1, "run": {"loop.x": )" + std::string(value) + "}}"),
                HasSubstr("\"loop.x\" of \"run\" is no saved value"));
  }
}

}  // namespace
}  // namespace levin
