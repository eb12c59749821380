// Two kernels that stall for reasons that are known: one waits for memory, one for its own
// arithmetic. Each runs in a scope of its own, outside a window of sampling and inside one; prints
// how long it took there.
//
//   stalls [serialized|continuous]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <hodo/hodo.hpp>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    cudaError_t error = (call);                                                                    \
    if (error != cudaSuccess) {                                                                    \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                          \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

constexpr unsigned kFloats = 1u << 28, kBlocks = 2048, kWidth = 256, kLaunches = 20;

// Every thread jumps through memory: each load depends on the one before.
__global__ void waits_for_memory(const unsigned* from, unsigned* to) {
  unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * 9973u % kFloats;
  for (int i = 0; i < 64; ++i) {
    at = (from[at] + at * 2654435761u) % kFloats;
  }
  to[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

// Every thread multiplies and adds: each step depends on the one before, and memory is not touched.
__global__ void waits_for_arithmetic(float* to, float factor) {
  float a = threadIdx.x, b = blockIdx.x;
  for (int i = 0; i < 4096; ++i) {
    a = fmaf(a, factor, b);
    b = fmaf(b, factor, a);
  }
  to[blockIdx.x * blockDim.x + threadIdx.x] = a + b;
}

struct Window {
  using Begin = uint32_t (*)(const char*, const char*, const char*);
  using End = uint32_t (*)();
  using Reason = size_t (*)(char*, size_t);
  Begin begin;
  End end;
  Reason reason;

  Window() {
    const char* file = std::getenv("HODO_LIBRARY");
    void* library = dlopen(file ? file : "libhodo.so", RTLD_NOW);
    begin = reinterpret_cast<Begin>(library ? dlsym(library, "hodo_gpu_window_begin") : nullptr);
    end = reinterpret_cast<End>(library ? dlsym(library, "hodo_gpu_window_end") : nullptr);
    reason = reinterpret_cast<Reason>(library ? dlsym(library, "hodo_gpu_window_reason") : nullptr);
    if (!begin || !end || !reason) {
      std::fprintf(stderr, "libhodo.so has no windows\n");
      std::exit(1);
    }
  }
};

double once(const char* name, unsigned* from, unsigned* to, bool memory) {
  auto began = std::chrono::steady_clock::now();
  hodo::Scope scope(name);
  for (unsigned i = 0; i < kLaunches; ++i) {
    if (memory) {
      waits_for_memory<<<kBlocks, kWidth>>>(from, to);
    } else {
      waits_for_arithmetic<<<kBlocks, kWidth>>>(reinterpret_cast<float*>(to), 0.999f);
    }
  }
  CHECK(cudaDeviceSynchronize());
  std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  return took.count();
}

int main(int argc, char** argv) {
  hodo::init({"stalls"});
  const char* mode = argc > 1 ? argv[1] : nullptr;
  unsigned *from, *to;
  CHECK(cudaMalloc(&from, size_t(kFloats) * sizeof *from));
  CHECK(cudaMalloc(&to, size_t(kBlocks) * kWidth * sizeof *to));
  CHECK(cudaMemset(from, 7, size_t(kFloats) * sizeof *from));
  Window window;
  HODO_SCOPE("warm up") {
    once("memory", from, to, true);
    once("arithmetic", from, to, false);
  }
  double outside[2], inside[2];
  HODO_SCOPE("outside") {
    outside[0] = once("memory", from, to, true);
    outside[1] = once("arithmetic", from, to, false);
  }
  uint32_t code = window.begin("pc-sampling", mode, nullptr);
  if (code != 0) {
    char why[2048];
    window.reason(why, sizeof why);
    std::printf("no window (%u): %s\n", code, why);
  }
  HODO_SCOPE("inside") {
    inside[0] = once("memory", from, to, true);
    inside[1] = once("arithmetic", from, to, false);
  }
  if (code == 0) window.end();
  std::printf("memory ms: outside %.2f inside %.2f\n", outside[0], inside[0]);
  std::printf("arithmetic ms: outside %.2f inside %.2f\n", outside[1], inside[1]);
  return code == 0 ? 0 : 3;
}
