// Starting, flushing and stopping the recorder.
#ifndef HODO_CONTROL_HPP
#define HODO_CONTROL_HPP

#include <chrono>
#include <cstdint>
#include <string>

#include "detail/names.hpp"

namespace hodo {
inline namespace v1 {

// Options of init(). What is not said is as the HODO_* variables say, else the default.
struct Options {
  const char* app = nullptr;             // name of the program in reports
  const char* dir = nullptr;             // folder that runs are kept in; .hodo
  const char* run = nullptr;             // a run to join; a new one
  bool disabled = false;                 // records nothing
  std::uint32_t max_depth = 0;           // deepest nesting that is recorded; 64
  std::uint64_t memory_bytes = 0;        // for records not yet on disk; 64 MiB
  std::uint64_t spool_bytes = 0;         // most that is kept on disk; 4 GiB
  std::chrono::milliseconds flush_interval{0};  // how long records may wait in memory; a second
  bool keep_run_private = false;         // child processes do not join the run
  const char* gpu = nullptr;             // auto, off, monitor, trace or pc-sampling; auto
  const char* telemetry = nullptr;       // readings of the machine: 50ms, or 1s,scopes; none
};

enum class Started {
  on = 0,
  degraded = 1,  // on, but something does not work as it should: reason() says what
  off = 2,       // reason() says why
  already = 3,   // someone else in this process had started it
};

enum class Flushed { done = 0, timed_out = 1, failed = 2, off = 3 };

using Health = hodo_health;

// Starts recording. Never fails the program: what does not work is in the result, in reason() and
// in health().
inline Started init(const Options& options = {}) noexcept {
  const hodo_options raw = {
      sizeof(hodo_options),
      options.app,
      options.dir,
      options.run,
      options.disabled ? 1u : 0u,
      options.max_depth,
      options.memory_bytes,
      options.spool_bytes,
      static_cast<std::uint64_t>(options.flush_interval.count()),
      options.keep_run_private ? 1u : 0u,
      options.gpu,
      options.telemetry,
  };
  return static_cast<Started>(detail::table()->init(&raw));
}

// Why the last init() was not a plain success; empty when it was.
inline std::string reason() {
  std::string text(detail::table()->reason(nullptr, 0) + 1, '\0');
  detail::table()->reason(&text[0], text.size());
  text.pop_back();
  return text;
}

// Whether scopes are being recorded.
inline bool is_on() noexcept { return detail::is_on(); }

// Waits until what was recorded so far is on disk.
inline Flushed flush(std::chrono::milliseconds timeout = std::chrono::seconds(10)) noexcept {
  return static_cast<Flushed>(
      detail::table()->flush(static_cast<std::uint64_t>(timeout.count())));
}

// Stops recording and closes the run. Quick, and optional: a process that ends any other way leaves
// a readable run too.
inline Flushed shutdown() noexcept { return static_cast<Flushed>(detail::table()->shutdown()); }

// What the recorder did: the run's folder, counts, losses.
inline Health health() noexcept {
  Health health{};
  health.struct_size = sizeof health;
  detail::table()->get_health(&health);
  return health;
}

// The state of the GPU's capture as a JSON object: what is captured, or why not, and what was lost.
inline std::string gpu_state() {
  std::string text(detail::table()->gpu_state(nullptr, 0) + 1, '\0');
  detail::table()->gpu_state(&text[0], text.size());
  text.pop_back();
  return text;
}

// The state of the machine's readings as a JSON object: how often they are made, who makes them, what
// they cost, what cannot be read and why.
inline std::string telemetry_state() {
  std::string text(detail::table()->telemetry_state(nullptr, 0) + 1, '\0');
  detail::table()->telemetry_state(&text[0], text.size());
  text.pop_back();
  return text;
}

// Reads the machine from now on, whether or not a scope is open, until telemetry_stop() was called as
// often. `interval`, such as "50ms", counts where init() was told none. False when nothing records or
// the interval makes no sense.
inline bool telemetry_start(const char* interval = nullptr) noexcept {
  return detail::table()->telemetry_start(interval) == 0;
}

// Ends what telemetry_start() began; what init() asked for goes on.
inline bool telemetry_stop() noexcept { return detail::table()->telemetry_stop() == 0; }

// A window of closer looking at the GPU, to the end of the block: where kernels stall and why. It
// slows the program down. Where it cannot be had nothing happens, and reason() says why.
class Window {
 public:
  // mode: serialized (each sample has its launch and so its scope) or continuous; scope: only work
  // launched inside scopes of this name counts.
  explicit Window(const char* kind = "pc-sampling", const char* mode = nullptr,
                  const char* scope = nullptr) noexcept
      : open_(detail::table()->gpu_window_begin(kind, mode, scope) == 0) {}
  ~Window() { end(); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  bool is_open() const noexcept { return open_; }

  void end() noexcept {
    if (open_) detail::table()->gpu_window_end();
    open_ = false;
  }

  // Why there is none; empty when there was one.
  static std::string reason() {
    std::string text(detail::table()->gpu_window_reason(nullptr, 0) + 1, '\0');
    detail::table()->gpu_window_reason(&text[0], text.size());
    text.pop_back();
    return text;
  }

 private:
  bool open_;
};

}  // namespace v1
}  // namespace hodo

#endif  // HODO_CONTROL_HPP
