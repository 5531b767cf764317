#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "trainer/core/error.h"
#include "trainer/core/option_visitor.h"

namespace levin {

/// A class whose options have been read, ready to be made.
template <class Base>
struct PreparedClass {
  std::string name;
  std::function<std::shared_ptr<Base>()> make;
  /// Visits the options as they were read.
  std::function<void(OptionVisitor&)> visit_options;
};

/// Classes that YAML can name, by name. `T` in add() is made from its nested `T::Options` (see OptionVisitor), or has a
/// default constructor and no options.
template <class Base>
class ClassTable {
 public:
  using Prepare = std::function<PreparedClass<Base>(OptionVisitor&)>;
  struct Entry {
    std::string name;
    Prepare prepare;  ///< Visits default options with the visitor, which may change them.
  };

  /// what: for errors, "model" or "callback".
  explicit ClassTable(std::string what) : what_(std::move(what)) {}

  /// Errors: ConfigError if the name is taken.
  template <class T>
  void add(const std::string& name) {
    static_assert(std::is_base_of_v<Base, T>, "the class must derive from the base that this table is for");
    if constexpr (requires { typename T::Options; }) {
      add_with_options<typename T::Options>(
          name, [](const typename T::Options& options) { return std::make_shared<T>(options); });
    } else {
      add_entry({name, [name](OptionVisitor&) {
                   return PreparedClass<Base>{name, [] { return std::make_shared<T>(); }, [](OptionVisitor&) {}};
                 }});
    }
  }

  /// For what is not made by a constructor: make(options) returns a shared_ptr<Base>.
  template <class Options, class Make>
  void add_with_options(const std::string& name, Make make) {
    add_entry({name, [name, make](OptionVisitor& visitor) {
                 const auto options = std::make_shared<Options>();
                 options->visit(visitor);
                 return PreparedClass<Base>{name, [options, make]() -> std::shared_ptr<Base> { return make(*options); },
                                            [options](OptionVisitor& other) { options->visit(other); }};
               }});
  }

  /// nullptr if there is no such class.
  const Entry* find(std::string_view name) const {
    for (const Entry& entry : entries_) {
      if (entry.name == name) return &entry;
    }
    return nullptr;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const Entry& entry : entries_) result.push_back(entry.name);
    return result;
  }
  const std::vector<Entry>& entries() const { return entries_; }
  const std::string& what() const { return what_; }

 private:
  void add_entry(Entry entry) {
    if (find(entry.name) != nullptr) {
      throw ConfigError(fmt::format("[Registry] there is a {} called \"{}\" already.", what_, entry.name));
    }
    entries_.push_back(std::move(entry));
  }

  std::string what_;
  std::vector<Entry> entries_;
};

}  // namespace levin
