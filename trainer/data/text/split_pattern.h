#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace levin {

/// A regular expression that cuts text into pieces: each match is one, and so is what lies between two. It has the
/// syntax of PCRE2 with Unicode properties; \s is the property White_Space. Patterns are safe to share by threads.
class SplitPattern {
 public:
  /// Errors: DataError with the pattern and what is wrong with it.
  explicit SplitPattern(const std::string& pattern);
  ~SplitPattern();
  SplitPattern(const SplitPattern&) = delete;
  SplitPattern& operator=(const SplitPattern&) = delete;

 private:
  friend class PieceScanner;
  struct Code;
  std::unique_ptr<Code> code_;
};

/// Goes through a text piece by piece. Used by one thread at a time.
class PieceScanner {
 public:
  /// pattern: borrowed; nullptr makes the whole text one piece.
  explicit PieceScanner(const SplitPattern* pattern);
  ~PieceScanner();

  /// Begins a text, which is borrowed and must be UTF-8.
  void start(std::string_view text);
  /// The next piece; empty at the end. Errors: DataError if the expression needs too much memory or time.
  std::string_view next();

 private:
  struct Match;
  /// Finds the next match from position_ on; the end of the text if there is none.
  void find();

  const SplitPattern* pattern_;
  std::unique_ptr<Match> match_;
  std::string_view text_;
  size_t position_ = 0;     // what lies before has been returned
  size_t match_begin_ = 0;  // of the match that has been found but not returned
  size_t match_end_ = 0;
};

}  // namespace levin
