#include "trainer/data/text/split_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <array>
#include <new>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr size_t kStackStart = size_t{32} << 10;
constexpr size_t kStackLimit = size_t{16} << 20;
// As items of a character class: in PCRE2, \s has U+180E too.
constexpr const char* kWhiteSpace = R"(\t-\r\x{85}\p{Z})";

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

[[noreturn]] void throw_bad_pattern(const std::string& pattern, const std::string& reason) {
  throw DataError(fmt::format("[SplitPattern] the split pattern \"{}\" cannot be used: {}.", pattern, reason));
}

/// \s and \S in PCRE2's words.
std::string translate(const std::string& pattern) {
  std::string out;
  bool is_in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      if (escaped == 'S' && is_in_class) throw_bad_pattern(pattern, "\\S in a character class is not supported");
      if (escaped == 's') {
        out += is_in_class ? kWhiteSpace : fmt::format("[{}]", kWhiteSpace);
      } else if (escaped == 'S') {
        out += fmt::format("[^{}]", kWhiteSpace);
      } else {
        out += {c, escaped};
      }
      continue;
    }
    if (c == '[') is_in_class = true;
    if (c == ']') is_in_class = false;
    out.push_back(c);
  }
  return out;
}

}  // namespace

struct SplitPattern::Code {
  pcre2_code* code = nullptr;
  ~Code() { pcre2_code_free(code); }
};

SplitPattern::SplitPattern(const std::string& pattern) : code_(std::make_unique<Code>()) {
  const std::string translated = translate(pattern);
  int error = 0;
  size_t offset = 0;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(), PCRE2_UTF | PCRE2_UCP,
                              &error, &offset, nullptr);
  if (code_->code == nullptr) throw_bad_pattern(pattern, message_of(error));
  // Without a just-in-time compiler it is interpreted, with the same result.
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE);
}

SplitPattern::~SplitPattern() = default;

struct PieceScanner::Match {
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;

  ~Match() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

PieceScanner::PieceScanner(const SplitPattern* pattern) : pattern_(pattern) {
  if (pattern == nullptr) return;
  match_ = std::make_unique<Match>();
  match_->data = pcre2_match_data_create_from_pattern(pattern->code_->code, nullptr);
  match_->context = pcre2_match_context_create(nullptr);
  match_->stack = pcre2_jit_stack_create(kStackStart, kStackLimit, nullptr);
  if (match_->data == nullptr || match_->context == nullptr || match_->stack == nullptr) throw std::bad_alloc();
  pcre2_jit_stack_assign(match_->context, nullptr, match_->stack);
  pcre2_set_match_limit(match_->context, UINT32_MAX);
}

PieceScanner::~PieceScanner() = default;

void PieceScanner::start(std::string_view text) {
  text_ = text;
  position_ = match_begin_ = match_end_ = 0;
}

void PieceScanner::find() {
  match_begin_ = match_end_ = text_.size();
  if (pattern_ == nullptr) return;
  const int found = pcre2_match(pattern_->code_->code, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(),
                                position_, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match_->data, match_->context);
  if (found == PCRE2_ERROR_NOMATCH) return;
  if (found < 0) {
    throw DataError(fmt::format("[Tokenizer] a text of {} bytes cannot be split at byte {}: {}.", text_.size(),
                                position_, message_of(found)));
  }
  const size_t* bounds = pcre2_get_ovector_pointer(match_->data);
  match_begin_ = bounds[0];
  match_end_ = bounds[1];
}

std::string_view PieceScanner::next() {
  if (position_ == match_end_ && position_ < text_.size()) find();
  const size_t begin = position_;
  position_ = begin < match_begin_ ? match_begin_ : match_end_;
  return text_.substr(begin, position_ - begin);
}

}  // namespace levin
