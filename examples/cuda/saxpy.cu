// Scopes around kernels. Build: nvcc -std=c++17 -I<prefix>/include saxpy.cu -ldl -o saxpy
#include <hodo/hodo.hpp>

#include <cstdio>
#include <vector>

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

int main() {
  hodo::init({"saxpy"});
  const int n = 1 << 20;
  std::vector<float> host(n, 1.0f);
  float *x = nullptr, *y = nullptr;
  HODO_SCOPE("allocate") {
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
  }
  HODO_SCOPE("copy in") {
    cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(y, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  }
  for (int step = 0; step < 10; ++step) {
    HODO_SCOPE_F("saxpy", step, {"elements", n}) {
      saxpy<<<(n + 255) / 256, 256>>>(n, 2.0f, x, y);
      HODO_SCOPE("wait") { cudaDeviceSynchronize(); }
    }
  }
  HODO_SCOPE("copy out") { cudaMemcpy(host.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost); }
  HODO_MARK("y[0]", host[0]);
  cudaFree(x);
  cudaFree(y);
  hodo::shutdown();
  std::printf("y[0] = %g: %s\n", host[0], cudaGetErrorString(cudaGetLastError()));
}
