// Whether a scope is being left by an exception.
#ifndef HODO_DETAIL_EXCEPTIONS_HPP
#define HODO_DETAIL_EXCEPTIONS_HPP

#if defined(__cpp_exceptions)
#include <cxxabi.h>
#endif

namespace hodo {
inline namespace v1 {
namespace detail {

inline constexpr unsigned no_exceptions = 0;

// Where the C++ runtime counts this thread's exceptions that were thrown and not yet caught: the
// second field of __cxa_eh_globals, by the Itanium C++ ABI. std::uncaught_exceptions() reads the
// same word, by way of two calls that cost more than a whole scope may.
inline const unsigned* find_exceptions() noexcept {
#if defined(__cpp_exceptions)
  struct Globals {
    void* caught;
    unsigned uncaught;
  };
  return &reinterpret_cast<const Globals*>(__cxxabiv1::__cxa_get_globals())->uncaught;
#else
  return &no_exceptions;
#endif
}

}  // namespace detail
}  // namespace v1
}  // namespace hodo

#endif  // HODO_DETAIL_EXCEPTIONS_HPP
