"""A program written for GPUFlight; all that changed is its import, `import gpufl`."""

import hodo.compat.gpufl as gpufl

gpufl.init(
    app_name="gpuflight_program",
    continuous_system_sampling=True,
    system_sample_rate_ms=50,
    profiling_engine=gpufl.ProfilingEngine.Monitor,
)
for batch in range(4):
    with gpufl.Scope("forward_pass", f"batch_{batch}"):
        with gpufl.Scope("attention"):
            weights = [i % 7 for i in range(2000)]
    with gpufl.Scope("backward_pass"):
        total = sum(weights)

for _ in gpufl.Scope("matmul", "math", repeat=10, warmup=3):
    sum(w * w for w in weights)

print(total)
gpufl.shutdown()
