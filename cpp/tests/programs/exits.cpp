// Records 1,000 steps and ends in the way that its argument says.
#include <dlfcn.h>
#include <hodo/hodo.hpp>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

void steps(int count) {
  for (int i = 0; i < count; ++i) {
    HODO_SCOPE_F("step", i) {}
  }
}

// Destroyed after main, before and after the recorder's own last words.
struct AtExit {
  bool records = false;
  ~AtExit() {
    if (records) steps(500);
  }
};
AtExit at_exit;

// Runs on, recording, until the process is gone; no faster than a busy machine can write.
void outlives_main() {
  std::thread([] {
    for (;;) {
      for (int i = 0; i < 20; ++i) {
        HODO_SCOPE("other") {}
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }).detach();
}

int forks() {
  steps(500);
  const pid_t child = fork();
  if (child == 0) {
    steps(500);
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? 5 : 1;
}

int uses_plugin(const char* file) {
  for (int i = 0; i < 10; ++i) {
    void* const plugin = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) return 1;
    const auto work = reinterpret_cast<void (*)(int)>(dlsym(plugin, "plugin_steps"));
    if (work == nullptr) return 1;
    work(50);
    std::thread(work, 50).join();
    if (dlclose(plugin) != 0) return 1;
  }
  return 6;
}

struct AtThreadEnd {
  ~AtThreadEnd() { steps(500); }
};
thread_local AtThreadEnd at_thread_end;

}  // namespace

int main(int, char** arguments) {
  const std::string how = arguments[1];
  if (hodo::init({"exits"}) != hodo::Started::on) return 99;
  if (how == "fork") return forks();
  if (how == "dlclose") return uses_plugin(arguments[2]);
  if (how == "thread end") {
    std::thread([] {
      static_cast<void>(&at_thread_end);
      steps(500);
    }).join();
    return 7;
  }
  if (how == "static destructor") {
    at_exit.records = true;
    steps(500);
    return 4;
  }
  steps(1000);
  if (how == "exit") std::exit(3);
  if (how == "quick_exit") std::quick_exit(8);
  if (how == "_exit") _exit(9);
  if (how == "abort") std::abort();
  if (how == "kill -9") kill(getpid(), SIGKILL);
  if (how == "terminate") throw 1;
  if (how == "pthread_exit") {
    outlives_main();
    std::thread([] { std::exit(11); }).detach();
    pthread_exit(nullptr);
  }
  if (how == "thread that outlives main") outlives_main();
  return how == "return" ? 0 : 10;
}
