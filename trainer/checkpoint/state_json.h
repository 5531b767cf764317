#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "trainer/core/state_dict.h"

namespace levin {

/// The scalars of a checkpoint's state dicts as JSON text, and back; tensors are left out.
///
///   {"format": 1, "run": {"loop.epoch": 3, "loop.best": 0.5, "name": "gpt", ...}, ...}
///
/// int64   a number without "." and exponent
/// double  a number with "." or exponent, in the shortest form that reads back to the same bits; what is not finite as
///         {"f64": "7ff0000000000000"}, its 64 bits in hexadecimal, so that the bits of a NaN are kept too
/// text    a string; if it is not UTF-8, as {"bytes": "<two hexadecimal digits for each byte>"}
///
/// The entries keep their order.
using NamedStates = std::vector<std::pair<std::string, StateDict>>;

/// Errors: CheckpointError, which names `file`, if a name is not UTF-8.
std::string scalars_to_json(const NamedStates& states, const std::filesystem::path& file);

/// Errors: CheckpointError that names `file` and the entry, if the text is not as above.
NamedStates scalars_from_json(const std::string& text, const std::filesystem::path& file);

}  // namespace levin
