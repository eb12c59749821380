// The recorder of a program that is built with HODO_DISABLE.
#ifndef HODO_DETAIL_DISABLED_HPP
#define HODO_DETAIL_DISABLED_HPP

#include <cstdint>
#include <string_view>

#include "absent.hpp"

namespace hodo {
inline namespace v1 {
namespace detail {

constexpr const hodo_api_table* table() noexcept { return &absent; }
constexpr bool is_on() noexcept { return false; }
constexpr std::uint32_t name_id(std::string_view) noexcept { return 0; }

// A place where a text is used.
class Site {
 public:
  explicit constexpr Site(const char*) noexcept {}
  constexpr std::uint64_t head() const noexcept { return 0; }
  constexpr std::uint32_t id() const noexcept { return 0; }
};

inline hodo_scope open_scope(std::uint64_t, std::int64_t) noexcept { return {}; }
inline void close_scope(hodo_slot*, std::uint64_t, int) noexcept {}
inline void set_values(hodo_scope, const hodo_value*, std::size_t) noexcept {}
inline void make_mark(const hodo_value&, bool) noexcept {}
constexpr int exceptions_in_flight() noexcept { return 0; }

}  // namespace detail
}  // namespace v1
}  // namespace hodo

#endif  // HODO_DETAIL_DISABLED_HPP
