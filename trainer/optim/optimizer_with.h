#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "trainer/core/error.h"
#include "trainer/optim/bucketed_optimizer.h"
#include "trainer/optim/check_optimizer.h"

namespace levin {

/// A BucketedOptimizer whose groups have the options `OptionsType`: a struct with `double lr`, visit(), and problems()
/// for what options are wrong together.
template <class OptionsType>
class OptimizerWith : public BucketedOptimizer {
 public:
  using Options = OptionsType;
  using Group = torch::optim::OptimizerParamGroup;

  const char* name() const override { return name_; }
  void check_group(const torch::optim::OptimizerOptions& options) const override {
    const auto* group = dynamic_cast<const GroupOptions<Options>*>(&options);
    if (group == nullptr) {
      throw ConfigError(fmt::format("[{}] a parameter group must have the options of {}.", name_, name_));
    }
    check_optimizer(name_, group->fields);
  }

 protected:
  /// name: of the class, for errors. Groups without options take `options`. The derived class calls check_groups().
  OptimizerWith(const char* name, const std::vector<Group>& groups, Options options)
      : BucketedOptimizer(groups, std::make_unique<GroupOptions<Options>>(options)), name_(name) {}

  /// Errors: ConfigError.
  void check_groups() const {
    for (const Group& group : param_groups_) check_group(group.options());
  }

  static const Options& fields(const AnyGroupOptions& options) {
    return static_cast<const GroupOptions<Options>&>(options).fields;
  }

 private:
  const char* name_;
};

}  // namespace levin
