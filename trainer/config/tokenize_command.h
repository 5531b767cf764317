#pragma once

#include <memory>

#include "callbacks/console.h"
#include "trainer/config/tokenize_arguments.h"
#include "trainer/data/text/tokenize_files.h"

namespace levin {

/// What `levin tokenize` did.
struct TokenizeResult {
  TokenizeProgress done = {};
  std::string type = {};  ///< Of the tokens: "uint16" or "uint32".
  int signal = 0;         ///< SIGINT or SIGTERM, if it ended the work; no file is then written.
};

/// Writes the token file of `arguments`, and shows the progress on the console: a bar on a terminal, else a line every
/// few seconds. An error or a signal leaves what was there before.
///
/// Errors: ConfigError if an option does not fit the tokenizer, or the file to write is one to read; DataError for text
/// files and tokenizers; OutputError if writing fails.
TokenizeResult tokenize_to_file(const TokenizeArguments& arguments, Console& console);

}  // namespace levin
