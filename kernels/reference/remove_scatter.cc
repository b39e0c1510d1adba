#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/ops/second_pass.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

class RemoveScatterPlain final : public ops::RemoveScatter {
 public:
  explicit RemoveScatterPlain(const ops::WaterPolynomial& water) : water_(water.coefficient) {}

 private:
  absl::Status DoRun(int64_t views, const ops::ProjectionStack& scatter,
                     ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(const Stack* cells, AsStack(scatter));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const Shape3 shape = stack->shape();
    for (int64_t view = 0; view < views; ++view) {
      for (int64_t v = 0; v < shape.middle; ++v) {
        for (int64_t u = 0; u < shape.fast; ++u) {
          double& p = stack->view()(view, v, u);
          p = Water(Primary(p, At(*cells, view, v, u, shape)));
        }
      }
    }
    return absl::OkStatus();
  }

  // A cell counts by how close its centre is, in cells, along both axes.
  static double At(const Stack& cells, int64_t view, int64_t v, int64_t u, const Shape3& pixels) {
    const int64_t down = cells.shape().middle, across = cells.shape().fast;
    const auto centre = [](int64_t pixel, int64_t of, int64_t count) {
      const double at = (static_cast<double>(pixel) + 0.5) / static_cast<double>(of);
      return std::clamp(at * static_cast<double>(count) - 0.5, 0.0, static_cast<double>(count - 1));
    };
    const double y = centre(v, pixels.middle, down), x = centre(u, pixels.fast, across);
    double sum = 0;
    for (int64_t j = 0; j < down; ++j) {
      for (int64_t i = 0; i < across; ++i) {
        const double closeness = std::max(0.0, 1 - std::abs(x - static_cast<double>(i))) *
                                 std::max(0.0, 1 - std::abs(y - static_cast<double>(j)));
        if (closeness > 0) sum += closeness * cells.view()(view, j, i);
      }
    }
    return sum;
  }

  // Intensities, as the frames had them.
  static double Primary(double p, double scatter) {
    const double measured = std::exp(-p);
    return -std::log(std::max(measured - scatter, ops::kLeastUnscattered * measured));
  }

  double Water(double p) const {
    const double measured = std::min(p, ops::kLongestLineIntegral);
    if (water_.empty()) return measured;
    double sum = 0;
    for (size_t n = 0; n < water_.size(); ++n) {
      sum += water_[n] * std::pow(measured, static_cast<double>(n + 1));
    }
    return sum;
  }

  const std::vector<double> water_;
};

}  // namespace

std::unique_ptr<ops::RemoveScatter> NewRemoveScatter(const ops::Calibration& calibration) {
  return std::make_unique<RemoveScatterPlain>(calibration.water);
}

}  // namespace isocenter::reference
