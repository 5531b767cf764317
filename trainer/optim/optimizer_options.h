#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/core/option_visitor.h"

namespace levin {

/// The options of Levin's optimizers: what C++ gives to the class and YAML says under `optimizer:`. Names and defaults
/// are PyTorch's. `maximize` ascends instead of descending. problems() names what fields are wrong together.
struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0.0;
  double dampening = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
  bool maximize = false;
  void visit(OptionVisitor& visitor);
  std::vector<std::string> problems() const;
};

struct AdamOptions {
  double lr = 1e-3;
  std::vector<double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool amsgrad = false;
  bool maximize = false;
  void visit(OptionVisitor& visitor);
  std::vector<std::string> problems() const;
};

struct AdamWOptions {
  double lr = 1e-3;
  std::vector<double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;
  bool maximize = false;
  void visit(OptionVisitor& visitor);
  std::vector<std::string> problems() const;
};

struct RmspropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum = 0.0;
  bool centered = false;
  bool maximize = false;
  void visit(OptionVisitor& visitor);
  std::vector<std::string> problems() const { return {}; }
};

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0.0;
  double weight_decay = 0.0;
  double initial_accumulator_value = 0.0;
  double eps = 1e-10;
  bool maximize = false;
  void visit(OptionVisitor& visitor);
  std::vector<std::string> problems() const { return {}; }
};

struct LionOptions {
  double lr = 1e-4;
  std::vector<double> betas = {0.9, 0.99};
  double weight_decay = 0.0;
  bool maximize = false;
  void visit(OptionVisitor& visitor);
  std::vector<std::string> problems() const;
};

struct AdafactorOptions {
  double lr = 1e-2;
  double beta2_decay = -0.8;
  std::optional<double> eps1 = std::nullopt;  ///< Default: the dtype's machine epsilon.
  double eps2 = 1e-3;
  double d = 1.0;
  double weight_decay = 0.0;
  bool maximize = false;
  void visit(OptionVisitor& visitor);
  std::vector<std::string> problems() const { return {}; }
};

struct MuonOptions {
  double lr = 1e-3;
  double weight_decay = 0.1;
  double momentum = 0.95;
  bool nesterov = true;
  std::vector<double> ns_coefficients = {3.4445, -4.7750, 2.0315};
  double eps = 1e-7;
  int64_t ns_steps = 5;
  std::string adjust_lr = "original";  ///< original or match_rms_adamw
  /// For the parameters that AdamW steps. adamw_lr defaults to lr.
  std::optional<double> adamw_lr = std::nullopt;
  std::vector<double> adamw_betas = {0.9, 0.999};
  double adamw_eps = 1e-8;
  double adamw_weight_decay = 1e-2;
  /// Patterns (`*embed*`) of the names of 2-D parameters that are AdamW's too.
  std::vector<std::string> adamw_parameters = {};
  void visit(OptionVisitor& visitor);
  std::vector<std::string> problems() const;
};

struct LbfgsOptions {
  double lr = 1.0;
  int64_t max_iter = 20;
  std::optional<int64_t> max_eval = std::nullopt;  ///< Default: max_iter * 5 / 4.
  double tolerance_grad = 1e-7;
  double tolerance_change = 1e-9;
  int64_t history_size = 100;
  std::string line_search_fn = "none";  ///< none or strong_wolfe
  void visit(OptionVisitor& visitor);
  std::vector<std::string> problems() const { return {}; }
};

}  // namespace levin
