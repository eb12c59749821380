// Training loops: a scope for every epoch and batch.
#ifndef HODO_LOOPS_HPP
#define HODO_LOOPS_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include "scope.hpp"

namespace hodo {
inline namespace v1 {

// A range whose every item is recorded as a scope; made by epochs() and batches(), for one pass.
//
// The scope of an item opens when the item is asked for and stays open until the next one is asked
// for or the range is destroyed, so the loop's body is inside it. N items make N scopes.
template <class Range>
class Loops {
  using Inner = decltype(std::begin(std::declval<Range&>()));

 public:
  Loops(Range&& range, detail::Site& name, bool waits) noexcept
      : range_(std::forward<Range>(range)), name_(name), waits_(waits) {}

  Loops(const Loops&) = delete;
  Loops& operator=(const Loops&) = delete;

  ~Loops() { leave_item(); }

  struct Sentinel {};

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = typename std::iterator_traits<Inner>::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = decltype(*std::declval<Inner&>());

    Iterator(Loops& loops, Inner inner) : loops_(&loops), inner_(std::move(inner)) {
      loops_->cancel_if(is_last());
    }

    reference operator*() {
      const ArrivesAfter arrives{*loops_};
      return *inner_;
    }

    Iterator& operator++() {
      loops_->next_item();
      ++inner_;
      loops_->cancel_if(is_last());
      return *this;
    }

    void operator++(int) { ++*this; }

    bool operator!=(Sentinel) { return !is_last(); }
    bool operator==(Sentinel) { return is_last(); }

   private:
    // The wait for an item ends when the item is there.
    struct ArrivesAfter {
      Loops& loops;
      ~ArrivesAfter() { loops.wait_.end(); }
    };

    bool is_last() { return !(inner_ != std::end(loops_->range_)); }

    Loops* loops_;
    Inner inner_;
  };

  Iterator begin() {
    next_item();
    return Iterator(*this, std::begin(range_));
  }

  Sentinel end() const noexcept { return {}; }

  template <class R = Range>
  auto size() const -> decltype(std::size(std::declval<const std::remove_reference_t<R>&>())) {
    return std::size(range_);
  }

 private:
  void next_item() noexcept {
    leave_item();
    item_ = Scope(name_, index_++);
    if (waits_) {
      static detail::Site data_wait{"data_wait"};
      wait_ = Scope(data_wait);
    }
  }

  void leave_item() noexcept {
    wait_.end();
    item_.end();
  }

  void cancel_if(bool is_last) noexcept {
    if (!is_last) return;
    wait_.cancel();
    item_.cancel();
  }

  Range range_;
  detail::Site& name_;
  bool waits_;
  std::int64_t index_ = 0;
  Scope item_;
  Scope wait_;
};

// Records every item as a scope `epoch` with its index, from 0.
template <class Range>
Loops<Range> epochs(Range&& range) {
  static detail::Site epoch{"epoch"};
  return {std::forward<Range>(range), epoch, false};
}

// Records every item as a scope `batch` with its index, from 0; the time spent waiting for the item
// is its child `data_wait`.
template <class Range>
Loops<Range> batches(Range&& range) {
  static detail::Site batch{"batch"};
  return {std::forward<Range>(range), batch, true};
}

// The numbers from 0 to below `count`, for a loop: hodo::epochs(hodo::count(20)).
class Count {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::int64_t;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = std::int64_t;

    explicit constexpr Iterator(std::int64_t at) noexcept : at_(at) {}
    constexpr std::int64_t operator*() const noexcept { return at_; }
    constexpr Iterator& operator++() noexcept { return ++at_, *this; }
    constexpr bool operator!=(const Iterator& other) const noexcept { return at_ != other.at_; }
    constexpr bool operator==(const Iterator& other) const noexcept { return at_ == other.at_; }

   private:
    std::int64_t at_;
  };

  explicit constexpr Count(std::int64_t count) noexcept : count_(count < 0 ? 0 : count) {}
  constexpr Iterator begin() const noexcept { return Iterator(0); }
  constexpr Iterator end() const noexcept { return Iterator(count_); }
  constexpr std::size_t size() const noexcept { return static_cast<std::size_t>(count_); }

 private:
  std::int64_t count_;
};

constexpr Count count(std::int64_t count) noexcept { return Count(count); }

}  // namespace v1
}  // namespace hodo

#endif  // HODO_LOOPS_HPP
