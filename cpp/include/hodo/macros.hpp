// The macros. A name is a constant, looked up once for the place it stands at; arguments are
// evaluated only while the recorder is on.
#ifndef HODO_MACROS_HPP
#define HODO_MACROS_HPP

#include "scope.hpp"

#define HODO_JOIN_2(a, b) a##b
#define HODO_JOIN(a, b) HODO_JOIN_2(a, b)

#if defined(HODO_DISABLE)

#define HODO_SCOPE(name)
#define HODO_SCOPE_F(name, ...)                                         \
  if (static_cast<void>(sizeof(::hodo::detail::Fields{__VA_ARGS__})); false) { \
  } else
#define HODO_FUNCTION() static_assert(true, "")
#define HODO_MARK(name, value) static_cast<void>(sizeof(value))
#define HODO_SUMMARY(name, value) static_cast<void>(sizeof(value))

#else

// Records the block that follows: HODO_SCOPE("forward") { ... }
#define HODO_SCOPE(name)                                                               \
  if (const ::hodo::Scope HODO_JOIN(hodo_scope_, __LINE__){HODO_SITE(name)}; false) { \
  } else

// The same with an index (or hodo::no_index) and attributes:
// HODO_SCOPE_F("forward", step, {"variant", "beam"}, {"lr", 0.1}) { ... }
#define HODO_SCOPE_F(name, ...)                                                     \
  if (const ::hodo::Scope HODO_JOIN(hodo_scope_, __LINE__) =                        \
          ::hodo::detail::is_on()                                                   \
              ? ::hodo::detail::open_with(HODO_SITE(name),                          \
                                          ::hodo::detail::Fields{__VA_ARGS__})      \
              : ::hodo::Scope();                                                    \
      false) {                                                                      \
  } else

// Records the rest of the function, under its name.
#define HODO_FUNCTION()                                                       \
  static ::hodo::detail::Site HODO_JOIN(hodo_site_, __LINE__){__func__};      \
  const ::hodo::Scope HODO_JOIN(hodo_scope_, __LINE__) {                      \
    HODO_JOIN(hodo_site_, __LINE__)                                           \
  }

// Attaches a value to the innermost open scope: a point of a series.
#define HODO_MARK(name, value) HODO_MARK_AS(name, value, ::hodo::Kind::point)

// Attaches the one value that stands for the scope.
#define HODO_SUMMARY(name, value) HODO_MARK_AS(name, value, ::hodo::Kind::summary)

#define HODO_MARK_AS(name, value, kind)                                              \
  (::hodo::detail::is_on() ? ::hodo::mark(HODO_SITE(name), ::hodo::Value(value), kind) \
                           : static_cast<void>(0))

#define HODO_SITE(name)                                  \
  ([]() noexcept -> ::hodo::detail::Site& {              \
    static constexpr const char* hodo_text = name;       \
    static ::hodo::detail::Site hodo_site{hodo_text};    \
    return hodo_site;                                    \
  }())

#endif  // HODO_DISABLE

#endif  // HODO_MACROS_HPP
