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

bool IsRamLak(const RampFilterSpec& spec) {
  return spec.window == FilterWindow::kRamLak && spec.cutoff >= 1;
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

// A frequency grid fine enough that kernels of `length` lags, which fall off like 1/k², do not wrap
// into the lags that are used.
int FineGrid(int length) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(64, 4 * length))));
}

// `length` lags of the even sequence with Ram-Lak's spectrum times change(x), x in [0, 1] the
// fraction of the Nyquist frequency.
template <class Change>
std::vector<double> FromRamp(int length, const Change& change) {
  const int n = FineGrid(length);
  const std::vector<double> cosine = CosineTable(n);
  const std::vector<double> ramp = RamLak(n / 2);
  std::vector<double> spectrum(n / 2 + 1, 0.0);
  for (int f = 0; f <= n / 2; ++f) {
    const double factor = change(static_cast<double>(f) / (n / 2));
    if (factor != 0) spectrum[f] = factor * EvenTransform(ramp, f, cosine);
  }
  // Inverse transform of a real even spectrum; the Nyquist term stands once.
  std::vector<double> h(length);
  const double nyquist = spectrum.back();
  spectrum.back() = 0;
  for (int k = 0; k < length; ++k) {
    h[k] = (EvenTransform(spectrum, k, cosine) + (k % 2 == 0 ? nyquist : -nyquist)) / n;
  }
  return h;
}

// What twice differentiated rows are convolved with. The window changes high frequencies alone, so
// that its part falls off like the ramp's and has no free constant.
std::vector<double> ResidualKernel(const RampFilterSpec& spec) {
  const int length = spec.columns;
  const std::vector<double> h = RamLak(length);
  std::vector<double> r(length + 1, 0.0);
  double step = h[0] / 2;
  for (int k = 1; k <= length; ++k) {
    r[k] = r[k - 1] + step;
    if (k < length) step += h[k];
  }
  for (double& value : r) value -= r.back();
  r.pop_back();
  if (IsRamLak(spec)) return r;
  const std::vector<double> change = FromRamp(length, [&](double x) {
    const double gain = x <= spec.cutoff ? Window(spec.window, x / spec.cutoff) : 0;
    return x == 0 ? 0 : (gain - 1) / (2 * std::cos(kPi * x) - 2);
  });
  for (int k = 0; k < length; ++k) r[k] += change[k];
  return r;
}

}  // namespace

int ExtensionLength(const RampFilterSpec& spec) {
  const bool extended =
      spec.truncation == Truncation::kMirror || spec.truncation == Truncation::kCylinder;
  return extended ? spec.columns / 2 : 0;
}

int CurvaturePixels(int columns) { return columns < 3 ? 0 : std::max(3, columns / 2); }

int SlopePixels(int columns) { return columns < 2 ? 0 : std::max(1, columns / 32); }

int MinimumTransformLength(const RampFilterSpec& spec) {
  return 2 * (spec.columns + ExtensionLength(spec));
}

std::vector<double> RampFilterKernel(const RampFilterSpec& spec) {
  if (spec.truncation == Truncation::kAtract) return ResidualKernel(spec);
  const int length = spec.columns + ExtensionLength(spec);
  if (IsRamLak(spec)) return RamLak(length);
  return FromRamp(length, [&](double x) {
    return x <= spec.cutoff ? Window(spec.window, x / spec.cutoff) : 0;
  });
}

std::vector<double> RampFilterResponse(const RampFilterSpec& spec, int n) {
  const std::vector<double> kernel = RampFilterKernel(spec);
  const std::vector<double> cosine = CosineTable(n);
  std::vector<double> response(n / 2 + 1);
  for (int f = 0; f <= n / 2; ++f) response[f] = EvenTransform(kernel, f, cosine);
  return response;
}

}  // namespace isocenter::ops
