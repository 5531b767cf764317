#pragma once

#include <cstdint>
#include <string>

namespace levin {

/// A .npy file of version 1.0 with the given header, which NumPy would have padded.
inline std::string numpy_bytes(const std::string& header, const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

/// The header as NumPy writes it, aligned to 64 bytes.
inline std::string numpy_header(const std::string& descr, const std::string& shape, bool is_fortran_order = false) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + (is_fortran_order ? "True" : "False") +
                       ", 'shape': " + shape + ", }";
  constexpr size_t kBefore = 10;
  while ((kBefore + header.size() + 1) % 64 != 0) header += ' ';
  return header + '\n';
}

}  // namespace levin
