// A plugin that is loaded, records and is unloaded again.
#include <hodo/hodo.hpp>

extern "C" void plugin_steps(int count) {
  for (int i = 0; i < count; ++i) {
    HODO_SCOPE_F("step", i, {"from", "plugin"}) { HODO_MARK("i", i); }
  }
}
