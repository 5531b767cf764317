#include "trainer/optim/optimizer_adapter.h"

#include <fmt/format.h>

#include "trainer/core/error.h"
#include "trainer/optim/bucketed_optimizer.h"
#include "trainer/optim/field_types.h"

namespace levin {
namespace {

/// Hands the fields of an options struct to a FieldVisitor.
class OptionFields final : public OptionVisitor {
 public:
  explicit OptionFields(FieldVisitor& visitor) : visitor_(visitor) {}

 private:
  void visit_field(std::string_view name, OptionTarget target, std::string_view /*help*/,
                   const OptionRule& /*rule*/) override {
    std::visit([&](auto* value) { visit_value(visitor_, std::string(name), *value); }, target);
  }

  FieldVisitor& visitor_;
};

class BucketedAdapter final : public OptimizerAdapter {
 public:
  explicit BucketedAdapter(BucketedOptimizer& optimizer) : optimizer_(optimizer) {}

  std::string class_name() const override { return optimizer_.name(); }
  std::unique_ptr<ParamState> new_state(const at::Tensor& parameter, const GroupOptionsBase& options) const override {
    auto state = optimizer_.make_state(parameter, static_cast<const AnyGroupOptions&>(options));
    state->is_new = false;
    return state;
  }
  void visit_state(ParamState& state, const at::Tensor& /*parameter*/, FieldVisitor& visitor) const override {
    std::vector<at::Tensor>& tensors = static_cast<TensorState&>(state).tensors;
    for (size_t k = 0; k < tensors.size(); ++k) {
      if (!tensors[k].defined()) continue;
      const at::Tensor like = tensors[k];
      visitor.tensor(optimizer_.state_names()[k], tensors[k], &like, /*is_required=*/true);
    }
  }
  void visit_options(GroupOptionsBase& options, FieldVisitor& visitor) const override {
    OptionFields fields(visitor);
    static_cast<AnyGroupOptions&>(options).visit(fields);
  }
  void on_loaded() const override { optimizer_.forget_buckets(); }

 private:
  BucketedOptimizer& optimizer_;
};

}  // namespace

std::unique_ptr<OptimizerAdapter> find_adapter(torch::optim::Optimizer& optimizer) {
  if (auto* own = dynamic_cast<BucketedOptimizer*>(&optimizer)) return std::make_unique<BucketedAdapter>(*own);
  return find_libtorch_adapter(optimizer);
}

}  // namespace levin
