#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/text/added_tokens.h"
#include "trainer/data/text/bpe_merges.h"

namespace levin {

/// What a tokenizer.json of the byte-level BPE kind says.
struct BpeFile {
  std::vector<std::pair<std::string, uint32_t>> vocab = {};  ///< Bytes of each token and its number.
  std::vector<BpeMerge> merges = {};                         ///< First come first.
  std::vector<AddedToken> added_tokens = {};
  std::string split_pattern = {};  ///< "": the text is not split.
  bool adds_prefix_space = false;  ///< Text that does not begin with a space gets one.
  bool uses_nfc = false;           ///< Text is normalized to Unicode's form C.
  bool ignores_merges = false;     ///< A piece that is a token as a whole becomes it, without merging.
  std::string checksum = {};       ///< Of the file.
};

/// How ByteLevel splits text, unless it is told not to: GPT-2's pattern.
extern const char* const kByteLevelPattern;

/// Reads a Hugging Face tokenizer.json. Errors: DataError that names the file, the field and its value, if it cannot be
/// read, is damaged, or asks for something that is not supported.
BpeFile read_bpe_file(const std::filesystem::path& path);

}  // namespace levin
