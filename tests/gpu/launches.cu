// A known number of launches in each scope: four threads, three streams, a graph captured in one
// scope and replayed in another. Prints what a report must show.
#include <cstdio>
#include <cuda_runtime.h>
#include <hodo/hodo.hpp>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    cudaError_t error = (call);                                                                    \
    if (error != cudaSuccess) {                                                                    \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                          \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

__global__ void fill(float* at, float value) { at[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void scale(float* at, float factor) { at[blockIdx.x * blockDim.x + threadIdx.x] *= factor; }
__global__ void captured(float* at) { at[threadIdx.x] += 1; }

constexpr int kThreads = 4, kStreams = 3, kSteps = 500, kReplays = 200, kNodes = 5;
constexpr int kBlocks = 8, kWidth = 256, kFloats = kBlocks * kWidth;

// Each thread: kSteps times one `fill` in "fill", and in "scale" i % 3 + 1 times `scale`.
void work(int number) {
  float* at;
  CHECK(cudaMalloc(&at, kFloats * sizeof(float)));
  std::vector<cudaStream_t> streams(kStreams);
  for (auto& stream : streams) CHECK(cudaStreamCreate(&stream));
  HODO_SCOPE_F("worker", number) {
    for (int i = 0; i < kSteps; ++i) {
      HODO_SCOPE_F("step", i) {
        cudaStream_t stream = streams[i % kStreams];
        HODO_SCOPE("fill") { fill<<<kBlocks, kWidth, 0, stream>>>(at, 1.0f); }
        HODO_SCOPE("scale") {
          for (int k = 0; k <= i % 3; ++k) scale<<<kBlocks, kWidth, 0, stream>>>(at, 1.5f);
        }
      }
    }
    HODO_SCOPE("wait") { CHECK(cudaDeviceSynchronize()); }
  }
}

void graphs() {
  float* at;
  CHECK(cudaMalloc(&at, kFloats * sizeof(float)));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  HODO_SCOPE("capture") {
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    HODO_SCOPE("layers") {
      for (int i = 0; i < kNodes; ++i) captured<<<1, kWidth, 0, stream>>>(at);
    }
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
  }
  HODO_SCOPE("replay") {
    for (int i = 0; i < kReplays; ++i) CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaStreamSynchronize(stream));
  }
}

int main(int argc, char** argv) {
  if (argc > 1) hodo::init({"launches"});
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  threads.emplace_back(graphs);
  for (auto& thread : threads) thread.join();
  float host[kFloats];
  float* at;
  CHECK(cudaMalloc(&at, sizeof host));
  HODO_SCOPE("copies") {
    for (int i = 0; i < 10; ++i) {
      CHECK(cudaMemcpy(at, host, sizeof host, cudaMemcpyHostToDevice));
      CHECK(cudaMemsetAsync(at, 0, sizeof host));
      CHECK(cudaMemcpy(host, at, sizeof host, cudaMemcpyDeviceToHost));
    }
  }
  int scales = 0;
  for (int i = 0; i < kSteps; ++i) scales += i % 3 + 1;
  std::printf("expected worker/step/fill %d\n", kThreads * kSteps);
  std::printf("expected worker/step/scale %d\n", kThreads * scales);
  std::printf("expected replay %d captured in capture/layers\n", kReplays * kNodes);
  std::printf("expected copies 20, sets 10, bytes each %zu\n", sizeof host);
  std::fflush(stdout);
  return 0;
}
