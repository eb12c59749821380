// Where the recorder is: found once, at the first use of anything.
#ifndef HODO_DETAIL_LIBRARY_HPP
#define HODO_DETAIL_LIBRARY_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../hodo.h"
#include "absent.hpp"

#if !defined(HODO_STATIC)
#include <dlfcn.h>

#include <cstdlib>
#endif

namespace hodo {
inline namespace v1 {
namespace detail {

// Hidden: every program and plugin has its own, whatever version of this header it was built with.
// All are constants at first and never destroyed, so scopes work in static constructors and
// destructors.

// Says that nobody has looked for the recorder yet: as if it were on, so that someone does.
inline constexpr std::uint32_t not_looked_for = 1;

[[gnu::visibility("hidden")]] inline std::atomic<const hodo_api_table*> found_table{nullptr};
[[gnu::visibility("hidden")]] inline std::atomic<const volatile std::uint32_t*> on_word{
    &not_looked_for};

#if defined(HODO_STATIC)

inline const hodo_api_table* find_table() noexcept { return hodo_api(HODO_API_VERSION); }

#else

inline void* open_library() noexcept {
  if (const char* file = std::getenv("HODO_LIBRARY")) {
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
  }
  void* library = dlopen("libhodo.so", RTLD_NOW | RTLD_LOCAL);
#if defined(HODO_LIBRARY_FILE)
  if (library == nullptr) library = dlopen(HODO_LIBRARY_FILE, RTLD_NOW | RTLD_LOCAL);
#endif
  return library;
}

inline const hodo_api_table* find_table() noexcept {
  void* library = open_library();
  void* symbol = library == nullptr ? nullptr : dlsym(library, "hodo_api");
  if (symbol == nullptr) {
    say_why_absent(dlerror());
    return nullptr;
  }
  const auto api = reinterpret_cast<const hodo_api_table* (*)(std::uint32_t)>(symbol);
  return api(HODO_API_VERSION);
}

#endif  // HODO_STATIC

// Never null.
[[gnu::cold]] inline const hodo_api_table* look_for_table() noexcept {
  static const hodo_api_table* const table = [] {
    const hodo_api_table* const found = find_table();
    if (found != nullptr && found->size >= sizeof(hodo_api_table)) return found;
    if (found != nullptr) say_why_absent("libhodo.so is older than the header");
    return &absent;
  }();
  found_table.store(table, std::memory_order_release);
  on_word.store(table->on, std::memory_order_release);
  return table;
}

inline const hodo_api_table* table() noexcept {
  const hodo_api_table* const found = found_table.load(std::memory_order_acquire);
  return found != nullptr ? found : look_for_table();
}

// Whether a recorder is on.
inline bool is_on() noexcept {
  if (*on_word.load(std::memory_order_relaxed) == 0) return false;
  return *table()->on != 0;
}

}  // namespace detail
}  // namespace v1
}  // namespace hodo

#endif  // HODO_DETAIL_LIBRARY_HPP
