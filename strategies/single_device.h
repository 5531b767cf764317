#pragma once

#include "strategies/strategy.h"

namespace levin {

/// The whole model on one device, one process.
class SingleDeviceStrategy final : public Strategy {
 public:
  explicit SingleDeviceStrategy(at::Device device) : device_(device) {}

  std::string_view name() const override { return "single"; }
  at::Device device() const override { return device_; }
  Communicator& communicator() override { return communicator_; }
  void setup(torch::nn::Module& module) override;
  void backward(const at::Tensor& loss, GradSync sync) override;
  void optimizer_step(Optimizer& optimizer) override;
  at::Tensor clip_gradient_norm(const std::vector<at::Tensor>& parameters, double max_norm) override;
  StateDict model_state(torch::nn::Module& module) override;
  void load_model_state(torch::nn::Module& module, const StateDict& state) override;

 private:
  at::Device device_;
  SingleProcessCommunicator communicator_;
};

}  // namespace levin
