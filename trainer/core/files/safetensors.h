#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trainer/core/files/file_writer.h"
#include "trainer/core/files/posix_file.h"

namespace levin {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;
using SafetensorsMetadata = std::map<std::string, std::string>;

/// Writes tensors in the safetensors format of Hugging Face, readable by Python's `safetensors`.
///
/// tensors   any strides, any device with memory; empty and 0-dim ones too; dtypes as in safetensors_dtype.h. They are
///           brought to the CPU one at a time. The header lists them in the given order; the bytes are ordered by
///           element size, the largest first, so that every tensor is aligned.
/// metadata  free texts; the `__metadata__` block is left out if there are none
///
/// The write is not atomic (see AtomicFolder): after an error the file is incomplete, which the reader notices. The
/// first overload creates the file or overwrites it, and makes it durable.
/// Errors: CheckpointError if a name occurs twice, is "__metadata__" or is not UTF-8; if a tensor is undefined, has no
/// memory, is sparse, quantized or nested, or has another dtype; or if writing fails. The tensors are checked before
/// the file is touched.
void write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors,
                       const SafetensorsMetadata& metadata = {});
void write_safetensors(FileWriter& writer, const NamedTensors& tensors, const SafetensorsMetadata& metadata = {});

/// Where one tensor lies in a file.
struct SafetensorsEntry {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> shape = {};
  uint64_t begin = 0;  ///< First byte, counted from the start of the file.
  uint64_t end = 0;    ///< One past the last byte; end - begin = product of shape * size of dtype.
};

/// A safetensors file, open for reading. The constructor reads and checks the header; tensors are read one by one, each
/// straight into its own new memory on the CPU. Concurrent reads are fine.
///
/// Errors: CheckpointError that names the file, and the tensor where there is one, with the values, if the header is
/// longer than the file or 100 MB or is not valid JSON; if a dtype is unknown; if offsets overlap, leave a gap, lie
/// outside of the file or do not fit shape and dtype; if bytes are missing or left over at the end; or if a BOOL is
/// neither 0 nor 1.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  /// In the order of the header.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  /// Empty if the file has no `__metadata__` block.
  const SafetensorsMetadata& metadata() const { return metadata_; }

  bool contains(std::string_view name) const;
  /// Errors: CheckpointError if there is no such tensor.
  const SafetensorsEntry& entry(std::string_view name) const;
  /// A new contiguous tensor on the CPU.
  at::Tensor read(const SafetensorsEntry& entry) const;
  at::Tensor read(std::string_view name) const { return read(entry(name)); }

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::vector<SafetensorsEntry> entries_;
  std::unordered_map<std::string, size_t> index_of_;
  SafetensorsMetadata metadata_;
};

/// All tensors of a file, in the order of its header. Errors: as SafetensorsFile; nothing is returned half.
NamedTensors read_safetensors(const std::filesystem::path& file);

}  // namespace levin
