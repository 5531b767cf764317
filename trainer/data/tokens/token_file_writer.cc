#include "trainer/data/tokens/token_file_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "trainer/core/error.h"
#include "trainer/core/files/file_writer.h"
#include "trainer/core/files/posix_file.h"

namespace levin {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = size_t{1} << 20;

static_assert(std::endian::native == std::endian::little, "a token file is little-endian");

// Errors of the files' helpers are about checkpoints.
template <class Function>
auto with_output_errors(Function&& function) {
  try {
    return function();
  } catch (const CheckpointError& error) {
    throw OutputError(fmt::format("[TokenFileWriter] {}", error.what()));
  }
}

void check_info(const TokenFileInfo& info) {
  const int64_t num_representable = int64_t{largest_token(info.type)} + 1;
  if (info.vocab_size < 0 || info.vocab_size > num_representable) {
    throw ConfigError(fmt::format("[TokenFileWriter] vocab_size must be between 0 and {} for {}, got {}.",
                                  num_representable, token_type_name(info.type), info.vocab_size));
  }
  const int64_t limit = info.vocab_size > 0 ? info.vocab_size : num_representable;
  if (info.end_of_text && (*info.end_of_text < 0 || *info.end_of_text >= limit)) {
    throw ConfigError(fmt::format("[TokenFileWriter] end_of_text must be between 0 and {}, the largest token, got {}.",
                                  limit - 1, *info.end_of_text));
  }
}

}  // namespace

TokenFileWriter::TokenFileWriter(fs::path path, TokenFileInfo info)
    : path_(std::move(path)),
      temporary_(path_.parent_path() / ("." + path_.filename().string() + ".tmp")),
      info_(std::move(info)) {
  check_info(info_);
  info_.num_tokens = 0;
  buffer_.reserve(kBufferBytes);
  file_ = with_output_errors([&] { return std::make_unique<FileWriter>(temporary_); });
}

TokenFileWriter::~TokenFileWriter() {
  if (!file_) return;
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void TokenFileWriter::append(std::span<const uint32_t> tokens) {
  if (!file_) throw InternalError("[TokenFileWriter] append() was called after close().");
  if (tokens.empty()) return;
  const uint64_t limit =
      info_.vocab_size > 0 ? static_cast<uint64_t>(info_.vocab_size) : uint64_t{largest_token(info_.type)} + 1;
  if (*std::max_element(tokens.begin(), tokens.end()) >= limit) throw_bad_token(tokens, limit);
  info_.num_tokens += static_cast<int64_t>(tokens.size());

  const auto size = static_cast<size_t>(token_size(info_.type));
  while (!tokens.empty()) {
    const std::span<const uint32_t> part = tokens.first(std::min(tokens.size(), kBufferBytes / size));
    if (buffer_.size() + part.size() * size > kBufferBytes) flush();
    for (const uint32_t token : part) {
      // The low bytes come first.
      const auto* bytes = reinterpret_cast<const std::byte*>(&token);
      buffer_.insert(buffer_.end(), bytes, bytes + size);
    }
    tokens = tokens.subspan(part.size());
  }
}

void TokenFileWriter::flush() {
  with_output_errors([&] { file_->write(buffer_.data(), buffer_.size()); });
  buffer_.clear();
}

void TokenFileWriter::throw_bad_token(std::span<const uint32_t> tokens, uint64_t limit) const {
  const auto bad = std::find_if(tokens.begin(), tokens.end(), [&](uint32_t token) { return token >= limit; });
  const std::string reason = info_.vocab_size > 0 ? fmt::format("the vocabulary has {}", info_.vocab_size)
                                                  : fmt::format("the type is {}", token_type_name(info_.type));
  throw DataError(fmt::format("[TokenFileWriter] token {} of {} must be below {}, since {}, got {}.{}",
                              info_.num_tokens + (bad - tokens.begin()), path_.string(), limit, reason, *bad,
                              info_.vocab_size > 0 ? " Is it the right tokenizer?" : " Use uint32."));
}

void TokenFileWriter::close() {
  if (!file_) throw InternalError("[TokenFileWriter] close() was called twice.");
  flush();
  with_output_errors([&] {
    file_->finish();
    // A side file of older tokens must never stand beside the new ones.
    std::error_code error;
    fs::remove(token_file_info_path(path_), error);
    if (error) throw_io_error("remove", token_file_info_path(path_), error.value());
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
      throw_io_error("rename to its final name", temporary_, errno);
    }
  });
  file_.reset();
  write_token_file_info(path_, info_);  // makes the folder durable too
}

}  // namespace levin
