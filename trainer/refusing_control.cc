#include "trainer/refusing_control.h"

#include <fmt/format.h>

#include "trainer/core/error.h"

namespace levin {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw ConfigError(fmt::format("[Trainer] a callback asked {}, which is possible during a fit only.", what));
}

}  // namespace

void RefusingControl::save_checkpoint(const std::filesystem::path& path, const SaveOptions& /*options*/) {
  refuse(fmt::format("to save {}", path.string()));
}

void RefusingControl::go_back_to(const std::filesystem::path& path) {
  refuse(fmt::format("to go back to {}", path.string()));
}

void RefusingControl::skip_optimizer_step() { refuse("to skip an optimizer step"); }

void RefusingControl::set_accumulate_grad_batches(int64_t /*num_batches*/) { refuse("to accumulate gradients"); }

void RefusingControl::log(std::string_view name, double /*value*/, const LogOptions& /*options*/) {
  refuse(fmt::format("to log \"{}\"", name));
}

}  // namespace levin
