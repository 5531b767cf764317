#include "trainer/core/validation_interval.h"

#include "trainer/core/batch_limit.h"
#include "trainer/core/duration.h"

namespace levin {

double ValidationInterval::seconds() const { return parse_duration(std::get<std::string>(value_)).count(); }

bool ValidationInterval::is_valid() const {
  if (is_batches()) return batches() >= 1;
  if (is_fraction()) return fraction() > 0.0 && fraction() <= 1.0;
  const auto duration = try_parse_duration(std::get<std::string>(value_));
  return duration && duration->count() > 0.0;
}

std::string ValidationInterval::to_string() const {
  if (is_time()) return std::get<std::string>(value_);
  return is_batches() ? BatchLimit(batches()).to_string() : BatchLimit(fraction()).to_string();
}

}  // namespace levin
