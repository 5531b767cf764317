#pragma once

namespace levin {

/// The `levin` program: fit, validate, test, tune, predict, tokenize, report, list, env. A user's own program registers
/// its classes and has the same command line:
///
///   int main(int argc, char** argv) {
///     levin::register_module<Gpt>("Gpt");
///     return levin::cli_main(argc, argv);
///   }
///
/// Prints results to stdout and errors to stderr. Returns the exit code: 0 done, 1 failed, 2 wrong configuration or
/// usage.
int cli_main(int argc, char** argv);

}  // namespace levin
