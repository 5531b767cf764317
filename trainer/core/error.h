#pragma once

#include <stdexcept>
#include <string>

namespace levin {

/// Base of all errors that Levin throws itself. The text says what was wrong, where, with which values, and what to do.
///
/// Errors of LibTorch that users search for by name (c10::OutOfMemoryError, c10::AcceleratorError) pass through
/// unchanged.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The user's configuration is wrong (an option, a YAML key, a run folder that cannot be written). Exit code 2.
class ConfigError : public Error {
 public:
  using Error::Error;
};

/// Data is missing, damaged, or not of the expected form.
class DataError : public Error {
 public:
  using Error::Error;
};

/// The user's module failed in LibTorch (for example two shapes that do not fit), or returned something unusable.
class ModelError : public Error {
 public:
  using Error::Error;
};

/// A checkpoint is missing, damaged, or does not fit the model.
class CheckpointError : public Error {
 public:
  using Error::Error;
};

/// A collective operation failed, or the ranks disagree.
class DistributedError : public Error {
 public:
  using Error::Error;
};

/// A file that the run writes (log, prediction) could not be written.
class OutputError : public Error {
 public:
  using Error::Error;
};

/// SIGINT or SIGTERM ended the run. Callbacks get it in on_exception; fit() does not throw it.
class InterruptedError : public Error {
 public:
  using Error::Error;
};

/// A fault in Levin itself.
class InternalError : public Error {
 public:
  using Error::Error;
};

}  // namespace levin
