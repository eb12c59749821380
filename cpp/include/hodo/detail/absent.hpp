// What stands for the recorder where there is none: nothing is recorded, contexts are numbered.
#ifndef HODO_DETAIL_ABSENT_HPP
#define HODO_DETAIL_ABSENT_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../hodo.h"

namespace hodo {
inline namespace v1 {
namespace detail {

inline constexpr std::uint32_t never_on = 0;

[[gnu::visibility("hidden")]] inline char why_absent[256] = "hodo is compiled out";
[[gnu::visibility("hidden")]] inline thread_local std::uint64_t contexts_entered = 0;

inline void say_why_absent(const char* why) noexcept {
  std::strncpy(why_absent, why == nullptr ? "libhodo.so was not found" : why,
               sizeof why_absent - 1);
}

inline std::size_t absent_reason(char* text, std::size_t size) noexcept {
  const std::size_t length = std::strlen(why_absent);
  if (text != nullptr && size > 0) {
    const std::size_t bytes = length < size ? length : size - 1;
    std::memcpy(text, why_absent, bytes);
    text[bytes] = '\0';
  }
  return length;
}

inline void absent_health(hodo_health* health) noexcept {
  if (health == nullptr) return;
  const std::size_t size = health->struct_size;
  std::memset(health, 0, size < sizeof *health ? size : sizeof *health);
  health->struct_size = size;
}

inline constexpr hodo_api_table absent = {
    HODO_API_VERSION,
    sizeof(hodo_api_table),
    HODO_LAYOUT,
    &never_on,
    [](const hodo_options*) -> std::uint32_t { return 2; },
    absent_reason,
    []() -> std::uint32_t { return 3; },
    [](std::uint64_t) -> std::uint32_t { return 3; },
    absent_health,
    [](const char*, std::size_t) -> std::uint32_t { return 0; },
    [](std::uint32_t, std::uint16_t) -> std::uint64_t { return 0; },
    [](hodo_thread**, std::uint64_t, std::int64_t) { return hodo_scope{}; },
    [](hodo_thread**, hodo_scope) {},
    [](hodo_thread*, std::uint64_t now) { return now; },
    [](hodo_scope) {},
    [](hodo_scope) {},
    [](hodo_thread**, hodo_scope, const hodo_value*, std::size_t) {},
    [](hodo_thread**, const hodo_value*, bool) {},
    [](std::uint64_t, char* text) { *text = '\0'; },
    [](std::uint32_t, std::uint16_t, std::int64_t) { return hodo_handle{}; },
    [](hodo_handle, std::uint16_t) {},
    [](hodo_handle, const hodo_value*, std::size_t) {},
    []() { return hodo_handle{}; },
    []() { return hodo_handle{}; },
    [](hodo_handle) { return hodo_entered{}; },
    [](hodo_entered) {},
    []() -> std::uint64_t { return 1 + contexts_entered; },
    []() { ++contexts_entered; },
    []() { contexts_entered -= contexts_entered == 0 ? 0 : 1; },
    [](char*, std::size_t) -> std::size_t { return 0; },
    [](const char*, const char*, const char*) -> std::uint32_t { return 1; },
    []() -> std::uint32_t { return 0; },
    absent_reason,
    [](const char*) -> std::uint32_t { return 2; },
    []() -> std::uint32_t { return 2; },
    [](char*, std::size_t) -> std::size_t { return 0; },
};

}  // namespace detail
}  // namespace v1
}  // namespace hodo

#endif  // HODO_DETAIL_ABSENT_HPP
