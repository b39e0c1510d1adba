#include <cmath>

#include "kernels/ops/check.h"
#include "kernels/reference/device.h"
#include "kernels/reference/fan_beam.h"

namespace isocenter::reference {
namespace {

// Linear between channels' middles, zero beside the detector.
double Sample(const double* row, int64_t channels, double t) {
  const double whole = std::floor(t);
  if (!(whole >= -1 && whole < static_cast<double>(channels))) return 0;
  const auto c = static_cast<int64_t>(whole);
  const auto at = [&](int64_t i) { return i < 0 || i >= channels ? 0.0 : row[i]; };
  return (1 - (t - whole)) * at(c) + (t - whole) * at(c + 1);
}

// Eq. 1 to 3 of the paper: the point in the frame of the view, its fan angle, its distance.
class Backproject final : public ops::FanBeamBackproject {
 public:
  absl::Status DoRun(const FanBeamGeometry& g, int first_view, const ops::ProjectionStack& filtered,
                     ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const VolumeGrid& grid = target->grid();
    const double d = g.source_to_axis_mm;
    for (int64_t view = 0; view < stack->shape().slow; ++view) {
      const double beta = g.first_angle + static_cast<double>(first_view + view) * g.arc / g.views;
      const double c = std::cos(beta), s = std::sin(beta);
      for (int j = 0; j < grid.ny; ++j) {
        for (int i = 0; i < grid.nx; ++i) {
          const Vec3 p = grid.VoxelToWorld(i, j, 0);
          const double x = c * p.x + s * p.y, y = -s * p.x + c * p.y;
          if (!(d - y > 0)) continue;
          double t = 0, weight = 0;
          if (g.detector == FanBeamGeometry::Detector::kArc) {
            t = g.central_channel + std::atan2(x, d - y) / g.channel_angle;
            weight = 1 / (x * x + (d - y) * (d - y));
          } else {
            t = g.central_channel + x / (d - y) * g.source_to_detector_mm / g.channel_pitch_mm;
            weight = d * d / ((d - y) * (d - y));
          }
          for (int k = 0; k < grid.nz; ++k) {
            target->view()(k, j, i) +=
                weight * Sample(stack->view().row(view, k), stack->shape().fast, t);
          }
        }
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<ops::FanBeamBackproject> NewFanBeamBackproject() {
  return std::make_unique<Backproject>();
}

}  // namespace isocenter::reference
