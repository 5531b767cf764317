#include "trainer/config/registry.h"

namespace levin {

Registry& program_registry() {
  static Registry registry = [] {
    Registry with_builtins;
    add_builtin_classes(with_builtins);
    return with_builtins;
  }();
  return registry;
}

}  // namespace levin
