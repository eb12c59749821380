// What may stand as the value of an attribute or a mark.
#ifndef HODO_VALUE_HPP
#define HODO_VALUE_HPP

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "detail/names.hpp"

namespace hodo {
inline namespace v1 {

// A JSON document, kept as such; it is not checked.
struct Json {
  std::string_view text;
};

// A whole number, a floating one, a boolean, text or Json. Text must live until the call that takes
// it returns; a literal is looked up once and costs a word after that.
class Value {
 public:
  template <class T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
  Value(T truth) noexcept : raw_{HODO_VALUE_BOOL, 0, truth, 0} {}

  // Whole numbers above the largest std::int64_t are kept as floating ones.
  template <class T,
            std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, short> = 0>
  Value(T number) noexcept : raw_{HODO_VALUE_INT, 0, static_cast<std::uint64_t>(number), 0} {
    if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(std::uint64_t)) {
      if (number > static_cast<T>(std::numeric_limits<std::int64_t>::max())) {
        *this = Value(static_cast<double>(number));
      }
    }
  }

  template <class T, std::enable_if_t<std::is_floating_point_v<T>, long> = 0>
  Value(T number) noexcept : raw_{HODO_VALUE_FLOAT, 0, 0, 0} {
    const auto wide = static_cast<double>(number);
    std::memcpy(&raw_.word, &wide, sizeof wide);
  }

  template <std::size_t N>
  Value(const char (&literal)[N]) noexcept : raw_{} {
    const std::string_view text =
        literal[N - 1] == '\0' ? std::string_view(literal) : std::string_view(literal, N);
    if (text.size() > longest_name) {
      raw_ = of_text(HODO_VALUE_TEXT, text);
    } else {
      raw_ = hodo_value{HODO_VALUE_NAME, 0, detail::name_id(text), 0};
    }
  }

  template <std::size_t N>
  Value(char (&buffer)[N]) noexcept
      : raw_(of_text(HODO_VALUE_TEXT, {buffer, length_of(buffer, N)})) {}

  template <class T, std::enable_if_t<std::is_same_v<T, const char*> || std::is_same_v<T, char*>,
                                      char> = 0>
  Value(T text) noexcept
      : raw_(of_text(HODO_VALUE_TEXT, text == nullptr ? std::string_view() : text)) {}

  Value(std::string_view text) noexcept : raw_(of_text(HODO_VALUE_TEXT, text)) {}
  Value(const std::string& text) noexcept : raw_(of_text(HODO_VALUE_TEXT, text)) {}
  Value(Json json) noexcept : raw_(of_text(HODO_VALUE_JSON, json.text)) {}

  // As the recorder takes it.
  hodo_value with_key(std::uint32_t key) const noexcept {
    hodo_value raw = raw_;
    raw.key = key;
    return raw;
  }

 private:
  static constexpr std::size_t longest_name = 128;

  static std::size_t length_of(const char* text, std::size_t room) noexcept {
    const void* const end = std::memchr(text, '\0', room);
    return end == nullptr ? room : static_cast<std::size_t>(static_cast<const char*>(end) - text);
  }

  static hodo_value of_text(std::uint32_t code, std::string_view text) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(text.data());
    return {code, 0, static_cast<std::uint64_t>(address), text.size()};
  }

  hodo_value raw_;
};

// An attribute: {"rows", 32}. Two have a meaning: `tag` is shown next to the name, and a scope with
// `error` counts as failed.
struct Attribute {
  Attribute(std::string_view key, const Value& value) noexcept
      : raw(value.with_key(detail::name_id(key))) {}

  hodo_value raw;
};

// The index of a scope: any whole number, or no_index.
class Index {
 public:
  struct None {};

  constexpr Index(None) noexcept : number(0), is_some(false) {}

  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  constexpr Index(T index) noexcept : number(static_cast<std::int64_t>(index)), is_some(true) {}

  std::int64_t number;
  bool is_some;
};

inline constexpr Index::None no_index{};

}  // namespace v1
}  // namespace hodo

#endif  // HODO_VALUE_HPP
