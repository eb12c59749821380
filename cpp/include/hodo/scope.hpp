// Scopes of a thread, marks, and numbered contexts.
#ifndef HODO_SCOPE_HPP
#define HODO_SCOPE_HPP

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "detail/names.hpp"
#include "value.hpp"

namespace hodo {
inline namespace v1 {

// An open scope of this thread; it closes when destroyed, or by end(). Left by an exception it is
// recorded as failed. Scopes that close out of order each close themselves and nothing else.
class Scope {
 public:
  // A scope that records nothing.
  Scope() noexcept = default;

  explicit Scope(std::string_view name, Index index = no_index) noexcept
      : Scope(detail::is_on() ? detail::table()->head(detail::name_id(name), 0) : 0, index) {}

  Scope(std::string_view name, Index index,
        std::initializer_list<Attribute> attributes) noexcept
      : Scope(name, index) {
    set(attributes);
  }

  explicit Scope(detail::Site& site, Index index = no_index) noexcept
      : Scope(site.head(), index) {}

  // A scope with flags, for the benchmark loops.
  Scope(std::uint32_t name, std::uint16_t flags, Index index) noexcept
      : Scope(name == 0 ? 0 : detail::table()->head(name, flags), index) {}

  Scope(Scope&& other) noexcept
      : scope_(std::exchange(other.scope_, hodo_scope{})), exceptions_(other.exceptions_) {}

  Scope& operator=(Scope&& other) noexcept {
    if (this != &other) {
      end();
      scope_ = std::exchange(other.scope_, hodo_scope{});
      exceptions_ = other.exceptions_;
    }
    return *this;
  }

  ~Scope() {
    if (scope_.slot != nullptr) detail::close_scope(scope_.slot, scope_.id, exceptions_);
  }

  // Closes it now.
  void end() noexcept {
    if (scope_.slot != nullptr) {
      detail::close_scope(scope_.slot, scope_.id, exceptions_);
      scope_ = hodo_scope{};
    }
  }

  void set(std::string_view key, const Value& value) noexcept {
    if (is_recorded()) set({Attribute(key, value)});
  }

  void set(std::initializer_list<Attribute> attributes) noexcept {
    static_assert(sizeof(Attribute) == sizeof(hodo_value), "an attribute is its value");
    if (attributes.size() != 0) set(&attributes.begin()->raw, attributes.size());
  }

  void set(const hodo_value* values, std::size_t count) noexcept {
    if (is_recorded() && count != 0) detail::set_values(scope_, values, count);
  }

  // Marks it as failed.
  void fail() noexcept {
    if (is_recorded()) detail::table()->fail(scope_);
  }

  // Marks it as failed and keeps why as the attribute `error`.
  void fail(std::string_view why) noexcept {
    fail();
    set("error", why);
  }

  // Takes it back: nothing is recorded.
  void cancel() noexcept {
    if (scope_.slot == nullptr) return;
    detail::table()->cancel(scope_);
    scope_ = hodo_scope{};
  }

  // Whether this pass is recorded: the recorder is on and the scope is not too deep.
  bool is_recorded() const noexcept { return scope_.id != 0; }

  // 32 hex digits that no other scope of any process has; empty when it is not recorded.
  std::string id() const {
    char text[33] = {};
    detail::table()->id(scope_.id, text);
    return text;
  }

 private:
  Scope(std::uint64_t head, Index index) noexcept
      : scope_(head == 0 ? hodo_scope{} : detail::open_scope(head | flag_of(index), index.number)),
        exceptions_(detail::exceptions_in_flight()) {}

  static constexpr std::uint64_t flag_of(Index index) noexcept {
    return index.is_some ? std::uint64_t{HODO_FLAG_INDEX} << 16 : 0;
  }

  hodo_scope scope_ = {};
  int exceptions_ = 0;
};

namespace detail {

// What HODO_SCOPE_F takes: an index, then up to eight attributes, each in braces.
struct Fields {
  using A = const Attribute&;

  Fields(Index i) noexcept : index(i), count(0) {}
  Fields(Index i, A a) noexcept : Fields(i) {
    keep({&a});
  }
  Fields(Index i, A a, A b) noexcept : Fields(i) {
    keep({&a, &b});
  }
  Fields(Index i, A a, A b, A c) noexcept : Fields(i) {
    keep({&a, &b, &c});
  }
  Fields(Index i, A a, A b, A c, A d) noexcept : Fields(i) {
    keep({&a, &b, &c, &d});
  }
  Fields(Index i, A a, A b, A c, A d, A e) noexcept : Fields(i) {
    keep({&a, &b, &c, &d, &e});
  }
  Fields(Index i, A a, A b, A c, A d, A e, A f) noexcept : Fields(i) {
    keep({&a, &b, &c, &d, &e, &f});
  }
  Fields(Index i, A a, A b, A c, A d, A e, A f, A g) noexcept : Fields(i) {
    keep({&a, &b, &c, &d, &e, &f, &g});
  }
  Fields(Index i, A a, A b, A c, A d, A e, A f, A g, A h) noexcept : Fields(i) {
    keep({&a, &b, &c, &d, &e, &f, &g, &h});
  }

  // Leaves the rest of the values as they are: nobody looks there.
  void keep(std::initializer_list<const Attribute*> given) noexcept {
    for (const Attribute* attribute : given) values[count++] = attribute->raw;
  }

  Index index;
  std::size_t count;
  hodo_value values[8];
};

inline Scope open_with(Site& site, const Fields& fields) noexcept {
  Scope scope(site, fields.index);
  scope.set(fields.values, fields.count);
  return scope;
}

}  // namespace detail

// Calls `work` in a scope and returns what it returns.
template <class Work>
decltype(auto) scoped(std::string_view name, Work&& work) {
  const Scope scope(name);
  return std::forward<Work>(work)();
}

enum class Kind { point, summary };

// Attaches a value to the innermost open scope: a point of a series, or the one value that stands
// for the scope.
inline void mark(std::string_view name, const Value& value, Kind kind = Kind::point) noexcept {
  if (!detail::is_on()) return;
  const hodo_value raw = value.with_key(detail::name_id(name));
  detail::make_mark(raw, kind == Kind::summary);
}

inline void mark(detail::Site& site, const Value& value, Kind kind) noexcept {
  const hodo_value raw = value.with_key(site.id());
  detail::make_mark(raw, kind == Kind::summary);
}

// How deep this thread is: 1 outside of everything, one more in each scope and NewScope.
inline std::uint64_t current_scope_id() noexcept { return detail::table()->current_scope_id(); }

// Adds one to current_scope_id() while it lives. Records nothing, works before init() and without
// the recorder, and has no depth limit.
class [[nodiscard]] NewScope {
 public:
  NewScope() noexcept { detail::table()->enter_new_scope(); }
  NewScope(const NewScope&) = delete;
  NewScope& operator=(const NewScope&) = delete;
  ~NewScope() { detail::table()->leave_new_scope(); }
};

}  // namespace v1
}  // namespace hodo

#endif  // HODO_SCOPE_HPP
