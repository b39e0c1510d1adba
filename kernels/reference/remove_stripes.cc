#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ops/rings.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

class RemoveStripesPlain final : public ops::RemoveStripes {
 private:
  absl::Status DoRun(ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const HostView3<double> lines = stack->view();
    const Shape3 shape = lines.shape();
    for (int64_t row = 0; row < ops::kStripePasses * shape.middle; ++row) {
      const int64_t v = row % shape.middle;
      std::vector<double> stripes;
      for (int64_t u = 0; u < shape.fast; ++u) stripes.push_back(Stripe(lines, v, u));
      for (int64_t view = 0; view < shape.slow; ++view) {
        for (int64_t u = 0; u < shape.fast; ++u) lines(view, v, u) -= stripes[u];
      }
    }
    return absl::OkStatus();
  }

  static double Stripe(HostView3<double> lines, int64_t v, int64_t u) {
    const Shape3 shape = lines.shape();
    if (shape.slow < ops::kStripeParts) return 0;
    if (std::min(u, shape.fast - 1 - u) < 2 * ops::kStripePairs) return 0;
    std::vector<double> medians;
    for (int part = 0; part < ops::kStripeParts; ++part) {
      std::vector<double> high;
      const int64_t end = (part + 1) * shape.slow / ops::kStripeParts;
      for (int64_t view = part * shape.slow / ops::kStripeParts; view < end; ++view) {
        high.push_back(HighPass(lines, view, v, u));
      }
      std::sort(high.begin(), high.end());
      medians.push_back(high[(high.size() - 1) / 2]);
    }
    std::sort(medians.begin(), medians.end());
    const double low = medians[1], highest = medians[medians.size() - 2];
    const double stripe = low > 0 ? low : std::min(highest, 0.0);
    const double most = 2 * ops::kMostStripe - std::abs(stripe);
    return std::copysign(std::max(0.0, std::min(std::abs(stripe), most)), stripe);
  }

  static double HighPass(HostView3<double> lines, int64_t view, int64_t v, int64_t u) {
    const auto pair = [&](int64_t k) {
      return (lines(view, v, u - k) + lines(view, v, u + k)) / 2;
    };
    std::vector<double> around;
    for (int64_t k = 1; k <= ops::kStripePairs; ++k) {
      around.push_back((4 * pair(k) - pair(2 * k)) / 3);
    }
    std::sort(around.begin(), around.end());
    return lines(view, v, u) - around[around.size() / 2];
  }
};

}  // namespace

std::unique_ptr<ops::RemoveStripes> NewRemoveStripes() {
  return std::make_unique<RemoveStripesPlain>();
}

}  // namespace isocenter::reference
