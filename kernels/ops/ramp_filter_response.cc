#include <cmath>

#include "kernels/base/units.h"
#include "kernels/ops/operations.h"

namespace isocenter::ops {
namespace {

// Window at fraction x of the cut-off frequency, x in [0, 1].
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

}  // namespace

std::vector<double> RampFilterResponse(const RampFilterSpec& spec, int n) {
  // DFT of the even sequence h[0] = 1/4, h[odd k] = -1/(πk)², which wraps at n/2. The transform of
  // a real even sequence is a cosine sum; it is taken for all frequencies with cosines from one
  // table of n.
  const int half = n / 2;
  std::vector<double> cosine(n);
  for (int k = 0; k < n; ++k) cosine[k] = std::cos(2 * kPi * k / n);
  std::vector<double> response(half + 1);
  for (int f = 0; f <= half; ++f) {
    const double x = f / (spec.cutoff * half);
    if (x > 1) continue;  // zero above the cut-off
    double sum = 0.25;
    for (int k = 1; k < half; k += 2) {
      sum -= 2 / (kPi * kPi * k * k) * cosine[static_cast<int64_t>(f) * k % n];
    }
    if (half % 2 == 1)
      sum -= cosine[static_cast<int64_t>(f) * half % n] / (kPi * kPi * half * half);
    response[f] = sum * Window(spec.window, x);
  }
  return response;
}

int MinimumTransformLength(const RampFilterSpec& spec) {
  // Without extension the row is 'columns' long, with it 2·columns; the kernel reaches 'columns' -
  // 1 to both sides of the part that is kept.
  return spec.extend_truncated_rows ? 3 * spec.columns : 2 * spec.columns;
}

}  // namespace isocenter::ops
