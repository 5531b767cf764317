#include "trainer/config/environment_cuda.h"

namespace levin {

std::string cuda_runtime_version() { return ""; }

std::vector<std::string> describe_cuda_devices() { return {}; }

}  // namespace levin
