#include <optional>
#include <utility>
#include <vector>

#include "kernels/ops/corrections.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

class InterpolateDefectsPlain final : public ops::InterpolateDefects {
 public:
  explicit InterpolateDefectsPlain(const ops::Calibration& calibration)
      : InterpolateDefects(calibration.detector),
        defects_(calibration.defects.pixels),
        defective_(int64_t{detector().rows} * detector().columns) {
    for (const int32_t pixel : defects_) defective_[pixel] = true;
  }

 private:
  struct Neighbour {
    double value;
    int distance;
  };

  absl::Status DoRun(int64_t views, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    for (int64_t i = 0; i < views; ++i) {
      const HostView3<double> frame(stack->view().row(i, 0),
                                    {1, detector().rows, detector().columns});
      for (const int32_t pixel : defects_) {
        const int u = pixel % detector().columns, v = pixel / detector().columns;
        frame(0, v, u) = Interpolated(frame, u, v);
      }
    }
    return absl::OkStatus();
  }

  double Interpolated(const HostView3<double>& frame, int u, int v) const {
    constexpr std::pair<int, int> kDirections[] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
    double sum = 0, weights = 0;
    for (const auto& [du, dv] : kDirections) {
      const auto before = Nearest(frame, u, v, -du, -dv);
      const auto after = Nearest(frame, u, v, du, dv);
      if (!before.has_value() || !after.has_value()) continue;
      const double a = before->value, b = after->value;
      const double i = before->distance, j = after->distance;
      const double length_squared = (i + j) * (i + j) * (du * du + dv * dv);
      const double unlike = (a - b) * (a - b) + 0.02 * 0.02 * (a + b) * (a + b) + 1e-12;
      const double weight = 1 / (length_squared * unlike);
      sum += weight * (j * a + i * b) / (i + j);
      weights += weight;
    }
    return weights > 0 ? sum / weights : NearestOfAll(frame, u, v);
  }

  // At the border.
  double NearestOfAll(const HostView3<double>& frame, int u, int v) const {
    constexpr std::pair<int, int> kDirections[] = {{-1, 0},  {1, 0}, {0, -1}, {0, 1},
                                                   {-1, -1}, {1, 1}, {-1, 1}, {1, -1}};
    double value = 0, least_square = 1e9;
    for (const auto& [du, dv] : kDirections) {
      const auto good = Nearest(frame, u, v, du, dv);
      if (!good.has_value()) continue;
      const double square = good->distance * good->distance * (du * du + dv * dv);
      if (square >= least_square) continue;
      least_square = square;
      value = good->value;
    }
    return value;
  }

  std::optional<Neighbour> Nearest(const HostView3<double>& frame, int u, int v, int du,
                                   int dv) const {
    for (int distance = 1; distance <= ops::kDefectReach; ++distance) {
      const int x = u + distance * du, y = v + distance * dv;
      if (x < 0 || y < 0 || x >= detector().columns || y >= detector().rows) break;
      if (!defective_[int64_t{y} * detector().columns + x]) return {{frame(0, y, x), distance}};
    }
    return std::nullopt;
  }

  const std::vector<int32_t> defects_;
  std::vector<bool> defective_;
};

}  // namespace

std::unique_ptr<ops::InterpolateDefects> NewInterpolateDefects(
    const ops::Calibration& calibration) {
  return std::make_unique<InterpolateDefectsPlain>(calibration);
}

}  // namespace isocenter::reference
