#include "trainer/core/batch_limit.h"

#include <fmt/format.h>

#include <algorithm>

#include "trainer/core/error.h"

namespace levin {

bool BatchLimit::is_valid() const {
  if (is_count()) return std::get<int64_t>(value_) >= 0;
  const double fraction = std::get<double>(value_);
  return fraction >= 0.0 && fraction <= 1.0;
}

bool BatchLimit::is_zero() const {
  return is_count() ? std::get<int64_t>(value_) == 0 : std::get<double>(value_) == 0.0;
}

std::optional<int64_t> BatchLimit::resolve(std::optional<int64_t> available, const char* what) const {
  if (is_count()) {
    const int64_t count = std::get<int64_t>(value_);
    return available ? std::min(count, *available) : count;
  }
  const double fraction = std::get<double>(value_);
  if (fraction == 1.0) return available;
  if (fraction == 0.0) return 0;
  if (!available) {
    throw ConfigError(
        fmt::format("[Trainer] {} is the fraction {}, but the loader does not know its length. Give a number of "
                    "batches instead.",
                    what, fraction));
  }
  const auto count = static_cast<int64_t>(static_cast<double>(*available) * fraction);
  if (count == 0 && *available > 0) {
    throw ConfigError(
        fmt::format("[Trainer] {} = {} of {} batches leaves no batch at all. Give at least {:.3g}, or a number of "
                    "batches.",
                    what, fraction, *available, 1.0 / static_cast<double>(*available)));
  }
  return count;
}

std::string BatchLimit::to_string() const {
  if (is_count()) return fmt::format("{}", std::get<int64_t>(value_));
  std::string text = fmt::format("{}", std::get<double>(value_));
  if (text.find_first_of(".en") == std::string::npos) text += ".0";  // n: nan and inf stay as they are
  return text;
}

}  // namespace levin
