#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace levin {

/// What the header of a .npy file says (NumPy's "NPY format", versions 1.0, 2.0 and 3.0).
struct NumpyHeader {
  at::ScalarType dtype = at::kFloat;
  bool is_big_endian = false;
  bool is_fortran_order = false;
  std::vector<int64_t> shape = {};
  uint64_t data_begin = 0;  ///< First byte of the data, counted from the start of the file.
  uint64_t data_size = 0;   ///< In bytes: product of shape * size of dtype.
};

/// Parses the header at the beginning of a file. bytes: the file's, or at least its header. path: for error texts.
/// Errors: DataError if it is no .npy file, the header is damaged, or the elements are of a type that LibTorch does not
/// have (structured, object, text, date and time, float of more than 64 bits).
NumpyHeader parse_numpy_header(std::string_view bytes, const std::filesystem::path& path);

}  // namespace levin
