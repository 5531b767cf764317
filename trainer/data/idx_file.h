#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>

namespace levin {

/// The tensor in an IDX file of unsigned bytes (the format of MNIST and Fashion-MNIST), gzip-compressed or not:
/// uint8 [dimensions as the file says]. Errors: DataError that names the file and what is wrong (missing, cut off, not
/// IDX, another element type, bytes left over).
at::Tensor read_idx(const std::filesystem::path& path);

}  // namespace levin
