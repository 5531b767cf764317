#include "trainer/config/tokenize_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "callbacks/bar_line.h"
#include "trainer/core/error.h"
#include "trainer/data/text/tokenizer.h"
#include "trainer/data/tokens/token_file_writer.h"
#include "trainer/signal_watch.h"

namespace levin {
namespace {

constexpr double kRefreshSeconds = 0.1;
constexpr double kLineSeconds = 5.0;

/// Ends the work; caught below.
struct Interrupted {};

int64_t megabytes(int64_t bytes) { return (bytes + 999'999) / 1'000'000; }

/// Counts megabytes of the files, as they lie on the disk.
class TokenizeBar {
 public:
  explicit TokenizeBar(Console& console) : console_(console), start_s_(console.now_s()) {
    next_s_ = start_s_ + (console_.is_terminal() ? kRefreshSeconds : kLineSeconds);
  }
  ~TokenizeBar() {
    if (is_open_) console_.write("\n");
  }
  TokenizeBar(const TokenizeBar&) = delete;
  TokenizeBar& operator=(const TokenizeBar&) = delete;

  void show(const TokenizeProgress& progress, bool is_final) {
    const double now = console_.now_s();
    if (now < next_s_ && !is_final) return;
    const bool is_terminal = console_.is_terminal();
    next_s_ = now + (is_terminal ? kRefreshSeconds : kLineSeconds);
    const BarLine line = make_line(progress, now - start_s_, is_final);
    if (!is_terminal) return console_.write(format_plain_line(line) + "\n");
    const BarStyle style = {console_.num_columns(), console_.is_utf8(), console_.has_colors()};
    console_.write("\r" + format_bar_line(line, style) + "\x1b[K");
    is_open_ = true;
  }

 private:
  static BarLine make_line(const TokenizeProgress& progress, double elapsed_s, bool is_final) {
    BarLine line;
    line.label = "Tokenize";
    line.num_done = megabytes(progress.disk_bytes);
    line.total = megabytes(progress.total_disk_bytes);
    line.unit = "MB";
    line.elapsed_s = elapsed_s;
    // Of less it would say nothing.
    if (elapsed_s > 0.0 && progress.disk_bytes >= 1'000'000)
      line.rate = static_cast<double>(progress.disk_bytes) / 1e6 / elapsed_s;
    line.is_final = is_final;
    line.metrics.set("million_tokens", static_cast<double>(progress.num_tokens) / 1e6);
    return line;
  }

  Console& console_;
  double start_s_;
  double next_s_;
  bool is_open_ = false;
};

std::optional<uint32_t> choose_end_of_text(const TokenizeArguments& arguments, const Tokenizer& tokenizer) {
  if (arguments.end_of_text == "none") return std::nullopt;
  const auto token = arguments.end_of_text ? tokenizer.find_token(*arguments.end_of_text) : tokenizer.end_of_text();
  if (token) return token;
  if (arguments.end_of_text) {
    throw ConfigError(fmt::format("the tokenizer {} has no added token \"{}\" for --end-of-text.", tokenizer.name(),
                                  *arguments.end_of_text));
  }
  throw ConfigError(fmt::format(
      "the tokenizer {} has none of the usual tokens for the end of text. Name the one that stands after each document "
      "with --end-of-text, or give --end-of-text none.",
      tokenizer.name()));
}

void check_output(const TokenizeArguments& arguments) {
  for (const std::string& file : arguments.files) {
    std::error_code ignored;  // a file that is missing is found later
    if (!std::filesystem::equivalent(file, arguments.output, ignored)) continue;
    throw ConfigError(fmt::format("--output {} is one of the text files.", arguments.output));
  }
}

}  // namespace

TokenizeResult tokenize_to_file(const TokenizeArguments& arguments, Console& console) {
  check_output(arguments);
  const auto tokenizer = load_tokenizer(arguments.tokenizer);
  const TokenizeOptions options = {.documents = document_options(arguments.documents, arguments.separator),
                                   .end_of_text = choose_end_of_text(arguments, *tokenizer),
                                   .num_threads = arguments.num_threads};
  const TokenType type = smallest_token_type(tokenizer->vocab_size());
  TokenFileWriter writer(arguments.output, {.type = type,
                                            .vocab_size = tokenizer->vocab_size(),
                                            .tokenizer = tokenizer->name(),
                                            .end_of_text = options.end_of_text});
  TokenizeResult result;
  result.type = token_type_name(type);
  const SignalWatch watch(/*is_enabled=*/true);
  TokenizeBar bar(console);
  const std::vector<std::filesystem::path> files(arguments.files.begin(), arguments.files.end());
  try {
    result.done = tokenize_files(
        *tokenizer, files, options, [&](std::span<const uint32_t> tokens) { writer.append(tokens); },
        [&](const TokenizeProgress& progress) {
          if (SignalWatch::received() != 0) throw Interrupted();
          bar.show(progress, /*is_final=*/false);
        });
  } catch (const Interrupted&) {
    result.signal = SignalWatch::received();
    return result;
  }
  if (result.done.num_tokens == 0) throw DataError("[tokenize] the text files have no text, so there are no tokens.");
  writer.close();
  bar.show(result.done, /*is_final=*/true);
  return result;
}

}  // namespace levin
