#pragma once

#include <cstdio>
#include <exception>

/// What main() of a benchmark does: gives the exit code of run(), or 1 with the text of an error on stderr.
inline int benchmark_main(int (*run)(int argc, char** argv), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
