#include "callbacks/optimizer_values.h"

#include <c10/util/Type.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <typeinfo>
#include <variant>

#include "trainer/core/group_options.h"

namespace levin {
namespace {

using GroupOptionsBase = torch::optim::OptimizerOptions;

// Reads the fields of Levin's own options by their names.
class ValueReader final : public OptionVisitor {
 public:
  std::optional<double> momentum = std::nullopt;
  std::optional<double> weight_decay = std::nullopt;

 private:
  void visit_field(std::string_view name, OptionTarget target, std::string_view /*help*/,
                   const OptionRule& /*rule*/) override {
    if (const auto* number = std::get_if<double*>(&target)) {
      if (name == "momentum") momentum = **number;
      if (name == "weight_decay") weight_decay = **number;
    }
    const auto* list = std::get_if<std::vector<double>*>(&target);
    if (list != nullptr && name == "betas" && !(*list)->empty()) momentum = (*list)->front();
  }
};

template <class... Options>
std::optional<double> find_momentum(const GroupOptionsBase& options) {
  std::optional<double> found;
  const auto look = [&](const auto* typed) {
    if (typed != nullptr) found = typed->momentum();
  };
  (look(dynamic_cast<const Options*>(&options)), ...);
  return found;
}

template <class... Options>
std::optional<double> find_beta1(const GroupOptionsBase& options) {
  std::optional<double> found;
  const auto look = [&](const auto* typed) {
    if (typed != nullptr) found = std::get<0>(typed->betas());
  };
  (look(dynamic_cast<const Options*>(&options)), ...);
  return found;
}

template <class... Options>
std::optional<double> find_weight_decay(const GroupOptionsBase& options) {
  std::optional<double> found;
  const auto look = [&](const auto* typed) {
    if (typed != nullptr) found = typed->weight_decay();
  };
  (look(dynamic_cast<const Options*>(&options)), ...);
  return found;
}

}  // namespace

std::string class_name_of(const Optimizer& optimizer) {
  const std::string full = c10::demangle(typeid(optimizer).name());
  const std::string name = full.substr(0, full.find('<'));  // the arguments of a template have namespaces too
  const size_t colon = name.rfind(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

std::optional<double> learning_rate_of(const GroupOptionsBase& options) {
  try {
    return options.get_lr();
  } catch (const c10::Error&) {  // LibTorch's base class throws where there is no learning rate
    return std::nullopt;
  }
}

std::optional<double> momentum_of(GroupOptionsBase& options) {
  namespace optim = torch::optim;
  if (auto* own = dynamic_cast<AnyGroupOptions*>(&options)) {
    ValueReader reader;
    own->visit(reader);
    return reader.momentum;
  }
  const std::optional<double> momentum = find_momentum<optim::SGDOptions, optim::RMSpropOptions>(options);
  return momentum ? momentum : find_beta1<optim::AdamOptions, optim::AdamWOptions>(options);
}

std::optional<double> weight_decay_of(GroupOptionsBase& options) {
  namespace optim = torch::optim;
  if (auto* own = dynamic_cast<AnyGroupOptions*>(&options)) {
    ValueReader reader;
    own->visit(reader);
    return reader.weight_decay;
  }
  return find_weight_decay<optim::SGDOptions, optim::RMSpropOptions, optim::AdamOptions, optim::AdamWOptions,
                           optim::AdagradOptions>(options);
}

}  // namespace levin
