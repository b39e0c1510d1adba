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
    std::vector<double> high;
    for (int64_t view = 0; view < lines.shape().slow; ++view) {
      std::vector<double> around;
      for (int64_t k = 1; k <= ops::kStripeReach; ++k) {
        if (u - k < 0 || u + k >= lines.shape().fast) break;
        around.push_back((lines(view, v, u - k) + lines(view, v, u + k)) / 2);
      }
      if (around.empty()) return 0;
      std::sort(around.begin(), around.end());
      high.push_back(lines(view, v, u) - around[(around.size() - 1) / 2]);
    }
    std::sort(high.begin(), high.end());
    const double stripe = high[(high.size() - 1) / 2];
    const double most = 2 * ops::kMostStripe - std::abs(stripe);
    return std::copysign(std::max(0.0, std::min(std::abs(stripe), most)), stripe);
  }
};

}  // namespace

std::unique_ptr<ops::RemoveStripes> NewRemoveStripes() {
  return std::make_unique<RemoveStripesPlain>();
}

}  // namespace isocenter::reference
