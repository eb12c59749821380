// Tracy, as a program in C++ uses it.
#include <cstdint>
#include <tracy/Tracy.hpp>

extern "C" [[gnu::noinline]] void cpp_tracy(std::uint64_t cycles) {
  for (std::uint64_t i = 0; i < cycles; ++i) {
    ZoneScopedN("x");
  }
}
