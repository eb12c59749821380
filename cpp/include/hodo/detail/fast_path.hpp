// Opening and closing scopes: inlined on the state that the recorder shares with its callers where
// that pays, by a call everywhere else.
#ifndef HODO_DETAIL_FAST_PATH_HPP
#define HODO_DETAIL_FAST_PATH_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "exceptions.hpp"
#include "library.hpp"

// nvcc takes the calls: not all of its versions know the intrinsic. So does ThreadSanitizer, which
// does not see how the recorder hands memory from thread to thread.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HODO_THREAD_SANITIZER
#endif
#elif defined(__SANITIZE_THREAD__)
#define HODO_THREAD_SANITIZER
#endif

#if defined(__x86_64__) && !defined(__CUDACC__) && !defined(HODO_THREAD_SANITIZER)
#include <x86intrin.h>
#define HODO_INLINE_SCOPES 1
#else
#define HODO_INLINE_SCOPES 0
#endif

namespace hodo {
inline namespace v1 {
namespace detail {

// Stands for the state of a thread that has none: no check of the inlined path holds on it, so
// nobody writes it.
[[gnu::visibility("hidden")]] inline hodo_thread no_state = {};

// What this program or library knows of the calling thread.
struct ThreadLocal {
  hodo_thread* inlined;        // its state, if its layout is the one of this header, or no_state
  hodo_thread* state;          // its state, which only the recorder's functions write
  const unsigned* exceptions;  // see find_exceptions
};

[[gnu::visibility("hidden")]] inline thread_local ThreadLocal own = {&no_state, nullptr,
                                                                     &no_exceptions};

// Keeps what a call of the recorder's has put into `own.state`.
inline void keep_state(const hodo_api_table* api) noexcept {
  own.exceptions = find_exceptions();
  const bool can = HODO_INLINE_SCOPES && api->layout == HODO_LAYOUT && own.state != nullptr;
  own.inlined = can ? own.state : &no_state;
}

[[gnu::noinline]] inline hodo_scope open_by_call(std::uint64_t head, std::int64_t index) noexcept {
  const hodo_api_table* const api = table();
  const hodo_scope scope = api->open(&own.state, head, index);
  keep_state(api);
  return scope;
}

[[gnu::noinline]] inline void close_by_call(hodo_scope scope, bool failed) noexcept {
  const hodo_api_table* const api = table();
  if (failed) api->fail(scope);
  api->close(&own.state, scope);
}

// Exceptions of this thread that were thrown and not yet caught, as far as its scopes care.
inline int exceptions_in_flight() noexcept { return static_cast<int>(*own.exceptions); }

#if HODO_INLINE_SCOPES

// Keeps what is rare out of the way of what is not.
constexpr bool rarely(bool condition) noexcept { return __builtin_expect(condition, 0) != 0; }

// Words that others read or write meanwhile.
template <class Word>
Word read_shared(const Word& word) noexcept {
  return *static_cast<const volatile Word*>(&word);
}

template <class Word>
void publish(Word& word, Word value) noexcept {
  static_assert(sizeof(std::atomic<Word>) == sizeof(Word), "an atomic is its word");
  reinterpret_cast<std::atomic<Word>&>(word).store(value, std::memory_order_release);
}

// Whether others have set a word to zero: compared where it lies.
inline bool is_zero(const std::uint32_t& word) noexcept {
  bool zero;
  asm volatile("cmpl $0, %1" : "=@ccz"(zero) : "m"(word));
  return zero;
}

// Copies two words at once: a scope is short of places for stores, not of instructions.
inline void copy_two(std::uint64_t* to, const std::uint64_t* from) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

// Stores two words at once, to be copied by copy_two: it would wait for them if each were stored by
// itself.
inline void store_two(std::uint64_t* to, __m128i first, std::uint64_t second) noexcept {
  const __m128i both = _mm_unpacklo_epi64(first, _mm_cvtsi64_si128(static_cast<long long>(second)));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), both);
}

inline bool cpu_is_stale(const hodo_thread& thread, std::uint64_t now) noexcept {
  return rarely(read_shared(*thread.watch) != thread.armed) || rarely(now >= thread.until);
}

// Asks for the cache line that is written some records later: a thread that records faster than lines
// come from memory would else wait for each. It never faults, so the end of the memory is no matter.
inline void fetch_to_write(const std::uint64_t* word) noexcept {
  asm volatile("prefetchw %0" : : "m"(*word));
}

// Adds one to a word that only this thread writes, with release order: on x86-64 every store has it,
// and one instruction does it all.
inline void publish_one_more(std::uint32_t& word) noexcept {
  asm volatile("incl %0" : "+m"(word) : : "memory");
}

inline hodo_scope open_scope(std::uint64_t head, std::int64_t index) noexcept {
  hodo_thread* const thread = own.inlined;
  hodo_slot* const slot = thread->free;
  if (rarely(slot == nullptr)) return open_by_call(head, index);
  if (rarely(is_zero(thread->fast))) return open_by_call(head, index);
  hodo_slot* const parent = thread->current;
  const std::uint64_t id = thread->next_id;
  thread->free = slot->up;
  thread->current = slot;
  thread->next_id = id + 1;
  slot->head = head;
  const __m128i parent_id = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(&parent->id));
  slot->up = parent;
  slot->index = index;
  slot->overhead = 0;
  const std::uint64_t now = __rdtsc();
  store_two(&slot->parent, parent_id, now);
  slot->cpu = cpu_is_stale(*thread, now) ? table()->resync(thread, now) : now + thread->offset;
  publish(slot->id, id);
  return {slot, id};
}

// Writes the record of the innermost scope, for which there is room, and leaves the scope.
[[gnu::always_inline]] inline void write_span(hodo_thread* thread, hodo_slot* slot,
                                              std::uint64_t id, std::uint64_t now,
                                              std::uint64_t cpu) noexcept {
  std::uint64_t* const record = thread->cursor;
  const std::uint64_t overhead = slot->overhead;
  record[0] = slot->head;
  record[1] = id;
  copy_two(record + 2, &slot->parent);
  record[4] = now;
  record[5] = cpu - slot->cpu;
  record[6] = static_cast<std::uint64_t>(slot->index);
  record[7] = overhead;
  thread->cursor = record + 8;
  fetch_to_write(record + 8 * 17);
  publish_one_more(*thread->published);
  hodo_slot* const parent = slot->up;
  parent->overhead += overhead + read_shared(thread->scope_cost);
  thread->current = parent;
  publish(slot->id, std::uint64_t{0});
  slot->up = thread->free;
  thread->free = slot;
}

// The same when the thread's CPU time has to be looked up.
[[gnu::noinline, gnu::cold]] inline void close_stale(hodo_slot* slot, std::uint64_t id,
                                                     std::uint64_t now) noexcept {
  hodo_thread* const thread = own.inlined;
  const std::uint64_t cpu = table()->resync(thread, now);
  write_span(thread, slot, id, now, cpu);
}

// The parts of the scope by themselves: as one they would go through the stack.
inline void close_scope(hodo_slot* slot, std::uint64_t id,
                                          int exceptions) noexcept {
  hodo_thread* const thread = own.inlined;
  if (rarely(exceptions_in_flight() > exceptions)) return close_by_call({slot, id}, true);
  if (rarely(thread->current != slot) || rarely(slot->id != id) ||
      rarely(thread->cursor == thread->end)) {
    return close_by_call({slot, id}, false);
  }
  const std::uint64_t now = __rdtsc();
  if (cpu_is_stale(*thread, now)) return close_stale(slot, id, now);
  write_span(thread, slot, id, now, now + thread->offset);
}

#else

inline hodo_scope open_scope(std::uint64_t head, std::int64_t index) noexcept {
  return open_by_call(head, index);
}

inline void close_scope(hodo_slot* slot, std::uint64_t id, int exceptions) noexcept {
  close_by_call({slot, id}, exceptions_in_flight() > exceptions);
}

#endif  // HODO_INLINE_SCOPES

inline void set_values(hodo_scope scope, const hodo_value* values, std::size_t count) noexcept {
  table()->set(&own.state, scope, values, count);
}

inline void make_mark(const hodo_value& value, bool summary) noexcept {
  const hodo_api_table* const api = table();
  api->mark(&own.state, &value, summary);
  if (own.inlined == &no_state) keep_state(api);
}

}  // namespace detail
}  // namespace v1
}  // namespace hodo

#endif  // HODO_DETAIL_FAST_PATH_HPP
