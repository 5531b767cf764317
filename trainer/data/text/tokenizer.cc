#include "trainer/data/text/tokenizer.h"

#include <fmt/format.h>

#include <filesystem>

#include "trainer/core/error.h"
#include "trainer/data/text/bpe_tokenizer.h"
#include "trainer/data/text/byte_tokenizer.h"

namespace levin {

std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& name) {
  if (name == "bytes") return std::make_shared<ByteTokenizer>();
  if (name.empty() || (!name.ends_with(".json") && !std::filesystem::is_regular_file(name))) {
    throw ConfigError(
        fmt::format("[Tokenizer] the tokenizer must be \"bytes\" or the path of a tokenizer.json, got \"{}\".", name));
  }
  return std::make_shared<BpeTokenizer>(name);
}

}  // namespace levin
