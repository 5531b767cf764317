#pragma once

#include "callbacks/run_context.h"

namespace levin {

/// For what is no fit: nobody to stop, nothing to save. What could have an effect in a fit only
/// throws ConfigError.
class RefusingControl final : public TrainerControl {
 public:
  void request_stop(const std::string& /*reason*/) override {}
  void save_checkpoint(const std::filesystem::path& path, const SaveOptions& options) override;
  void go_back_to(const std::filesystem::path& path) override;
  std::optional<std::filesystem::path> last_checkpoint() override { return std::nullopt; }
  bool claim(const std::filesystem::path& /*path*/, const std::string& /*owner*/) override { return true; }
  void skip_optimizer_step() override;
  void set_accumulate_grad_batches(int64_t num_batches) override;
  void log(std::string_view name, double value, const LogOptions& options) override;
};

}  // namespace levin
