#include "trainer/config/scheduler_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "trainer/config/class_section.h"
#include "trainer/config/schedule_keys.h"
#include "trainer/core/error.h"
#include "trainer/optim/schedules/schedule_chain.h"

namespace levin {
namespace {

constexpr const char* kSequential = "SequentialLR";
constexpr const char* kChained = "ChainedScheduler";
constexpr const char* kSchedulers = "schedulers";
constexpr std::array<const char*, 4> kDriverKeys = {"interval", "frequency", "monitor", "strict"};

using Schedules = std::vector<std::shared_ptr<Schedule>>;

/// The options of a chain. `schedulers` only stands for the list, which holds classes and is read apart.
struct ChainedSection {
  std::vector<std::string> schedulers = {};
  ScheduleKeys keys = {};
  void visit(OptionVisitor& visitor) {
    visitor.field(kSchedulers, schedulers, "list of schedulers, each a class with its options");
    keys.visit(visitor);
  }
  std::shared_ptr<Schedule> make(Schedules schedules) const {
    return std::make_shared<ChainedScheduler>(std::move(schedules));
  }
};

struct SequentialSection {
  std::vector<int64_t> milestones = {};
  ChainedSection chain = {};
  void visit(OptionVisitor& visitor) {
    visitor.field("milestones", milestones, "steps at which the next scheduler takes over", at_least(1));
    chain.visit(visitor);
  }
  std::shared_ptr<Schedule> make(Schedules schedules) const {
    return std::make_shared<SequentialLR>(std::move(schedules), milestones);
  }
};

ConfigValue without_key(const ConfigValue& section, std::string_view key) {
  ConfigValue result = section;
  std::erase_if(result.entries, [&](const ConfigValue::Entry& entry) { return entry.key == key; });
  return result;
}

class SchedulerReader {
 public:
  SchedulerReader(const ClassTable<ScheduleFactory>& table, ConfigProblems& problems)
      : table_(table), problems_(problems) {}

  std::optional<PreparedScheduler> read(const ConfigValue& section, const std::string& path) {
    const ConfigValue* name = section.is_map() ? section.find(kClassKey) : &section;
    if (name != nullptr && name->is_scalar()) {
      if (name->scalar == kSequential) return read_chain<SequentialSection>(section, path, kSequential);
      if (name->scalar == kChained) return read_chain<ChainedSection>(section, path, kChained);
    }
    const auto prepared = read_class(section, path, table_, problems_);
    if (!prepared) return std::nullopt;
    return PreparedScheduler{*prepared->make(), write_class(*prepared)};
  }

 private:
  template <class Section>
  std::optional<PreparedScheduler> read_chain(const ConfigValue& section, const std::string& path, const char* name) {
    Section options;
    const ConfigValue rest = section.is_map() ? without_key(section, kSchedulers) : ConfigValue();
    OptionReader reader(rest, path, problems_, {kClassKey});
    options.visit(reader);
    reader.finish();
    const auto children = read_children(section, path);
    if (!children) return std::nullopt;

    PreparedScheduler result;
    result.yaml.at_key(kClassKey, {}) = text_value(name);
    OptionWriter writer(result.yaml);
    options.visit(writer);
    ConfigValue list = ConfigValue::of_list();
    for (const PreparedScheduler& child : *children) {
      list.items.push_back(child.yaml);
      for (const char* key : kDriverKeys) list.items.back() = without_key(list.items.back(), key);
    }
    result.yaml.at_key(kSchedulers, {}) = list;
    result.make = [options, children] {
      Schedules schedules;
      for (const PreparedScheduler& child : *children) schedules.push_back(child.make().schedule);
      return keys_of(options).drive(options.make(std::move(schedules)));
    };
    return result;
  }

  std::optional<std::vector<PreparedScheduler>> read_children(const ConfigValue& section, const std::string& path) {
    const ConfigValue* list = section.find(kSchedulers);
    if (list == nullptr || !list->is_list()) {
      problems_.add(list == nullptr ? section.location : list->location,
                    fmt::format("{}.{} must be a list of schedulers, got {}", path, kSchedulers,
                                list == nullptr ? "nothing" : list->describe()));
      return std::nullopt;
    }
    std::vector<PreparedScheduler> children;
    for (size_t i = 0; i < list->items.size(); ++i) {
      const std::string child_path = fmt::format("{}.{}[{}]", path, kSchedulers, i);
      for (const char* key : kDriverKeys) {
        const ConfigValue* value = list->items[i].find(key);
        if (value == nullptr) continue;
        problems_.add(value->location, fmt::format("{}.{} belongs to the outermost scheduler", child_path, key));
      }
      if (auto child = read(list->items[i], child_path)) children.push_back(*std::move(child));
    }
    if (children.size() != list->items.size()) return std::nullopt;
    return children;
  }

  static const ScheduleKeys& keys_of(const ChainedSection& section) { return section.keys; }
  static const ScheduleKeys& keys_of(const SequentialSection& section) { return section.chain.keys; }

  const ClassTable<ScheduleFactory>& table_;
  ConfigProblems& problems_;
};

template <class Section>
void add_chain(ClassTable<ScheduleFactory>& table, const std::string& name) {
  table.add_with_options<Section>(name, [](const Section&) -> std::shared_ptr<ScheduleFactory> {
    throw InternalError("[scheduler] a chain is made by read_scheduler.");
  });
}

}  // namespace

std::optional<PreparedScheduler> read_scheduler(const ConfigValue& section, const std::string& path,
                                                const ClassTable<ScheduleFactory>& table, ConfigProblems& problems) {
  auto prepared = SchedulerReader(table, problems).read(section, path);
  if (!prepared || !problems.empty()) return prepared;
  try {  // making one is cheap, and tells what is wrong with options together
    check_schedule(prepared->make());
  } catch (const ConfigError& error) {
    problems.add(section.location, fmt::format("{}: {}", path, error.what()));
  }
  return prepared;
}

void add_schedule_chains(ClassTable<ScheduleFactory>& table) {
  add_chain<SequentialSection>(table, kSequential);
  add_chain<ChainedSection>(table, kChained);
}

}  // namespace levin
