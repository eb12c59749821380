// Whether a scope is being left by an exception.
#ifndef HODO_DETAIL_EXCEPTIONS_HPP
#define HODO_DETAIL_EXCEPTIONS_HPP

#if defined(__cpp_exceptions)
#include <exception>
#endif

namespace hodo {
inline namespace v1 {
namespace detail {

// Exceptions of this thread that were thrown and not yet caught.
inline int exceptions_in_flight() noexcept {
#if defined(__cpp_exceptions)
  return std::uncaught_exceptions();
#else
  return 0;
#endif
}

}  // namespace detail
}  // namespace v1
}  // namespace hodo

#endif  // HODO_DETAIL_EXCEPTIONS_HPP
