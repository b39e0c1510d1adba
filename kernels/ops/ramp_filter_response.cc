#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/base/units.h"
#include "kernels/ops/operations.h"

namespace isocenter::ops {
namespace {

// Value at fraction x of the cut-off frequency, x in [0, 1].
double Window(FilterWindow window, double x) {
  switch (window) {
    case FilterWindow::kRamLak:
      return 1;
    case FilterWindow::kSheppLogan:
      return x == 0 ? 1 : std::sin(kPi * x / 2) / (kPi * x / 2);
    case FilterWindow::kCosine:
      return std::cos(kPi * x / 2);
    case FilterWindow::kHamming:
      return 0.54 + 0.46 * std::cos(kPi * x);
    case FilterWindow::kHann:
      return 0.5 + 0.5 * std::cos(kPi * x);
  }
  return 1;
}

// cos(2πk/n) for k in [0, n).
std::vector<double> CosineTable(int n) {
  std::vector<double> table(n);
  for (int k = 0; k < n; ++k) table[k] = std::cos(2 * kPi * k / n);
  return table;
}

std::vector<double> RamLak(int length) {
  std::vector<double> h(length, 0.0);
  h[0] = 0.25;
  for (int k = 1; k < length; k += 2) h[k] = -1 / (kPi * kPi * k * k);
  return h;
}

// Σ over both sides of an even sequence: h[0] + 2 Σ h[k] cos(2πfk/n).
double EvenTransform(const std::vector<double>& h, int f, const std::vector<double>& cosine) {
  const int64_t n = static_cast<int64_t>(cosine.size());
  double sum = 0;
  int64_t phase = 0;
  for (size_t k = 1; k < h.size(); ++k) {
    phase += f;
    if (phase >= n) phase -= n;
    sum += h[k] * cosine[phase];
  }
  return h[0] + 2 * sum;
}

}  // namespace

int ExtensionLength(const RampFilterSpec& spec) {
  return spec.extend_truncated_rows ? spec.columns / 2 : 0;
}

int MinimumTransformLength(const RampFilterSpec& spec) {
  return 2 * (spec.columns + ExtensionLength(spec));
}

std::vector<double> RampFilterKernel(const RampFilterSpec& spec) {
  const int length = spec.columns + ExtensionLength(spec);
  if (spec.window == FilterWindow::kRamLak && spec.cutoff >= 1) return RamLak(length);
  // The window acts on a frequency grid fine enough that the kernel, which falls off like 1/k²,
  // does not wrap into the lags that are used.
  const int n = static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(64, 4 * length))));
  const std::vector<double> cosine = CosineTable(n);
  const std::vector<double> ramp = RamLak(n / 2);
  std::vector<double> windowed(n / 2 + 1, 0.0);
  for (int f = 0; f <= n / 2; ++f) {
    const double x = f / (spec.cutoff * (n / 2));
    if (x <= 1) windowed[f] = EvenTransform(ramp, f, cosine) * Window(spec.window, x);
  }
  // Inverse transform of a real even spectrum; the Nyquist term stands once.
  std::vector<double> h(length);
  const double nyquist = windowed.back();
  windowed.back() = 0;
  for (int k = 0; k < length; ++k) {
    h[k] = (EvenTransform(windowed, k, cosine) + (k % 2 == 0 ? nyquist : -nyquist)) / n;
  }
  return h;
}

std::vector<double> RampFilterResponse(const RampFilterSpec& spec, int n) {
  const std::vector<double> kernel = RampFilterKernel(spec);
  const std::vector<double> cosine = CosineTable(n);
  std::vector<double> response(n / 2 + 1);
  for (int f = 0; f <= n / 2; ++f) response[f] = EvenTransform(kernel, f, cosine);
  return response;
}

}  // namespace isocenter::ops
