#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "callbacks/console.h"

namespace levin {

// Keeps what is written, on a clock that stands still unless the test moves it.
class FakeConsole final : public Console {
 public:
  explicit FakeConsole(bool is_a_terminal) : is_a_terminal_(is_a_terminal) {}

  void write(std::string_view text) override { written += text; }
  bool is_terminal() const override { return is_a_terminal_; }
  bool has_colors() const override { return false; }
  bool is_utf8() const override { return false; }
  int64_t num_columns() const override { return columns; }
  double now_s() const override { return now; }

  // What was written since the last call.
  std::string take() { return std::exchange(written, ""); }

  std::string written;
  int64_t columns = 80;
  double now = 1000.0;

 private:
  bool is_a_terminal_;
};

}  // namespace levin
