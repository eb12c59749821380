// A program that uses the FAKE driver of fake.h under hodo, one way per mode: victim MODE.
// FAKE_CUDA names the driver's file. Prints the state of hodo's capture, a line of JSON each.
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <hodo/hodo.hpp>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "fake.h"
}

namespace {

template <class Function>
Function* symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (!found) std::fprintf(stderr, "no %s\n", name), std::abort();
  return reinterpret_cast<Function*>(found);
}

// The driver, loaded when the program first wants it, as frameworks do.
struct Driver {
  void* library = dlopen(std::getenv("FAKE_CUDA"), RTLD_NOW | RTLD_GLOBAL);
  template <class Function>
  Function* get(const char* name) const {
    return symbol<Function>(library, name);
  }
};
const Driver& driver() {
  static const Driver driver;
  return driver;
}
void start_cuda() { driver().get<int(unsigned)>("cuInit")(0); }

fake_function gemm{"gemm"}, grad{"gemm_grad"}, node{"node"};

int launch(fake_function& function, std::uintptr_t stream = 7) {
  static const auto call =
      driver().get<int(fake_function*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, void*, void**, void**)>("cuLaunchKernel");
  return call(&function, 8, 1, 1, 256, 1, 1, 0, reinterpret_cast<void*>(stream), nullptr, nullptr);
}

// In libhodo.so and not in the table of hodo.h.
template <class Function>
Function* in_hodo(const char* name) {
  static void* const library = dlopen(std::getenv("HODO_LIBRARY"), RTLD_NOW);
  return symbol<Function>(library, name);
}

void tell_state() {
  const auto state = in_hodo<std::size_t(char*, std::size_t)>("hodo_gpu_state");
  std::string text(state(nullptr, 0) + 1, '\0');
  state(&text[0], text.size());
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

// Three kernels a step: two in "fwd", one in "bwd".
void steps(int count) {
  for (int i = 0; i < count; ++i) {
    HODO_SCOPE_F("step", i) {
      HODO_SCOPE("fwd") {
        launch(gemm);
        launch(gemm);
      }
      HODO_SCOPE("bwd") { launch(grad); }
    }
  }
}

void finish() {
  hodo::flush();
  tell_state();
  hodo::shutdown();
}

void attach() {
  hodo::init({"victim"});
  start_cuda();
}

void usual() {
  attach();
  steps(50);
  finish();
}

// The recorder is started by the driver's injection alone.
void injected() {
  start_cuda();
  steps(50);
  finish();
}

void late() {
  start_cuda();
  steps(5);
  hodo::init({"victim"});
  steps(50);
  finish();
}

void no_cuda() {
  hodo::init({"victim"});
  HODO_SCOPE("alone") {}
  finish();
}

// Nothing names this copy to the driver, so hodo must notice CUDA by looking.
void looking() {
  hodo::init({"victim"});
  start_cuda();
  for (int i = 0; i < 3000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto state = in_hodo<std::size_t(char*, std::size_t)>("hodo_gpu_state");
    char text[64];
    state(text, sizeof text);
    if (std::strstr(text, "capturing")) break;
  }
  steps(50);
  finish();
}

void threads() {
  attach();
  std::vector<std::thread> all;
  for (int t = 0; t < 8; ++t) {
    all.emplace_back([t] {
      const hodo::Scope worker("worker " + std::to_string(t));
      steps(200 + t);
    });
  }
  for (auto& thread : all) thread.join();
  finish();
}

// A thread without a scope works for one that waits in its scope, as autograd's does.
void ambient() {
  attach();
  launch(gemm);
  std::thread([] { launch(gemm); }).join();
  HODO_SCOPE("backward") {
    launch(gemm);
    std::thread([] {
      for (int i = 0; i < 20; ++i) launch(grad);
    }).join();
  }
  std::thread([] { launch(grad); }).join();
  finish();
}

void graphs() {
  attach();
  void* ready = nullptr;
  HODO_SCOPE("capture") {
    driver().get<void()>("fake_capture")();
    HODO_SCOPE("layer") {
      for (int i = 0; i < 4; ++i) launch(node);
    }
    ready = driver().get<void*()>("fake_instantiate")();
    // Right after nodes were made: this one runs.
    launch(gemm);
    driver().get<void(fake_function*)>("fake_add_node")(&node);
    launch(gemm);
  }
  HODO_SCOPE("replay") {
    for (int i = 0; i < 10; ++i) driver().get<int(void*, void*)>("cuGraphLaunch")(ready, nullptr);
  }
  finish();
}

void kinds() {
  attach();
  std::uint64_t at = 0;
  char host[64];
  HODO_SCOPE("memory") {
    for (int i = 0; i < 3; ++i) driver().get<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2")(&at, 4096);
    for (int i = 0; i < 4; ++i) {
      driver().get<int(std::uint64_t, const void*, std::size_t, void*)>("cuMemcpyHtoDAsync_v2")(
          at, host, sizeof host, nullptr);
    }
    for (int i = 0; i < 5; ++i) {
      driver().get<int(std::uint64_t, unsigned char, std::size_t, void*)>("cuMemsetD8Async")(at, 1, 8,
                                                                                            nullptr);
    }
    for (int i = 0; i < 6; ++i) driver().get<int(void*)>("cuStreamSynchronize")(nullptr);
    launch(gemm);
    driver().get<int(void*)>("cuCtxDestroy_v2")(nullptr);
  }
  finish();
}

void refused() {
  attach();
  HODO_SCOPE("refused") {
    driver().get<void(int)>("fake_refuse")(1);
    launch(gemm);
    launch(gemm);
  }
  finish();
}

// Kernels that do not end: stopping must not wait for them.
void held() {
  attach();
  driver().get<void(int)>("fake_hold")(1);
  HODO_SCOPE("endless") {
    for (int i = 0; i < 5; ++i) launch(gemm);
  }
  hodo::shutdown();
}

// A second recorder: what the first one launched is not the second one's.
void again() {
  attach();
  void* ready = nullptr;
  const auto replay = driver().get<int(void*, void*)>("cuGraphLaunch");
  HODO_SCOPE("old") {
    steps(2);
    driver().get<void()>("fake_capture")();
    launch(node);
    ready = driver().get<void*()>("fake_instantiate")();
    replay(ready, nullptr);
  }
  hodo::shutdown();
  // Launched while nothing records, and under way when the next recorder starts.
  steps(3);
  hodo::init({"victim"});
  HODO_SCOPE("new") {
    steps(4);
    replay(ready, nullptr);
  }
  finish();
}

void yield() {
  attach();
  steps(10);
  in_hodo<void(const char*)>("hodo_gpu_give_way")("the other tool runs");
  tell_state();
  const auto taken = driver().get<int()>("fake_subscribe")();
  steps(10);
  // Kept by the other tool, or not.
  if (taken && !std::getenv("VICTIM_KEEPS")) driver().get<void()>("fake_unsubscribe")();
  in_hodo<void()>("hodo_gpu_resume")();
  tell_state();
  steps(10);
  finish();
}

void forks() {
  attach();
  steps(5);
  HODO_SCOPE("around") {
    if (fork() == 0) {
      HODO_SCOPE("child") {}
      hodo::flush();
      tell_state();
      in_hodo<void(const char*)>("hodo_gpu_give_way")("nothing");
      in_hodo<void()>("hodo_gpu_resume")();
      hodo::shutdown();
      std::exit(0);
    }
    int status = 0;
    wait(&status);
    if (status) std::abort();
  }
  steps(5);
  finish();
}

void leaves() {
  attach();
  steps(50);
  std::exit(3);
}

void killed() {
  attach();
  steps(50);
  raise(SIGKILL);
}

// CUPTI gives up half way; a later recorder may try again.
void fatal() {
  attach();
  steps(5);
  hodo::flush();
  driver().get<void()>("fake_fatal")();
  steps(5);
  hodo::flush();
  tell_state();
  hodo::shutdown();
  hodo::init({"victim"});
  HODO_SCOPE("second") { steps(3); }
  finish();
}

// The disk takes nothing more for a while.
void fill_disk(int before) {
  steps(before);
  hodo::flush();
  // One byte: what is there stays, nothing more is taken.
  const rlimit full{1, RLIM_INFINITY}, free{RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &full);
  for (int i = 0; i < 3; ++i) {
    steps(20);
    hodo::flush(std::chrono::milliseconds(200));
  }
  setrlimit(RLIMIT_FSIZE, &free);
  tell_state();
  steps(7);
  finish();
}
void disk() {
  attach();
  fill_disk(5);
}
void disk_first() {
  attach();
  fill_disk(0);
}

// The same address for another name, as after a module was unloaded.
void names() {
  attach();
  char name[16];
  fake_function function{name};
  HODO_SCOPE("modules") {
    for (int i = 0; i < 5; ++i) {
      std::snprintf(name, sizeof name, "kernel %d", i);
      for (int k = 0; k <= i; ++k) launch(function);
      hodo::flush();
    }
  }
  finish();
}

// Names that differ where people stopped reading.
void long_names() {
  attach();
  const std::string much(3000, 'x'), one = much + "1", two = much + "2";
  fake_function first{one.c_str()}, second{two.c_str()};
  HODO_SCOPE("templates") {
    launch(first);
    launch(second);
    launch(second);
  }
  finish();
}

// Threads launch while others flush.
void storm() {
  attach();
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) all.emplace_back([] { steps(300); });
  for (int t = 0; t < 2; ++t) {
    all.emplace_back([] {
      for (int i = 0; i < 30; ++i) hodo::flush();
    });
  }
  for (auto& thread : all) thread.join();
  finish();
}

// Two copies of hodo: the second one joins the first.
void copies() {
  void* other = dlopen(std::getenv("VICTIM_OTHER"), RTLD_NOW | RTLD_LOCAL);
  const bool other_first = std::getenv("VICTIM_OTHER_FIRST") != nullptr;
  const auto init = symbol<std::uint32_t(const hodo_options*)>(other, "hodo_init");
  if (other_first) init(nullptr);
  hodo::init({"victim"});
  if (!other_first) init(nullptr);
  start_cuda();
  steps(50);
  finish();
}

// Many buffers asked for and none given back.
void exhausted() {
  attach();
  HODO_SCOPE("burst") {
    for (int i = 0; i < 480'000; ++i) launch(gemm);
  }
  finish();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const struct {
    const char* name;
    void (*run)();
  } modes[] = {
      {"usual", usual},     {"injected", injected}, {"late", late},       {"no-cuda", no_cuda},
      {"looking", looking}, {"threads", threads},   {"ambient", ambient}, {"graphs", graphs},
      {"kinds", kinds},     {"refused", refused},   {"held", held},       {"again", again},
      {"yield", yield},     {"forks", forks},       {"leaves", leaves},   {"killed", killed},
      {"disk", disk},       {"names", names},       {"copies", copies},   {"exhausted", exhausted},
      {"disk-first", disk_first},
      {"fatal", fatal},     {"long-names", long_names}, {"storm", storm},
  };
  for (const auto& known : modes) {
    if (mode == known.name) return known.run(), 0;
  }
  std::fprintf(stderr, "no mode %s\n", mode.c_str());
  return 99;
}
