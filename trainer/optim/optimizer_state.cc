#include "trainer/optim/optimizer_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "trainer/core/batch.h"
#include "trainer/core/error.h"
#include "trainer/optim/optimizer_adapter.h"
#include "trainer/optim/optimizer_archive.h"

namespace levin {
namespace {

constexpr const char* kClass = "class";
constexpr const char* kParameters = "parameters";
constexpr const char* kInitialLr = "initial_lr";

using ParamState = torch::optim::OptimizerParamState;
using Group = torch::optim::OptimizerParamGroup;
using Names = std::unordered_map<const c10::TensorImpl*, std::string>;

/// A tied tensor goes by its first name.
Names name_index(const NamedParameters& parameters) {
  Names names;
  for (const auto& [name, tensor] : parameters) names.emplace(tensor.unsafeGetTensorImpl(), name);
  return names;
}

const std::string& name_of(const at::Tensor& param, const Names& names) {
  const auto entry = names.find(param.unsafeGetTensorImpl());
  if (entry != names.end()) return entry->second;
  throw CheckpointError(fmt::format(
      "[optimizer state] each parameter of the optimizer must be one of the module, got {} that is not. Register it.",
      describe_tensor(param)));
}

std::vector<std::string> names_of(const Group& group, const Names& names) {
  std::vector<std::string> result;
  for (const at::Tensor& param : group.params()) result.push_back(name_of(param, names));
  return result;
}

std::string group_prefix(size_t group) { return fmt::format("group.{}.", group); }

ParamState* find_state(const Optimizer& optimizer, const at::Tensor& param) {
  const auto entry = optimizer.state().find(param.unsafeGetTensorImpl());
  return entry == optimizer.state().end() ? nullptr : entry->second.get();
}

/// Reads a whole state into new objects; replaces those of the optimizer only when everything fits.
class Loader {
 public:
  Loader(Optimizer& optimizer, const OptimizerAdapter& adapter, const Names& names, const StateDict& state)
      : optimizer_(optimizer), adapter_(adapter), names_(names), reader_(state) {
    for (const auto& [name, value] : state) saved_names_.insert(name);
  }

  std::vector<double> load() {
    std::string class_name;
    reader_.text(kClass, class_name);
    const size_t num_groups = optimizer_.param_groups().size();
    for (size_t g = 0; g < num_groups; ++g) read_group(g);
    reader_.throw_if_any();
    optimizer_.state().clear();
    for (auto& [param, state] : states_) optimizer_.state()[param] = std::move(state);
    for (size_t g = 0; g < num_groups; ++g) optimizer_.param_groups()[g].set_options(std::move(options_[g]));
    adapter_.on_loaded();
    return base_learning_rates_;
  }

 private:
  void read_group(size_t g) {
    const Group& group = optimizer_.param_groups()[g];
    reader_.set_prefix(group_prefix(g));
    options_.push_back(group.options().clone());
    adapter_.visit_options(*options_.back(), reader_);
    double initial_lr = 0.0;
    if (reader_.optional(kInitialLr, false)) {
      reader_.real(kInitialLr, initial_lr);
      base_learning_rates_.push_back(initial_lr);
    }
    check_members(g);
    for (const at::Tensor& param : group.params()) read_parameter(param, *options_.back());
  }

  void check_members(size_t g) {
    std::string saved;
    reader_.text(kParameters, saved);
    std::vector<std::string> expected = names_of(optimizer_.param_groups()[g], names_);
    std::vector<std::string> found;
    for (size_t begin = 0; begin < saved.size();) {
      const size_t end = std::min(saved.find(',', begin), saved.size());
      found.push_back(saved.substr(begin, end - begin));
      begin = end + 1;
    }
    const std::string in_order = fmt::format("{}", fmt::join(expected, ","));
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    if (expected == found && (!adapter_.is_ordered() || saved == in_order)) return;
    reader_.add_wrong(fmt::format("{}{} must be {}, got {}", group_prefix(g), kParameters, in_order, saved));
  }

  void read_parameter(const at::Tensor& param, const torch::optim::OptimizerOptions& options) {
    const std::string prefix = name_of(param, names_) + ".";
    std::unique_ptr<ParamState> state = adapter_.new_state(param, options);
    FieldProbe probe(saved_names_, prefix);
    adapter_.visit_state(*state, param, probe);
    if (!probe.found()) return;  // it had not been stepped yet
    reader_.set_prefix(prefix);
    reader_.set_device(param.device());
    adapter_.visit_state(*state, param, reader_);
    states_.emplace_back(param.unsafeGetTensorImpl(), std::move(state));
  }

  Optimizer& optimizer_;
  const OptimizerAdapter& adapter_;
  const Names& names_;
  FieldReader reader_;
  std::unordered_set<std::string> saved_names_;
  std::vector<std::unique_ptr<torch::optim::OptimizerOptions>> options_;
  std::vector<std::pair<void*, std::unique_ptr<ParamState>>> states_;
  std::vector<double> base_learning_rates_;
};

void check_class(const std::string& expected, const StateDict& state) {
  if (state.text(kClass) == expected) return;
  throw CheckpointError(fmt::format(
      "[optimizer state] the saved state must be of {}, got one of {}. Train on with the optimizer that was saved.",
      expected, state.text(kClass)));
}

}  // namespace

StateDict optimizer_state(const Optimizer& optimizer, const NamedParameters& named_parameters,
                          const std::vector<double>& base_learning_rates) {
  // The adapter of a const optimizer only reads.
  const auto adapter = find_adapter(const_cast<Optimizer&>(optimizer));
  StateDict result;
  result.set(kClass, adapter ? adapter->class_name() : std::string(kArchiveClass));
  if (adapter == nullptr) {
    result.set(kArchive, write_archive(optimizer));
    return result;
  }
  const Names names = name_index(named_parameters);
  FieldWriter writer(result);
  const auto& groups = optimizer.param_groups();
  for (size_t g = 0; g < groups.size(); ++g) {
    writer.set_prefix(group_prefix(g));
    adapter->visit_options(*groups[g].options().clone(), writer);
    std::string members = fmt::format("{}", fmt::join(names_of(groups[g], names), ","));
    writer.text(kParameters, members);
    double initial_lr = g < base_learning_rates.size() ? base_learning_rates[g] : 0.0;
    if (g < base_learning_rates.size()) writer.real(kInitialLr, initial_lr);
  }
  for (const Group& group : groups) {
    for (const at::Tensor& param : group.params()) {
      const ParamState* state = find_state(optimizer, param);
      if (state == nullptr) continue;
      writer.set_prefix(name_of(param, names) + ".");
      adapter->visit_state(*state->clone(), param, writer);
    }
  }
  return result;
}

void load_optimizer_state(Optimizer& optimizer, const NamedParameters& named_parameters, const StateDict& state,
                          std::vector<double>* base_learning_rates) {
  const auto adapter = find_adapter(optimizer);
  check_class(adapter ? adapter->class_name() : std::string(kArchiveClass), state);
  if (adapter == nullptr) {
    read_archive(optimizer, state.tensor(kArchive));
    return;
  }
  const Names names = name_index(named_parameters);
  std::vector<double> saved = Loader(optimizer, *adapter, names, state).load();
  if (base_learning_rates != nullptr && !saved.empty()) *base_learning_rates = std::move(saved);
}

}  // namespace levin
