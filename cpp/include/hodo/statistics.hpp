// The times of a benchmark loop in a few numbers.
#ifndef HODO_STATISTICS_HPP
#define HODO_STATISTICS_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace hodo {
inline namespace v1 {

// The times of the measured iterations, in nanoseconds. Numbers that need more iterations than
// there were are NaN: all of them after none, the confidence interval after one.
struct Statistics {
  std::vector<std::uint64_t> samples_ns;  // each iteration, in order
  double min_ns;
  double median_ns;
  double mean_ns;
  double p95_ns;
  double ci95_ns;  // the 95 % confidence interval of the mean is plus or minus this (Student's t)

  explicit Statistics(std::vector<std::uint64_t> samples) : samples_ns(std::move(samples)) {
    std::vector<double> sorted(samples_ns.begin(), samples_ns.end());
    std::sort(sorted.begin(), sorted.end());
    double sum = 0;
    for (const double sample : sorted) sum += sample;
    mean_ns = sum / static_cast<double>(sorted.size());
    min_ns = quantile(sorted, 0);
    median_ns = quantile(sorted, 0.5);
    p95_ns = quantile(sorted, 0.95);
    ci95_ns = half_width95(sorted, mean_ns);
  }

 private:
  // Between two samples it is interpolated, as in reports.
  static double quantile(const std::vector<double>& sorted, double share) {
    if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
    const double place = share * static_cast<double>(sorted.size() - 1);
    const double low = sorted[static_cast<std::size_t>(std::floor(place))];
    const double high = sorted[static_cast<std::size_t>(std::ceil(place))];
    return low + (high - low) * (place - std::floor(place));
  }

  static double half_width95(const std::vector<double>& sorted, double mean) {
    if (sorted.size() < 2) return std::numeric_limits<double>::quiet_NaN();
    const auto n = static_cast<double>(sorted.size());
    double squares = 0;
    for (const double sample : sorted) squares += (sample - mean) * (sample - mean);
    return student_t95(sorted.size() - 1) * std::sqrt(squares / (n - 1) / n);
  }

  // The two-sided 95 % quantile of Student's t distribution.
  static double student_t95(std::size_t degrees) {
    constexpr double small[] = {12.706, 4.303, 3.182, 2.776, 2.571,
                                2.447,  2.365, 2.306, 2.262, 2.228};
    if (degrees <= std::size(small)) return small[degrees - 1];
    // Cornish-Fisher around the normal quantile: three decimals hold from here on.
    const double z = 1.959964;
    const auto v = static_cast<double>(degrees);
    const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
  }
};

}  // namespace v1
}  // namespace hodo

#endif  // HODO_STATISTICS_HPP
