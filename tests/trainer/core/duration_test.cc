#include "trainer/core/duration.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/trainer/core/error_text.h"
#include "trainer/core/error.h"

namespace levin {
namespace {

struct Case {
  const char* text;
  double seconds;
};

TEST(DurationTest, ReadsBothForms) {
  const std::vector<Case> cases = {
      {"00:00:00:00", 0.0},
      {"00:00:01:30", 90.0},
      {"01:02:03:04", 93784.0},
      {"7:00:00:00", 604800.0},
      {"00:36:00:00", 129600.0},
      {"90s", 90.0},
      {"10m", 600.0},
      {"2h", 7200.0},
      {"1d", 86400.0},
      {"1.5h", 5400.0},
      {".5s", 0.5},
      {"0s", 0.0},
      {"  10m\n", 600.0},
      {"999999999:00:00:00", 86399999913600.0},
  };
  for (const Case& c : cases) EXPECT_EQ(parse_duration(c.text).count(), c.seconds) << c.text;
}

TEST(DurationTest, RefusesAllElse) {
  const std::vector<std::string> cases = {"",
                                          " ",
                                          "10",
                                          "m",
                                          "-10m",
                                          "+10m",
                                          "1e3s",
                                          "nans",
                                          "infh",
                                          "10 m",
                                          "1h30m",
                                          "10x",
                                          "00:10:00",
                                          "00:00:00:00:00",
                                          "00:00:1:00",
                                          "00:00:00:",
                                          ":::",
                                          "-1:00:00:00",
                                          "00:00:00:0a",
                                          "00:00:00:00s",
                                          "1.5:00:00:00",
                                          "1234567890:00:00:00",
                                          "10M",
                                          "0x10s"};
  for (const std::string& text : cases) {
    EXPECT_EQ(try_parse_duration(text), std::nullopt) << text;
    EXPECT_THROW(parse_duration(text), ConfigError) << text;
  }
}

TEST(DurationTest, ErrorNamesTheValueAndTheForm) {
  EXPECT_EQ(error_text<ConfigError>([] { parse_duration("ten"); }),
            "[parse_duration] a duration must be \"DD:HH:MM:SS\" (days, hours, minutes, seconds) or a number with a "
            "unit: 90s, 10m, 2h, 1.5d, got \"ten\".");
}

}  // namespace
}  // namespace levin
