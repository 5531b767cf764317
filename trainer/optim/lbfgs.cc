#include "trainer/optim/lbfgs.h"

#include <torch/optim/lbfgs.h>

#include "trainer/optim/check_optimizer.h"

namespace levin {

std::unique_ptr<torch::optim::Optimizer> make_lbfgs(std::vector<at::Tensor> parameters, const LbfgsOptions& options) {
  check_optimizer("LBFGS", options);
  torch::optim::LBFGSOptions libtorch(options.lr);
  libtorch.max_iter(options.max_iter)
      .max_eval(options.max_eval)
      .tolerance_grad(options.tolerance_grad)
      .tolerance_change(options.tolerance_change)
      .history_size(options.history_size);
  if (options.line_search_fn != "none") libtorch.line_search_fn(options.line_search_fn);
  return std::make_unique<torch::optim::LBFGS>(std::move(parameters), libtorch);
}

}  // namespace levin
