// A program as GPUFlight's pages show it; nothing in it knows hodo.
#include <gpufl/gpufl.hpp>

#include <cstdio>
#include <string>
#include <vector>

static void multiply(std::vector<float>& a) {
  for (float& x : a) x = x * 1.5f + 1.0f;
}

int main() {
  gpufl::InitOptions options;
  options.app_name = "block_style";
  options.system_sample_rate_ms = 50;
  options.continuous_system_sampling = true;
  options.profiling_engine = gpufl::ProfilingEngine::Trace;
  if (!gpufl::init(options)) return 1;

  std::vector<float> a(1000, 1.0f);
  GFL_SCOPE("training") {
    for (int epoch = 0; epoch < 2; ++epoch) {
      GFL_SCOPE_TAGGED("epoch", "epoch_" + std::to_string(epoch), false) {
        GFL_SCOPE("forward") { multiply(a); }
        gpufl::monitor("backward", [&] { multiply(a); });
        gpufl::monitor("optimizer", "sgd", [&] { multiply(a); });
      }
    }
  }
  {
    gpufl::ScopedMonitor monitor("data_loading", "io");
    gpufl::ScopedMonitor inner("decode", gpufl::ScopeMeta{"io", 2, 0});
    multiply(a);
  }
  GFL_BENCH("matmul", gpufl::ScopeMeta{}.setTag("math").setRepeat(10).setWarmup(3)) {
    multiply(a);
  };
  GFL_BENCH("empty", gpufl::ScopeMeta{}) { multiply(a); };
  GFL_SYSTEM_START("load");
  gpufl::counter("tokens").add(512);
  GFL_SYSTEM_STOP("load");
  std::getchar();  // the machine is read beside it: until somebody has seen that
  gpufl::shutdown();
}
