// Texts as the recorder knows them: looked up once.
#ifndef HODO_DETAIL_NAMES_HPP
#define HODO_DETAIL_NAMES_HPP

#if defined(HODO_DISABLE)
#include "disabled.hpp"
#else

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "fast_path.hpp"

namespace hodo {
inline namespace v1 {
namespace detail {

// A place where a text is used: a constant at first, so that a static one has no guard.
class Site {
 public:
  explicit constexpr Site(const char* text) noexcept : text_(text), head_(0) {}

  // The first word of a scope with this name; 0 while no recorder is on.
  std::uint64_t head() noexcept {
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    return head != 0 || !is_on() ? head : look_up();
  }

  // The text's id; 0 while no recorder is on.
  std::uint32_t id() noexcept { return static_cast<std::uint32_t>(head() >> 32); }

 private:
  [[gnu::cold]] std::uint64_t look_up() noexcept {
    const hodo_api_table* const api = table();
    const std::uint32_t name = api->name(text_, std::strlen(text_));
    if (name == 0) return 0;
    const std::uint64_t head = api->head(name, 0);
    head_.store(head, std::memory_order_release);
    return head;
  }

  const char* text_;
  std::atomic<std::uint64_t> head_;
};

// A text and its id, kept by the address it stood at.
struct Known {
  const char* address;
  std::size_t size;
  std::uint32_t id;
  char* text() noexcept { return reinterpret_cast<char*>(this + 1); }
  bool is(std::string_view other) noexcept {
    return address == other.data() && size == other.size() &&
           std::memcmp(text(), other.data(), size) == 0;
  }
};

inline constexpr std::size_t known_places = 512;
[[gnu::visibility("hidden")]] inline std::atomic<Known*> known_names[known_places] = {};

inline std::atomic<Known*>& known_place(const char* address) noexcept {
  const auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address));
  return known_names[(bits * 0x9E3779B97F4A7C15u) >> 55];
}

// Keeps the id if the place is free; texts are few where it pays, so nothing makes room.
[[gnu::cold]] inline std::uint32_t learn_name(std::string_view text) noexcept {
  constexpr std::size_t longest = 128;
  const std::uint32_t id = table()->name(text.data(), text.size());
  std::atomic<Known*>& place = known_place(text.data());
  Known* expected = place.load(std::memory_order_relaxed);
  if (id == 0 || expected != nullptr || text.size() > longest) return id;
  void* const memory = std::malloc(sizeof(Known) + text.size());
  if (memory == nullptr) return id;
  Known* const known = ::new (memory) Known{text.data(), text.size(), id};
  std::memcpy(known->text(), text.data(), text.size());
  if (!place.compare_exchange_strong(expected, known, std::memory_order_release,
                                     std::memory_order_relaxed)) {
    std::free(memory);
  }
  return id;
}

// The id of a text: by its address if it still stands there, else by its content. Inlined, so that
// comparing a literal takes no call.
[[gnu::always_inline]] inline std::uint32_t name_id(std::string_view text) noexcept {
  Known* const known = known_place(text.data()).load(std::memory_order_acquire);
  return known != nullptr && known->is(text) ? known->id : learn_name(text);
}

static_assert(known_places == 512, "the shift in known_place is for this");

}  // namespace detail
}  // namespace v1
}  // namespace hodo

#endif  // HODO_DISABLE
#endif  // HODO_DETAIL_NAMES_HPP
