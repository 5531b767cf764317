#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trainer/core/state_dict.h"

namespace levin {

/// Visits what an optimizer keeps for a parameter or a group. One description of the fields serves saving and loading.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  /// like: what the tensor must be of the shape and dtype of; nullptr: of any.
  virtual void tensor(const std::string& name, at::Tensor& value, const at::Tensor* like, bool is_required) = 0;
  virtual void integer(const std::string& name, int64_t& value) = 0;
  virtual void real(const std::string& name, double& value) = 0;
  virtual void text(const std::string& name, std::string& value) = 0;
  /// Whether an optional field is to be visited. has_value: it has a value now.
  virtual bool optional(const std::string& name, bool has_value) = 0;
};

/// Adds the fields to a state as "<prefix><name>".
class FieldWriter final : public FieldVisitor {
 public:
  explicit FieldWriter(StateDict& state) : state_(state) {}
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }

  void tensor(const std::string& name, at::Tensor& value, const at::Tensor* like, bool is_required) override;
  void integer(const std::string& name, int64_t& value) override { state_.set(prefix_ + name, value); }
  void real(const std::string& name, double& value) override { state_.set(prefix_ + name, value); }
  void text(const std::string& name, std::string& value) override { state_.set(prefix_ + name, value); }
  bool optional(const std::string& /*name*/, bool has_value) override { return has_value; }

 private:
  StateDict& state_;
  std::string prefix_;
};

/// Reads the fields from a state, and remembers what is missing, wrong, or asked for by no field. Tensors are copied to
/// `device`.
class FieldReader final : public FieldVisitor {
 public:
  explicit FieldReader(const StateDict& state);
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
  void set_device(at::Device device) { device_ = device; }

  void tensor(const std::string& name, at::Tensor& value, const at::Tensor* like, bool is_required) override;
  void integer(const std::string& name, int64_t& value) override { read(name, value, "an integer"); }
  void real(const std::string& name, double& value) override { read(name, value, "a real number"); }
  void text(const std::string& name, std::string& value) override { read(name, value, "a text"); }
  bool optional(const std::string& name, bool has_value) override;

  void add_missing(std::string name) { missing_.push_back(std::move(name)); }
  void add_wrong(std::string text) { wrong_.push_back(std::move(text)); }
  /// Errors: CheckpointError that lists everything that does not fit.
  void throw_if_any() const;

 private:
  template <class T>
  void read(const std::string& name, T& value, const char* expected);
  const StateDict::Value* find(const std::string& name);

  std::vector<std::string> order_;
  std::unordered_map<std::string, const StateDict::Value*> values_;
  std::unordered_set<std::string> used_;
  std::string prefix_;
  at::Device device_ = at::kCPU;
  std::vector<std::string> missing_, wrong_;
};

/// Whether the state has any of the visited tensors and numbers.
class FieldProbe final : public FieldVisitor {
 public:
  FieldProbe(const std::unordered_set<std::string>& names, std::string prefix)
      : names_(names), prefix_(std::move(prefix)) {}
  bool found() const { return found_; }

  void tensor(const std::string& name, at::Tensor& /*value*/, const at::Tensor* /*like*/, bool /*required*/) override {
    look(name);
  }
  void integer(const std::string& name, int64_t& /*value*/) override { look(name); }
  void real(const std::string& name, double& /*value*/) override { look(name); }
  void text(const std::string& name, std::string& /*value*/) override { look(name); }
  bool optional(const std::string& name, bool /*has_value*/) override {
    look(name);
    return false;
  }

 private:
  void look(const std::string& name) { found_ = found_ || names_.contains(prefix_ + name); }

  const std::unordered_set<std::string>& names_;
  std::string prefix_;
  bool found_ = false;
};

}  // namespace levin
