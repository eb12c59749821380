// NVTX: a library of its own, so that one copy can find no tool and another a recording one.
#include <cstdint>
#include <nvtx3/nvtx3.hpp>

struct domain {
  static constexpr const char* name{"Library"};
};

extern "C" [[gnu::noinline]] void nvtx_domain_ranges(std::uint64_t cycles) {
  for (std::uint64_t i = 0; i < cycles; ++i) {
    const nvtx3::scoped_range_in<domain> range{"x", nvtx3::payload{i}};
  }
}

extern "C" [[gnu::noinline]] void nvtx_ranges(std::uint64_t cycles) {
  for (std::uint64_t i = 0; i < cycles; ++i) {
    const nvtx3::scoped_range range{"x"};
  }
}
