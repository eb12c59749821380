// Benchmark loops: warm-up, then iterations that are each recorded and timed.
#ifndef HODO_BENCH_HPP
#define HODO_BENCH_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "scope.hpp"
#include "statistics.hpp"

namespace hodo {
inline namespace v1 {

// How often a benchmark loop runs: hodo::repeat(10).warmup(3).tag("math").
class Repeat {
 public:
  explicit Repeat(std::uint32_t repeat) noexcept : repeat_(repeat) {}

  // How many passes come first and are not measured.
  Repeat warmup(std::uint32_t passes) const {
    Repeat changed = *this;
    changed.warmup_ = passes;
    return changed;
  }

  // A word shown next to the name.
  Repeat tag(std::string_view tag) const {
    Repeat changed = *this;
    changed.tag_ = tag;
    return changed;
  }

 private:
  friend class Bench;
  std::uint32_t repeat_;
  std::uint32_t warmup_ = 0;
  std::string tag_;
};

inline Repeat repeat(std::uint32_t passes) noexcept { return Repeat(passes); }

namespace detail {

// The compiler must take what is stored here for read by someone.
[[gnu::visibility("hidden")]] inline std::atomic<const void*> kept_result{nullptr};

template <class Result>
void keep_result(const Result& result) noexcept {
  kept_result.store(std::addressof(result), std::memory_order_relaxed);
}

}  // namespace detail

// A benchmark loop: a scope of its name with the attributes `repeat`, `warmup` and `tag` and a child
// `iteration` for each measured pass, and before it a scope `<name> warm-up` for the rest.
//
// Run it by run() or `+=`, once, or go over the index of each pass, negative in the warm-up:
//
//   for (auto i : hodo::Bench("push", hodo::repeat(2).warmup(1))) { ... }   // -1, 0, 1
class Bench {
 public:
  Bench(std::string_view name, Repeat repeat = Repeat(10))
      : name_(name), repeat_(std::move(repeat)), next_(-std::int64_t{repeat_.warmup_}) {}

  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  ~Bench() {
    iteration_.end();
    part_.end();
  }

  // Runs `work` for every pass and gives the times of the measured ones. What it returns is
  // computed, and destroyed outside the measured time.
  template <class Work>
  Statistics run(Work&& work) {
    std::vector<std::uint64_t> samples;
    samples.reserve(repeat_.repeat_);
    for (const std::int64_t index : *this) {
      const std::uint64_t took_ns = time(work);
      if (index >= 0) samples.push_back(took_ns);
    }
    return Statistics(std::move(samples));
  }

  template <class Work>
  Statistics operator+=(Work&& work) {
    return run(std::forward<Work>(work));
  }

  struct Sentinel {};

  class Iterator {
   public:
    explicit Iterator(Bench& bench) noexcept : bench_(&bench) {}
    std::int64_t operator*() const noexcept { return bench_->next_; }
    Iterator& operator++() {
      bench_->end_pass();
      return *this;
    }
    bool operator!=(Sentinel) const noexcept { return !bench_->is_over(); }

   private:
    Bench* bench_;
  };

  Iterator begin() {
    begin_pass();
    return Iterator(*this);
  }

  Sentinel end() const noexcept { return {}; }

 private:
  using Clock = std::chrono::steady_clock;

  template <class Work>
  std::uint64_t time(Work& work) {
    const Clock::time_point start = Clock::now();
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      return end_timed(start);
    } else {
      const auto& result = work();
      detail::keep_result(result);
      return end_timed(start);
    }
  }

  std::uint64_t end_timed(Clock::time_point start) noexcept {
    const auto took = Clock::now() - start;
    iteration_.end();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
  }

  bool is_over() const noexcept { return next_ >= std::int64_t{repeat_.repeat_}; }

  void begin_pass() {
    if (is_over()) {
      part_.end();
      return;
    }
    if (!detail::is_on()) return;
    if (next_ == 0 || !part_.is_recorded()) open_part();
    static detail::Site iteration{"iteration"};
    const int warmup = next_ < 0 ? HODO_FLAG_WARMUP : 0;
    iteration_ =
        Scope(iteration.id(), static_cast<std::uint16_t>(HODO_FLAG_ITERATION | warmup), next_);
  }

  void end_pass() {
    iteration_.end();
    ++next_;
    begin_pass();
  }

  void open_part() {
    part_.end();
    if (next_ < 0) {
      part_ = Scope(detail::name_id(name_ + " warm-up"), HODO_FLAG_WARMUP, no_index);
    } else {
      part_ = Scope(detail::name_id(name_), HODO_FLAG_BENCH, no_index);
      part_.set({{"repeat", repeat_.repeat_}, {"warmup", repeat_.warmup_}});
    }
    if (!repeat_.tag_.empty()) part_.set("tag", repeat_.tag_);
  }

  std::string name_;
  Repeat repeat_;
  std::int64_t next_;
  Scope part_;
  Scope iteration_;
};

// Runs `work` as a benchmark loop and gives the times of its iterations.
template <class Work>
Statistics bench(std::string_view name, const Repeat& repeat, Work&& work) {
  return Bench(name, repeat).run(std::forward<Work>(work));
}

}  // namespace v1
}  // namespace hodo

// HODO_BENCH("matmul", hodo::repeat(10).warmup(3)) { ... };
//
// The block is a function of its own: `return` ends one pass. The value is the Statistics.
#define HODO_BENCH(name, ...) ::hodo::Bench(name, __VA_ARGS__) += [&]()

#endif  // HODO_BENCH_HPP
