// Many threads at the same places at once, from the first scope of the program on.
#include <hodo/hodo.hpp>

#include <string>
#include <thread>
#include <vector>

int main() {
  if (hodo::init({"threads"}) != hodo::Started::on) return 99;
  const hodo::Scope all("all");
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back(hodo::inherit([t] {
      for (int i = 0; i < 500; ++i) {
        HODO_SCOPE_F("step", i, {"thread", t}, {"half", i < 250 ? "first" : "second"}) {
          HODO_MARK("i", i);
          const hodo::Scope named("name " + std::to_string(i % 16));
        }
      }
      hodo::Handle handle = hodo::begin("handle");
      std::thread([&handle] { handle.end(); }).join();
    }));
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}
