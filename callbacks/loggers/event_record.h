#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace levin {

/// CRC-32C (Castagnoli; RFC 3720, B.4) of `bytes`.
uint32_t crc32c(std::string_view bytes);

/// The checksum as TensorFlow's record files hold it: rotated right by 15 bits, plus 0xa282ead8, so that the checksum
/// of bytes that hold checksums is not weak.
uint32_t masked_crc32c(std::string_view bytes);

/// Appends one record of TensorFlow's record format to `out`: length (uint64), its masked checksum (uint32), `payload`,
/// its masked checksum (uint32); little-endian.
void append_record(std::string& out, std::string_view payload);

}  // namespace levin
