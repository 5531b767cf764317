#include "trainer/core/trainer_state.h"

namespace levin {

std::string_view stage_name(Stage stage) {
  switch (stage) {
    case Stage::kTrain: return "train";
    case Stage::kValidate: return "validate";
    case Stage::kTest: return "test";
    case Stage::kPredict: return "predict";
  }
  return "unknown";
}

}  // namespace levin
