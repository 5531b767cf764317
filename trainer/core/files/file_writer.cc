#include "trainer/core/files/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "trainer/core/error.h"

namespace levin {
namespace {

constexpr size_t kMaxBytesPerWrite = size_t{1} << 28;
constexpr size_t kReadBufferBytes = size_t{1} << 20;

}  // namespace

struct Checksum::State {
  XXH3_state_t* xxh3 = XXH3_createState();
  ~State() { XXH3_freeState(xxh3); }
};

Checksum::Checksum() : state_(std::make_unique<State>()) {
  if (state_->xxh3 == nullptr || XXH3_64bits_reset(state_->xxh3) == XXH_ERROR) {
    throw InternalError("[Checkpoint] the checksum cannot be set up.");
  }
}

Checksum::~Checksum() = default;

void Checksum::update(const void* data, size_t num_bytes) {
  if (num_bytes > 0 && XXH3_64bits_update(state_->xxh3, data, num_bytes) == XXH_ERROR) {
    throw InternalError("[Checkpoint] the checksum cannot be computed.");
  }
}

std::string Checksum::hex() const { return fmt::format("{:016x}", XXH3_64bits_digest(state_->xxh3)); }

FileWriter::FileWriter(std::filesystem::path path) : path_(std::move(path)) {
  file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file_.get() < 0) throw_io_error("create", path_, errno);
}

void FileWriter::write(const void* data, size_t num_bytes) {
  const char* source = static_cast<const char*>(data);
  while (num_bytes > 0) {
    const ssize_t count = ::write(file_.get(), source, std::min(num_bytes, kMaxBytesPerWrite));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_io_error("write", path_, errno);
    checksum_.update(source, static_cast<size_t>(count));
    source += count;
    size_ += static_cast<uint64_t>(count);
    num_bytes -= static_cast<size_t>(count);
  }
}

FileDigest FileWriter::finish() {
  sync_to_disk(file_, path_);
  // Network filesystems may report a failed write only here. After EINTR Linux has closed the descriptor.
  if (::close(file_.release()) != 0 && errno != EINTR) throw_io_error("close", path_, errno);
  return {.size = size_, .xxh3_64 = checksum_.hex()};
}

FileDigest digest_file(const std::filesystem::path& path) {
  const FileDescriptor file = open_for_reading(path);
  const uint64_t size = file_size(file, path);
  std::vector<char> buffer(std::min<uint64_t>(size, kReadBufferBytes));
  Checksum checksum;
  for (uint64_t offset = 0; offset < size;) {
    const size_t count = std::min<uint64_t>(buffer.size(), size - offset);
    read_at(file, path, offset, buffer.data(), count);
    checksum.update(buffer.data(), count);
    offset += count;
  }
  return {.size = size, .xxh3_64 = checksum.hex()};
}

}  // namespace levin
