// hodo, as a program in C++ uses it.
#include <hodo/hodo.hpp>

extern "C" {

[[gnu::noinline]] void cpp_scopes(std::uint64_t cycles) {
  for (std::uint64_t i = 0; i < cycles; ++i) {
    HODO_SCOPE("x") {}
  }
}

[[gnu::noinline]] void cpp_attributes(std::uint64_t cycles) {
  for (std::uint64_t i = 0; i < cycles; ++i) {
    HODO_SCOPE_F("x", i, {"rows", i}, {"variant", "beam"}) {}
  }
}

[[gnu::noinline]] void cpp_marks(std::uint64_t cycles) {
  for (std::uint64_t i = 0; i < cycles; ++i) {
    HODO_MARK("loss", static_cast<double>(i));
  }
}

[[gnu::noinline]] void cpp_named(std::uint64_t cycles) {
  for (std::uint64_t i = 0; i < cycles; ++i) {
    const hodo::Scope scope("x");
  }
}
}
