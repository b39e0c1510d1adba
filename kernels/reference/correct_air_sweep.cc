#include <algorithm>
#include <cmath>

#include "kernels/ops/corrections.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

/// Where a position lies between the first and the last of `count` points, and between which two.
struct Between {
  Between(double position, int count) {
    const double held = std::clamp(position, 0.0, static_cast<double>(count - 1));
    low = std::min(static_cast<int>(held), std::max(0, count - 2));
    high = std::min(low + 1, count - 1);
    share = held - low;
  }
  double Of(double at_low, double at_high) const { return (1 - share) * at_low + share * at_high; }

  int low, high;
  double share;
};

class CorrectAirSweepPlain final : public ops::CorrectAirSweep {
 public:
  explicit CorrectAirSweepPlain(const ops::Calibration& calibration)
      : CorrectAirSweep(calibration),
        sweep_(calibration.air_sweep),
        across_(ops::AirSweep::Blocks(detector().columns)),
        down_(ops::AirSweep::Blocks(detector().rows)) {}

 private:
  absl::Status DoRun(std::span<const float> places, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    for (size_t i = 0; i < places.size(); ++i) {
      for (int v = 0; v < detector().rows; ++v) {
        for (int u = 0; u < detector().columns; ++u) {
          stack->view()(static_cast<int64_t>(i), v, u) /= Air(places[i], v, u);
        }
      }
    }
    return absl::OkStatus();
  }

  double Air(double place, int v, int u) const {
    const Between angle(place, static_cast<int>(sweep_.angles.size()));
    const Between row(PositionOf(v), down_), column(PositionOf(u), across_);
    const auto at_angle = [&](int a) {
      const auto at_row = [&](int r) {
        return column.Of(Block(a, r, column.low), Block(a, r, column.high));
      };
      return row.Of(at_row(row.low), at_row(row.high));
    };
    return angle.Of(at_angle(angle.low), at_angle(angle.high));
  }

  // Of a pixel, in blocks between the middles of whole ones.
  static double PositionOf(int pixel) { return (pixel + 0.5) / ops::kAirTile - 0.5; }

  double Block(int angle, int row, int column) const {
    return sweep_.relative[(static_cast<size_t>(angle) * down_ + row) * across_ + column];
  }

  const ops::AirSweep sweep_;
  const int across_, down_;
};

}  // namespace

std::unique_ptr<ops::CorrectAirSweep> NewCorrectAirSweep(const ops::Calibration& calibration) {
  return std::make_unique<CorrectAirSweepPlain>(calibration);
}

}  // namespace isocenter::reference
