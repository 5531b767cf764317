#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>

namespace levin {

/// What a display writes to, what it can show, and the clock beside it. Tests replace it.
class Console {
 public:
  virtual ~Console() = default;
  /// Writes the text at once. A failed write is ignored: a display does not end a run.
  virtual void write(std::string_view text) = 0;
  /// True if a line can be drawn again in place, with "\r" and escape codes.
  virtual bool is_terminal() const = 0;
  virtual bool has_colors() const = 0;
  virtual bool is_utf8() const = 0;
  /// Width of the terminal; 80 where it is not known.
  virtual int64_t num_columns() const = 0;
  /// Seconds on a clock that never goes back.
  virtual double now_s() const = 0;
};

/// A stream, for example stderr. It is borrowed, must outlive the console, and may be a terminal.
///
/// Colors: on a terminal, unless the environment has NO_COLOR (any text but ""; https://no-color.org). TERM=dumb is no
/// terminal. UTF-8: if the first set one of LC_ALL, LC_CTYPE and LANG says so.
class StreamConsole final : public Console {
 public:
  explicit StreamConsole(std::FILE* stream);

  void write(std::string_view text) override;
  bool is_terminal() const override { return is_terminal_; }
  bool has_colors() const override { return has_colors_; }
  bool is_utf8() const override { return is_utf8_; }
  int64_t num_columns() const override;
  double now_s() const override;

 private:
  std::FILE* stream_;
  bool is_terminal_;
  bool has_colors_;
  bool is_utf8_;
};

/// The console on stderr, where results on stdout stay clean.
std::shared_ptr<Console> stderr_console();

}  // namespace levin
