#include "trainer/data/text/added_tokens.h"

namespace levin {
namespace {

uint8_t byte_at(std::string_view text, size_t index) { return static_cast<uint8_t>(text[index]); }

}  // namespace

void AddedTokenFinder::add(std::string_view content, uint32_t id) {
  if (content.empty()) return;
  is_first_[byte_at(content, 0)] = true;
  uint64_t node = 0;
  for (size_t i = 0; i < content.size(); ++i) {
    const auto [child, is_new] =
        children_.try_emplace(node << 8 | byte_at(content, i), static_cast<uint32_t>(ids_.size()));
    if (is_new) ids_.emplace_back();
    node = child->second;
  }
  ids_[node] = id;
}

std::optional<AddedTokenFinder::Found> AddedTokenFinder::match_at(std::string_view text, size_t begin) const {
  std::optional<Found> longest;
  uint64_t node = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    const auto child = children_.find(node << 8 | byte_at(text, i));
    if (child == children_.end()) break;
    node = child->second;
    if (ids_[node]) longest = Found{begin, i + 1, *ids_[node]};
  }
  return longest;
}

std::optional<AddedTokenFinder::Found> AddedTokenFinder::find(std::string_view text, size_t position) const {
  if (empty()) return std::nullopt;
  for (size_t i = position; i < text.size(); ++i) {
    if (!is_first_[byte_at(text, i)]) continue;
    if (const auto found = match_at(text, i)) return found;
  }
  return std::nullopt;
}

}  // namespace levin
