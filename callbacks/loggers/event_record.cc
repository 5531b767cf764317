#include "callbacks/loggers/event_record.h"

#include <bit>
#include <boost/crc.hpp>

namespace levin {
namespace {

template <class T>
void append_little_endian(std::string& out, T value) {
  static_assert(std::endian::native == std::endian::little);
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

uint32_t masked_crc32c(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

void append_record(std::string& out, std::string_view payload) {
  const size_t start = out.size();
  append_little_endian(out, uint64_t{payload.size()});
  append_little_endian(out, masked_crc32c(std::string_view(out).substr(start)));
  out += payload;
  append_little_endian(out, masked_crc32c(payload));
}

}  // namespace levin
