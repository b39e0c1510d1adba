#include "kernels/recon/air_places.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter::recon {

absl::StatusOr<double> SourceAngle(const ProjectionMatrix& matrix) {
  ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
  return std::atan2(camera.source.y, camera.source.x);
}

absl::StatusOr<std::vector<float>> AirPlaces(const ops::AirSweep& sweep,
                                             const Trajectory& trajectory) {
  std::vector<float> places;
  if (sweep.angles.empty()) return places;
  constexpr double kBeyond = DegreesToRadians(kBeyondSweepDeg);
  const std::vector<double>& angles = sweep.angles;
  for (size_t view = 0; view < trajectory.size(); ++view) {
    ISO_ASSIGN_OR_RETURN(const double source, SourceAngle(trajectory[view]));
    // Turned on by whole turns until it is the first time behind the sweep's beginning.
    const double first = angles.front() - kBeyond;
    const double turned = source - 2 * kPi * std::floor((source - first) / (2 * kPi));
    if (turned > angles.back() + kBeyond) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "the source of frame %d is at %.1f degrees about the axis, where the calibration's air "
          "sweep saw nothing; legal is %.1f to %.1f",
          view, RadiansToDegrees(source), RadiansToDegrees(angles.front()),
          RadiansToDegrees(angles.back())));
    }
    const double held = std::clamp(turned, angles.front(), angles.back());
    const auto after = std::upper_bound(angles.begin() + 1, angles.end() - 1, held);
    const double low = *(after - 1);
    places.push_back(static_cast<float>(static_cast<double>(after - 1 - angles.begin()) +
                                        (held - low) / (*after - low)));
  }
  return places;
}

}  // namespace isocenter::recon
