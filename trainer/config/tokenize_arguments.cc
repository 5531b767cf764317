#include "trainer/config/tokenize_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>
#include <thread>

#include "trainer/core/error.h"

namespace levin {
namespace {

namespace po = boost::program_options;

po::options_description make_options(TokenizeArguments& result) {
  po::options_description options("Options");
  options.add_options()  //
      ("output,o", po::value(&result.output)->value_name("FILE"),
       "the token file to write; replaces one of this name, once it is complete")  //
      ("tokenizer,t", po::value(&result.tokenizer)->value_name("NAME"),
       "\"bytes\" (default), or the path of a Hugging Face tokenizer.json")  //
      ("documents", po::value(&result.documents)->value_name("BORDER"),
       "what a document is: \"file\" (default), \"line\" or \"separator\"")  //
      ("separator", po::value(&result.separator)->value_name("TEXT"),
       "the text between two documents; implies --documents separator")  //
      ("end-of-text", po::value<std::string>()->value_name("TOKEN"),
       "the added token that stands after each document, or \"none\"; default: the tokenizer's")  //
      ("threads", po::value(&result.num_threads)->value_name("N"),
       "threads that tokenize; default: as many as processors. The result is the same for any number")  //
      ("help,h", po::bool_switch(&result.is_help), "show this text");
  return options;
}

void check(const TokenizeArguments& arguments) {
  if (arguments.files.empty()) throw ConfigError("tokenize needs at least one text file. See levin tokenize --help.");
  if (arguments.output.empty()) {
    throw ConfigError("tokenize needs the file to write: --output FILE. See levin tokenize --help.");
  }
  if (arguments.documents != "file" && arguments.documents != "line" && arguments.documents != "separator") {
    throw ConfigError(
        fmt::format("--documents must be one of: file, line, separator, got \"{}\".", arguments.documents));
  }
  if ((arguments.documents == "separator") == arguments.separator.empty()) {
    throw ConfigError(fmt::format(
        "--separator, the text between two documents, must be given with --documents separator and only then, got "
        "--documents {} and \"{}\".",
        arguments.documents, arguments.separator));
  }
  if (arguments.num_threads < 1 || arguments.num_threads > 1024) {
    throw ConfigError(fmt::format("--threads must be in [1, 1024], got {}.", arguments.num_threads));
  }
}

}  // namespace

TokenizeArguments parse_tokenize_arguments(const std::vector<std::string>& arguments) {
  TokenizeArguments result;
  result.num_threads = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, 1024);
  po::options_description options = make_options(result);
  options.add_options()("file", po::value(&result.files));
  po::positional_options_description positional;
  positional.add("file", -1);
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments).options(options).positional(positional).run(), values);
    po::notify(values);
  } catch (const po::error& error) {
    throw ConfigError(fmt::format("{}. See levin tokenize --help.", error.what()));
  }
  if (values.count("end-of-text") > 0) result.end_of_text = values["end-of-text"].as<std::string>();
  if (values.count("separator") > 0 && values.count("documents") == 0) result.documents = "separator";
  if (!result.is_help) check(result);
  return result;
}

std::string tokenize_help() {
  TokenizeArguments defaults;
  std::ostringstream text;
  text
      << "Usage: levin tokenize FILE... --output FILE [--tokenizer tokenizer.json]\n\n"
         "Turns text files, plain or .gz, into one token file to train on (data: class: TokenData), in the order that\n"
         "they are named.\n\n"
      << make_options(defaults);
  return text.str();
}

}  // namespace levin
