// Scopes that begin here and end anywhere, and parents on other threads.
#ifndef HODO_HANDLE_HPP
#define HODO_HANDLE_HPP

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "detail/names.hpp"
#include "value.hpp"

namespace hodo {
inline namespace v1 {

// While it lives, new scopes of this thread are children of the scope it was made from.
class [[nodiscard]] Attached {
 public:
  explicit Attached(hodo_handle handle) noexcept : entered_(detail::table()->attach(handle)) {}
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  ~Attached() { detail::table()->detach(entered_); }

 private:
  hodo_entered entered_;
};

// A reference to a scope, to be copied to other threads and made the parent there.
class Link {
 public:
  explicit Link(hodo_handle handle) noexcept : handle_(handle) {}

  // The current scope of this thread; nothing when there is none.
  static Link current() noexcept { return Link(detail::table()->current()); }

  // No scope: what opens while it is attached has no parent.
  static Link none() noexcept { return Link(detail::table()->outside()); }

  // Makes the scope current on this thread until the result is destroyed.
  Attached attach() const noexcept { return Attached(handle_); }

 private:
  hodo_handle handle_;
};

// A scope that may end on another thread than it began; it ends when destroyed, or by end().
class Handle {
 public:
  // A handle that records nothing.
  Handle() noexcept = default;

  explicit Handle(hodo_handle handle) noexcept
      : handle_(handle), exceptions_(detail::exceptions_in_flight()) {}

  Handle(Handle&& other) noexcept
      : handle_(std::exchange(other.handle_, hodo_handle{})),
        failed_(other.failed_),
        exceptions_(other.exceptions_) {}

  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      end();
      handle_ = std::exchange(other.handle_, hodo_handle{});
      failed_ = other.failed_;
      exceptions_ = other.exceptions_;
    }
    return *this;
  }

  ~Handle() {
    // On another thread the count says nothing, but there it can only be too small.
    if (detail::exceptions_in_flight() > exceptions_) failed_ = true;
    end();
  }

  // Ends it now.
  void end() noexcept {
    if (!is_recorded()) return;
    detail::table()->end(handle_, failed_ ? HODO_FLAG_FAILED : 0);
    handle_ = hodo_handle{};
  }

  void set(std::string_view key, const Value& value) noexcept {
    if (is_recorded()) set({Attribute(key, value)});
  }

  void set(std::initializer_list<Attribute> attributes) noexcept {
    if (!is_recorded() || attributes.size() == 0) return;
    detail::table()->set_begun(handle_, &attributes.begin()->raw, attributes.size());
  }

  // Marks it as failed.
  void fail() noexcept { failed_ = true; }

  // Marks it as failed and keeps why as the attribute `error`.
  void fail(std::string_view why) noexcept {
    fail();
    set("error", why);
  }

  // Makes it the current scope of this thread until the result is destroyed.
  Attached attach() const noexcept { return Attached(handle_); }

  // A reference to it, for attaching on several threads.
  Link link() const noexcept { return Link(handle_); }

  bool is_recorded() const noexcept { return handle_.id != 0; }

  // 32 hex digits that no other scope of any process has; empty when it is not recorded.
  std::string id() const {
    char text[33] = {};
    detail::table()->id(handle_.id, text);
    return text;
  }

 private:
  hodo_handle handle_ = {};
  bool failed_ = false;
  int exceptions_ = 0;
};

// Begins a scope inside the current one; it does not become current itself.
inline Handle begin(std::string_view name, Index index = no_index,
                    std::initializer_list<Attribute> attributes = {}) noexcept {
  if (!detail::is_on()) return Handle();
  const auto flags = static_cast<std::uint16_t>(index.is_some ? HODO_FLAG_INDEX : 0);
  Handle handle(detail::table()->begin(detail::name_id(name), flags, index.number));
  handle.set(attributes);
  return handle;
}

// Makes a scope current on this thread until the result is destroyed.
inline Attached attach(const Link& link) noexcept { return link.attach(); }
inline Attached attach(const Handle& handle) noexcept { return handle.attach(); }

// `work` with the scope current here as its parent, for any way of running it elsewhere:
// std::thread worker(hodo::inherit([&] { ... }));
template <class Work>
auto inherit(Work work) {
  return [parent = Link::current(), work = std::move(work)](auto&&... arguments) mutable {
    const Attached current = parent.attach();
    return work(std::forward<decltype(arguments)>(arguments)...);
  };
}

}  // namespace v1
}  // namespace hodo

#endif  // HODO_HANDLE_HPP
