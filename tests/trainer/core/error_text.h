#pragma once

#include <gtest/gtest.h>

#include <string>

namespace levin {

/// The text of the error of type `ErrorType` that `function` throws; fails if it throws none. Other types pass through.
template <class ErrorType, class Function>
std::string error_text(Function&& function) {
  try {
    function();
  } catch (const ErrorType& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error of the expected type was thrown";
  return "";
}

}  // namespace levin
