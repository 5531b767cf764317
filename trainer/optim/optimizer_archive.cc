#include "trainer/optim/optimizer_archive.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <torch/serialize/archive.h>

#include <cstring>
#include <sstream>

#include "trainer/core/error.h"

namespace levin {
namespace {

void load_bytes(torch::optim::Optimizer& optimizer, const at::Tensor& bytes) {
  const at::Tensor on_cpu = bytes.cpu().contiguous();
  torch::serialize::InputArchive archive;
  archive.load_from(reinterpret_cast<const char*>(on_cpu.const_data_ptr<uint8_t>()),
                    static_cast<size_t>(on_cpu.numel()));
  optimizer.load(archive);
}

}  // namespace

at::Tensor write_archive(const torch::optim::Optimizer& optimizer) {
  std::ostringstream stream;
  try {
    torch::serialize::OutputArchive archive;
    optimizer.save(archive);
    archive.save_to(stream);
  } catch (const c10::Error& error) {
    throw CheckpointError(fmt::format(
        "[optimizer state] the optimizer must be one that can be saved, got: {}. Override its save() and load().",
        error.what_without_backtrace()));
  }
  const std::string text = stream.str();
  at::Tensor bytes = at::empty({static_cast<int64_t>(text.size())}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr<uint8_t>(), text.data(), text.size());
  return bytes;
}

void read_archive(torch::optim::Optimizer& optimizer, const at::Tensor& bytes) {
  if (bytes.scalar_type() != at::kByte || bytes.dim() != 1) {
    throw CheckpointError("[optimizer state] the saved archive must be a row of bytes.");
  }
  const at::Tensor before = write_archive(optimizer);
  try {
    load_bytes(optimizer, bytes);
  } catch (const c10::Error& error) {
    load_bytes(optimizer, before);
    throw CheckpointError(fmt::format("[optimizer state] the saved archive must fit the optimizer, got: {}.",
                                      error.what_without_backtrace()));
  }
}

}  // namespace levin
