#include "trainer/core/profiler.h"

namespace levin {

std::string_view section_name(Section section) {
  switch (section) {
    case Section::kDataWait: return "data_wait";
    case Section::kTransfer: return "transfer";
    case Section::kForward: return "forward";
    case Section::kBackward: return "backward";
    case Section::kCommunication: return "communication";
    case Section::kOptimizer: return "optimizer";
    case Section::kCallbacks: return "callbacks";
    case Section::kLogging: return "logging";
    case Section::kValidation: return "validation";
    case Section::kCheckpoint: return "checkpoint";
  }
  return "";
}

}  // namespace levin
