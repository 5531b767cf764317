#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>

namespace levin {

/// The array in a .npy file of NumPy (format versions 1.0 to 3.0) as a tensor on the CPU: bool, int8 to int64, uint8 to
/// uint64, float16, float32, float64, complex64 or complex128.
///
/// The data are not copied: the file is mapped, and read page by page where the tensor is. Writing to the tensor
/// changes the memory of this process, never the file. An array in Fortran's order has the strides of its columns.
/// Big-endian data are copied.
///
/// Errors: DataError that names the file and what is wrong: missing, cut off, data left over, a damaged header, a
/// structured array, objects, texts or dates, or a bool that is neither 0 nor 1.
at::Tensor read_numpy(const std::filesystem::path& path);

}  // namespace levin
