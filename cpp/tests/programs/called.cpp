// A library between two others: it records, calls back, and may be the one that starts the recorder.
#include <hodo/hodo.hpp>

extern "C" int plugin_start() { return static_cast<int>(hodo::init()); }

extern "C" void plugin_call(std::int64_t index, void (*host)(std::int64_t)) {
  HODO_SCOPE_F("plugin", index, {"language", "C++"}) {
    HODO_MARK("index", index);
    host(index);
  }
}
