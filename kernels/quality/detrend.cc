#include "kernels/quality/detrend.h"

#include <array>
#include <vector>

namespace isocenter::quality {

// On a grid that is symmetric about its middle 1, x, xy and x² less its mean are at right angles to
// each other, so each is taken out by itself.
int Detrend(std::span<double> values, const BlockExtent& e) {
  std::vector<double> axis[3], square[3];
  for (int a = 0; a < 3; ++a) {
    double mean = 0;
    for (int i = 0; i < e.n[a]; ++i) {
      const double x = i - 0.5 * (e.n[a] - 1);
      axis[a].push_back(x);
      square[a].push_back(x * x);
      mean += x * x / e.n[a];
    }
    for (double& s : square[a]) s -= mean;
  }
  using Term = std::array<const std::vector<double>*, 3>;
  std::vector<Term> terms = {{}};
  for (int a = 0; a < 3; ++a) {
    if (e.n[a] < 3) continue;
    Term first{}, second{};
    first[a] = &axis[a];
    second[a] = &square[a];
    terms.push_back(first);
    terms.push_back(second);
    for (int b = 0; b < a; ++b) {
      Term mixed = first;
      mixed[b] = &axis[b];
      if (e.n[b] >= 3) terms.push_back(mixed);
    }
  }
  for (const Term& term : terms) {
    const auto at = [&term](int a, int i) { return term[a] == nullptr ? 1.0 : (*term[a])[i]; };
    double along = 0, norm = 0;
    const auto visit = [&](auto&& use) {
      size_t index = 0;
      for (int k = 0; k < e.n[2]; ++k) {
        for (int j = 0; j < e.n[1]; ++j) {
          const double row = at(2, k) * at(1, j);
          for (int i = 0; i < e.n[0]; ++i) use(values[index++], row * at(0, i));
        }
      }
    };
    visit([&](double& value, double t) { along += value * t, norm += t * t; });
    visit([&](double& value, double t) { value -= along / norm * t; });
  }
  return static_cast<int>(terms.size());
}

}  // namespace isocenter::quality
