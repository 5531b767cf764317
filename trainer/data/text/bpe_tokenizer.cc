#include "trainer/data/text/bpe_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/data/text/bpe_file.h"
#include "trainer/data/text/piece_cache.h"
#include "trainer/data/text/utf8_chars.h"

namespace levin {
namespace {

// Patterns whose pieces begin for certain at the places that find_cut() looks for. No piece of theirs has a space
// behind another character than white space. A line's end with one neighbour on each side that is no white space
// belongs to what is before it, or is a piece.
bool is_known_pattern(const std::string& pattern) {
  static const std::string llama3 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  static const std::string qwen2 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  return pattern == kByteLevelPattern || pattern == llama3 || pattern == qwen2;
}

/// A cut within the added token cannot be ruled out, whatever stands around it.
bool may_be_cut(std::string_view content) {
  static constexpr std::string_view kSpaces = " \t\n\v\f\r";
  for (size_t i = 1; i < content.size(); ++i) {
    const bool follows_space = kSpaces.find(content[i - 1]) != std::string_view::npos;
    const bool is_space = kSpaces.find(content[i]) != std::string_view::npos;
    if ((content[i] == ' ' && !follows_space) || (content[i - 1] == '\n' && !is_space)) return true;
  }
  return false;
}

}  // namespace

/// Encodes in one thread.
class BpeTokenizer::Worker {
 public:
  explicit Worker(const BpeTokenizer& tokenizer)
      : tokenizer_(tokenizer), scanner_(tokenizer.pattern_ ? &*tokenizer.pattern_ : nullptr) {}

  void encode(std::string_view text, std::vector<uint32_t>& tokens) {
    split(tokenizer_.raw_tokens_, text, tokens, [&](std::string_view part) { encode_raw(part, tokens); });
  }

 private:
  /// Calls encode_part for what lies between added tokens.
  template <class EncodePart>
  void split(const AddedTokenFinder& finder, std::string_view text, std::vector<uint32_t>& tokens,
             const EncodePart& encode_part) {
    size_t begin = 0;
    while (const auto found = finder.find(text, begin)) {
      encode_part(text.substr(begin, found->begin - begin));
      tokens.push_back(found->id);
      begin = found->end;
    }
    encode_part(text.substr(begin));
  }

  void encode_raw(std::string_view text, std::vector<uint32_t>& tokens) {
    if (text.empty()) return;
    std::string normalized;
    if (tokenizer_.uses_nfc_) text = normalized = normalize_nfc(text);
    split(tokenizer_.normalized_tokens_, text, tokens, [&](std::string_view part) { encode_plain(part, tokens); });
  }

  void encode_plain(std::string_view text, std::vector<uint32_t>& tokens) {
    if (text.empty()) return;
    std::string with_space;
    if (tokenizer_.adds_prefix_space_ && text[0] != ' ') text = with_space = " " + std::string(text);
    if (!tokenizer_.pattern_) return encode_piece(text, tokens);
    while (!text.empty()) {
      const size_t valid = utf8_prefix_size(text);
      scanner_.start(text.substr(0, valid));
      for (std::string_view piece = scanner_.next(); !piece.empty(); piece = scanner_.next()) {
        encode_piece(piece, tokens);
      }
      if (valid < text.size()) encode_piece(text.substr(valid, 1), tokens);
      text.remove_prefix(std::min(valid + 1, text.size()));
    }
  }

  void encode_piece(std::string_view piece, std::vector<uint32_t>& tokens) {
    if (cache_.find(piece, tokens)) return;
    word_.clear();
    const auto whole = tokenizer_.whole_pieces_.empty() ? tokenizer_.whole_pieces_.end()
                                                        : tokenizer_.whole_pieces_.find(std::string(piece));
    if (whole != tokenizer_.whole_pieces_.end()) {
      word_.push_back(whole->second);
    } else {
      for (const char byte : piece) word_.push_back(tokenizer_.byte_tokens_[static_cast<unsigned char>(byte)]);
      tokenizer_.merges_->apply(word_);
    }
    cache_.store(piece, word_);
    tokens.insert(tokens.end(), word_.begin(), word_.end());
  }

  const BpeTokenizer& tokenizer_;
  PieceScanner scanner_;
  PieceCache cache_;
  std::vector<uint32_t> word_;  // of one piece
};

BpeTokenizer::BpeTokenizer(const std::filesystem::path& path) {
  BpeFile file = read_bpe_file(path);
  name_ = fmt::format("{} (xxh3 {})", path.filename().string(), file.checksum);
  if (!file.split_pattern.empty()) pattern_.emplace(file.split_pattern);
  merges_.emplace(file.merges);
  adds_prefix_space_ = file.adds_prefix_space;
  uses_nfc_ = file.uses_nfc;
  const auto set_text = [&](uint32_t id, const std::string& text) {
    if (texts_.size() <= id) texts_.resize(size_t{id} + 1);
    texts_[id] = text;
  };
  for (auto& [bytes, id] : file.vocab) {
    if (bytes.size() == 1) byte_tokens_[static_cast<unsigned char>(bytes[0])] = id;
    set_text(id, bytes);
    if (file.ignores_merges) whole_pieces_.emplace(std::move(bytes), id);
  }
  added_tokens_ = std::move(file.added_tokens);
  for (const AddedToken& token : added_tokens_) {
    set_text(token.id, token.content);
    if (token.is_normalized) {
      normalized_tokens_.add(uses_nfc_ ? normalize_nfc(token.content) : token.content, token.id);
    } else {
      raw_tokens_.add(token.content, token.id);
    }
  }
  has_cuts_ = has_cuts(file.split_pattern);
}

BpeTokenizer::~BpeTokenizer() = default;

bool BpeTokenizer::has_cuts(const std::string& split_pattern) const {
  return is_known_pattern(split_pattern) &&
         std::none_of(added_tokens_.begin(), added_tokens_.end(),
                      [](const AddedToken& token) { return may_be_cut(token.content); });
}

std::unique_ptr<BpeTokenizer::Worker> BpeTokenizer::take_worker() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_workers_.empty()) {
      std::unique_ptr<Worker> worker = std::move(idle_workers_.back());
      idle_workers_.pop_back();
      return worker;
    }
  }
  return std::make_unique<Worker>(*this);
}

std::vector<uint32_t> BpeTokenizer::encode(std::string_view text) const {
  std::unique_ptr<Worker> worker = take_worker();
  std::vector<uint32_t> tokens;
  tokens.reserve(text.size() / 3);
  worker->encode(text, tokens);
  const std::lock_guard lock(mutex_);
  idle_workers_.push_back(std::move(worker));
  return tokens;
}

std::string BpeTokenizer::decode(std::span<const uint32_t> tokens) const {
  std::string text;
  for (const uint32_t token : tokens) {
    if (token >= texts_.size() || texts_[token].empty()) {
      throw DataError(fmt::format("[BpeTokenizer] {} has no token {}; its vocabulary ends at {}.", name_, token,
                                  texts_.size() - 1));
    }
    text += texts_[token];
  }
  return text;
}

std::optional<uint32_t> BpeTokenizer::end_of_text() const {
  for (const char* text : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"}) {
    if (const auto token = find_token(text)) return token;
  }
  return std::nullopt;
}

std::optional<uint32_t> BpeTokenizer::find_token(std::string_view text) const {
  const auto found = std::find_if(added_tokens_.begin(), added_tokens_.end(),
                                  [&](const AddedToken& token) { return token.content == text; });
  return found == added_tokens_.end() ? std::nullopt : std::optional(found->id);
}

size_t BpeTokenizer::find_cut(std::string_view text) const {
  if (!has_cuts_) return 0;
  for (size_t place = text.size(); place-- > 1;) {
    if (text[place] == ' ') {
      if (has_non_space_before(text, place)) return place;
    } else if (text[place - 1] == '\n' && !adds_prefix_space_) {
      if (begins_with_non_space(text.substr(place)) && has_non_space_before(text, place - 1)) return place;
    }
  }
  return 0;
}

}  // namespace levin
