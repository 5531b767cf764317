#pragma once

#include <string>

namespace levin {

/// The text of the Error that `call` throws; "(no error)" if it throws nothing.
template <class Error, class Call>
std::string error_text(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

}  // namespace levin
