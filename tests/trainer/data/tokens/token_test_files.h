#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/trainer/checkpoint/test_files.h"
#include "trainer/core/batch.h"
#include "trainer/data/tokens/token_file.h"
#include "trainer/data/tokens/token_file_writer.h"

namespace levin {

/// begin, begin + 1, ... of `count` tokens.
inline std::vector<uint32_t> ramp(uint32_t begin, size_t count) {
  std::vector<uint32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), begin);
  return tokens;
}

inline void write_tokens(const std::filesystem::path& path, const std::vector<uint32_t>& tokens,
                         TokenFileInfo info = {}) {
  TokenFileWriter writer(path, std::move(info));
  writer.append(tokens);
  writer.close();
}

/// A token file of the ramp that begins with `begin`.
inline std::shared_ptr<const TokenFile> ramp_file(const std::filesystem::path& path, uint32_t begin, size_t count,
                                                  TokenFileInfo info = {}) {
  write_tokens(path, ramp(begin, count), std::move(info));
  return std::make_shared<TokenFile>(path);
}

/// The bytes of tokens as another program would write them.
template <class Token>
std::string raw_tokens(const std::vector<Token>& tokens) {
  return std::string(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(Token));
}

inline std::vector<int64_t> values_of(const at::Tensor& tensor) {
  EXPECT_TRUE(tensor.is_contiguous());
  const int64_t* data = tensor.const_data_ptr<int64_t>();
  return std::vector<int64_t>(data, data + tensor.numel());
}

}  // namespace levin
