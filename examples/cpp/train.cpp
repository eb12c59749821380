// A training loop in C++. CMakeLists.txt beside it builds it; `hodo report` shows where the time went.
#include <hodo/hodo.hpp>

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

static double forward(int item) {
  HODO_FUNCTION();
  double sum = 0;
  for (int i = 1; i < 20000; ++i) sum += std::sin(item + i) / i;
  return sum;
}

static void load_shards() {
  // Threads whose scopes belong under the scope that started them.
  HODO_SCOPE("load") {
    std::vector<std::thread> workers;
    for (int shard = 0; shard < 4; ++shard) {
      workers.emplace_back(hodo::inherit([shard] {
        HODO_SCOPE_F("decode", shard, {"format", "tar"}) { forward(shard); }
      }));
    }
    for (std::thread& worker : workers) worker.join();
  }
}

int main() {
  if (hodo::init({"train-cpp"}) == hodo::Started::off) {
    std::fprintf(stderr, "not recording: %s\n", hodo::reason().c_str());
  }
  load_shards();

  const std::vector<int> loader{1, 2, 3, 4, 5};
  for (const auto epoch : hodo::epochs(hodo::count(3))) {
    for (const int item : hodo::batches(loader)) {
      HODO_SCOPE_F("step", item, {"epoch", epoch}, {"variant", "beam"}) {
        HODO_MARK("loss", forward(item));
      }
    }
  }

  const hodo::Statistics times = HODO_BENCH("forward alone", hodo::repeat(20).warmup(3).tag("math")) {
    return forward(7);
  };
  std::printf("forward: %.0f +- %.0f ns\n", times.mean_ns, times.ci95_ns);

  try {
    hodo::scoped("checkpoint", [] { throw std::runtime_error("disk full"); });
  } catch (const std::exception& error) {
    std::printf("checkpoint failed, as the report shows: %s\n", error.what());
  }
  hodo::shutdown();
}
