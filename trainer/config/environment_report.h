#pragma once

#include <string>

namespace levin {

/// What a bug report needs: versions of Levin, LibTorch, CUDA, cuDNN and NCCL; devices; processor and its features;
/// threads; the process-group back-ends that the loaded LibTorch contains. One "name  value" line each.
std::string environment_report();

}  // namespace levin
