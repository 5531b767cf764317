#pragma once

#include <cstdint>

#include "trainer/core/optimizers.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// The optimizers that YAML can name: the options under `optimizer:` and the optimizer that they make. The algorithms
/// are LibTorch's; names and defaults are PyTorch's. parameters() makes no copy of the tensors.
struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0.0;
  double dampening = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
  void visit(OptionVisitor& visitor);
  Optimizers make(std::vector<at::Tensor> parameters) const;
};

/// Kingma, Ba 2015, arXiv:1412.6980. Weight decay is an L2 penalty, added to the gradient.
struct AdamOptions {
  double lr = 1e-3;
  std::vector<double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool amsgrad = false;
  void visit(OptionVisitor& visitor);
  Optimizers make(std::vector<at::Tensor> parameters) const;
};

/// Adam with decoupled weight decay (Loshchilov, Hutter 2019, arXiv:1711.05101).
struct AdamWOptions : AdamOptions {
  AdamWOptions() { weight_decay = 1e-2; }
  Optimizers make(std::vector<at::Tensor> parameters) const;
};

struct RmspropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum = 0.0;
  bool centered = false;
  void visit(OptionVisitor& visitor);
  Optimizers make(std::vector<at::Tensor> parameters) const;
};

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0.0;
  double weight_decay = 0.0;
  double eps = 1e-10;
  void visit(OptionVisitor& visitor);
  Optimizers make(std::vector<at::Tensor> parameters) const;
};

}  // namespace levin
