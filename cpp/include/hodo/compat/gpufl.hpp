// The C++ interface of GPUFlight, recorded by hodo: a program written for it builds unchanged with
// -I<prefix>/include/hodo/compat -I<prefix>/include.
//
// A scope's tag is its attribute `tag`. A benchmark's warm-up is recorded as `<name> warm-up`, and
// every pass as a scope `iteration`. Options of engines, samplers and uploads are accepted; what hodo
// does about each, and what it does not, stands in docs/cpp.md.
#ifndef HODO_COMPAT_GPUFL_HPP
#define HODO_COMPAT_GPUFL_HPP

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../hodo.hpp"

namespace gpufl {

enum class BackendKind { Auto, Nvidia, Amd, None };

enum class ProfilingEngine {
  Monitor,
  Trace,
  PcSampling,
  SassMetrics,
  PmSampling,
  RangeProfiler,
  RangeProfilerKernelReplay,
  Deep,
};

struct InitOptions {
  std::string app_name = "gpufl";
  std::string log_path;  // the folder that runs are kept in
  int system_sample_rate_ms = 0;
  int kernel_sample_rate_ms = 0;
  BackendKind backend = BackendKind::Auto;
  bool continuous_system_sampling = false;
  bool enable_debug_output = false;
  bool enable_stack_trace = false;
  bool enable_source_collection = true;
  bool flush_logs_always = false;
  bool enable_external_correlation = true;
  bool enable_synchronization = true;
  bool enable_memory_tracking = true;
  bool enable_cuda_graphs_tracking = false;
  ProfilingEngine profiling_engine = ProfilingEngine::Monitor;
  std::uint32_t pm_sampling_interval_us = 100;
  std::uint32_t pm_sampling_max_samples = 4096;
  std::string pm_sampling_preset = "overview";
  std::vector<std::string> pm_sampling_metrics;
  bool pm_sampling_scope_only = true;
  bool deep_window_only = false;
  std::string config_file;
  std::string api_path;
  bool enabled = true;
};

struct ScopeMeta {
  std::string tag;
  std::uint32_t repeat = 0;
  std::uint32_t warmup = 0;

  ScopeMeta& setTag(std::string value) {
    tag = std::move(value);
    return *this;
  }
  ScopeMeta& setRepeat(std::uint32_t value) {
    repeat = value;
    return *this;
  }
  ScopeMeta& setWarmup(std::uint32_t value) {
    warmup = value;
    return *this;
  }
};

namespace detail {

inline bool is_disabled() {
  const char* const said = std::getenv("GPUFL_DISABLED");
  const std::string word = said == nullptr ? "" : said;
  return word == "1" || word == "true" || word == "yes" || word == "on";
}

// What hodo captures of the GPU for an engine; the counters of the last ones are not read.
inline const char* level(ProfilingEngine engine) {
  switch (engine) {
    case ProfilingEngine::Monitor:
      return "monitor";
    case ProfilingEngine::PcSampling:
    case ProfilingEngine::Deep:
      return "pc-sampling";
    default:
      return "trace";
  }
}

// How often the machine is read: without continuous sampling only while a scope is open.
inline std::string readings(const InitOptions& options) {
  constexpr int least_ms = 10;
  if (options.system_sample_rate_ms <= 0) return "";
  const int ms = options.system_sample_rate_ms < least_ms ? least_ms : options.system_sample_rate_ms;
  return std::to_string(ms) + (options.continuous_system_sampling ? "ms" : "ms,scopes");
}

}  // namespace detail

// Starts recording; a session that is running is shut down first. False when nothing is recorded.
inline bool init(const InitOptions& options) {
  hodo::shutdown();
  hodo::Options ours;
  ours.app = options.app_name.c_str();
  ours.dir = options.log_path.empty() ? nullptr : options.log_path.c_str();
  ours.disabled = !options.enabled || detail::is_disabled();
  // GPUFlight's scopes nest as deep as they like.
  ours.max_depth = 1000000;
  ours.gpu = detail::level(options.profiling_engine);
  const std::string readings = detail::readings(options);
  ours.telemetry = readings.empty() ? nullptr : readings.c_str();
  return hodo::init(ours) != hodo::Started::off;
}

inline void shutdown() { hodo::shutdown(); }

// A scope from here to the end of the block.
class ScopedMonitor {
 public:
  explicit ScopedMonitor(const std::string& name, const std::string& tag = "",
                         bool /*deep_profiling*/ = false)
      : scope_(name) {
    if (!tag.empty()) scope_.set("tag", tag);
  }

  ScopedMonitor(const std::string& name, const ScopeMeta& meta) : ScopedMonitor(name, meta.tag) {
    if (meta.repeat > 0) scope_.set({{"repeat", meta.repeat}, {"warmup", meta.warmup}});
  }

  ScopedMonitor(const ScopedMonitor&) = delete;
  ScopedMonitor& operator=(const ScopedMonitor&) = delete;

 private:
  hodo::Scope scope_;
};

inline void monitor(const std::string& name, const std::function<void()>& work) {
  const ScopedMonitor scope(name);
  work();
}

inline void monitor(const std::string& name, const std::string& tag,
                    const std::function<void()>& work) {
  const ScopedMonitor scope(name, tag);
  work();
}

// Runs the block of GFL_BENCH: warm-up first, then the passes that count; without a `repeat` none.
class BenchInvoker {
 public:
  explicit BenchInvoker(std::string name, ScopeMeta meta = {})
      : name_(std::move(name)), meta_(std::move(meta)) {}

  template <class Work>
  void operator+=(Work&& work) {
    if (meta_.repeat == 0 && meta_.warmup == 0) {
      const ScopedMonitor empty(name_, meta_);
      return;
    }
    hodo::bench(name_, hodo::repeat(meta_.repeat).warmup(meta_.warmup).tag(meta_.tag), work);
  }

 private:
  std::string name_;
  ScopeMeta meta_;
};

// Between the two the machine is read, whether or not a scope is open; the moments are kept as marks.
inline void systemStart(const std::string& name = "system") {
  hodo::mark("system_start", name);
  hodo::telemetry_start();
}
inline void systemStop(const std::string& name = "system") {
  hodo::mark("system_stop", name);
  hodo::telemetry_stop();
}

// A counter is a mark whose values add up.
class Counter {
 public:
  explicit Counter(std::string name) : name_(std::move(name)) {}
  void add(std::uint64_t count = 1) const { hodo::mark(name_, count); }

 private:
  std::string name_;
};

inline Counter counter(std::string name) { return Counter(std::move(name)); }
inline void tick(const std::string& name, std::uint64_t count = 1) { hodo::mark(name, count); }

}  // namespace gpufl

#define GFL_SCOPE(name) \
  if (const ::gpufl::ScopedMonitor HODO_JOIN(gpufl_scope_, __LINE__){name}; true)
#define GFL_SCOPE_TAGGED(name, tag, deep) \
  if (const ::gpufl::ScopedMonitor HODO_JOIN(gpufl_scope_, __LINE__){name, tag, deep}; true)
#define GFL_BENCH(name, ...) ::gpufl::BenchInvoker(name, __VA_ARGS__) += [&]()
#define GFL_SYSTEM_START(name) ::gpufl::systemStart(name)
#define GFL_SYSTEM_STOP(name) ::gpufl::systemStop(name)

#endif  // HODO_COMPAT_GPUFL_HPP
