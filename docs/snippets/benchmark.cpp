const hodo::Statistics times =
    HODO_BENCH("matmul", hodo::repeat(10).warmup(3).tag("math")) {
  std::vector<int> numbers(100, 1);
  return std::accumulate(numbers.begin(), numbers.end(), 0);
};
assert(times.samples_ns.size() == 10);
