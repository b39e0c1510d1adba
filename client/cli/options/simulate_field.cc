#include "client/cli/options/simulate_field.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "client/cli/options/phantom_flags.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/redundancy.h"

namespace isocenter::cli {
namespace {

/// Less than a millimetre of water is no object: volumes have noise in their air.
constexpr double kLeastIntegral = kMuWaterPerMm;
constexpr int kViews = 24, kRows = 7, kSteps = 48;  // that are looked at
constexpr double kLeastCutMm = 0.5;

Vec3 Direction(const std::array<double, 9>& inverse, double u, double v) {
  const Vec3 ray{inverse[0] * u + inverse[1] * v + inverse[2],
                 inverse[3] * u + inverse[4] * v + inverse[5],
                 inverse[6] * u + inverse[7] * v + inverse[8]};
  return (1 / Norm(ray)) * ray;
}

/// The farthest corner of the box that the object is in, from the isocentre.
double ReachMm(const phantom::Box& box) {
  return Norm({std::max(std::abs(box.low.x), std::abs(box.high.x)),
               std::max(std::abs(box.low.y), std::abs(box.high.y)),
               std::max(std::abs(box.low.z), std::abs(box.high.z))});
}

/// Columns in which the corners of the box are seen: nothing of the object is beyond.
std::pair<double, double> ColumnsOf(const phantom::Box& box, const ProjectionMatrix& matrix) {
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (int corner = 0; corner < 8; ++corner) {
    const Projected seen =
        matrix.Project({corner & 1 ? box.high.x : box.low.x, corner & 2 ? box.high.y : box.low.y,
                        corner & 4 ? box.high.z : box.low.z});
    if (seen.w <= 0) continue;
    least = std::min(least, seen.u());
    most = std::max(most, seen.u());
  }
  return {least, most};
}

/// How many columns beyond `edge`, towards `end`, the object is seen in.
double ColumnsBeyond(const phantom::Phantom& object, const ProjectionMatrix& matrix, Vec3 source,
                     int rows, double edge, double end) {
  const std::array<double, 9> inverse = InverseLeft(matrix);
  for (int step = kSteps; step > 0; --step) {
    const double beyond = (end - edge) * step / kSteps;
    for (int row = 0; row < kRows; ++row) {
      const double v = (rows - 1.0) * row / (kRows - 1);
      const Vec3 direction = Direction(inverse, edge + beyond, v);
      if (object.LineIntegral(source, direction) > kLeastIntegral) return std::abs(beyond);
    }
  }
  return 0;
}

}  // namespace

absl::Status CheckSourcesOutside(const phantom::Phantom& object, const Trajectory& seen) {
  for (size_t view = 0; view < seen.size(); ++view) {
    ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(seen[view]));
    const double distance = Norm(camera.source);
    const Vec3 outward = (1 / distance) * camera.source;
    if (object.LineIntegral(camera.source, outward) <= kLeastIntegral) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "the source of frame %d is %.4g mm from the isocentre, inside of the object, which reaches "
        "to %.4g mm from it; legal is a source outside: a longer --sid-mm, or a smaller object",
        view, distance, ReachMm(object.Bounds())));
  }
  return absl::OkStatus();
}

std::optional<std::string> CutWidthWarning(const phantom::Phantom& object, const Trajectory& seen,
                                           const Detector& detector) {
  const bool turns = CoversCircle(seen);
  const double last = detector.columns - 0.5;  // the outer edges of the outermost pixels
  double cut_mm = 0, field_mm = 0;
  const size_t stride = std::max<size_t>(1, seen.size() / kViews);
  for (size_t view = 0; view < seen.size(); view += stride) {
    const absl::StatusOr<Camera> camera = Decompose(seen[view]);
    if (!camera.ok()) return std::nullopt;
    const double mm = camera->isocenter_depth_mm / camera->focal_u_px;  // of a column
    const double middle = seen[view].Project({0, 0, 0}).u();
    const double left = middle + 0.5, right = last - middle;
    const bool displaced = turns && std::abs(left - right) > 0.1 * detector.columns;
    const auto [least, most] = ColumnsOf(object.Bounds(), seen[view]);
    double columns = 0;
    if (least < -0.5 && (!displaced || left > right)) {
      columns += ColumnsBeyond(object, seen[view], camera->source, detector.rows, -0.5, least);
    }
    if (most > last && (!displaced || right > left)) {
      columns += ColumnsBeyond(object, seen[view], camera->source, detector.rows, last, most);
    }
    if (columns * mm <= cut_mm) continue;
    cut_mm = columns * mm;
    field_mm = mm * (displaced ? 2 * std::max(left, right) : detector.columns);
  }
  if (cut_mm < kLeastCutMm) return std::nullopt;
  return absl::StrFormat(
      "the object is wider than the detector's field of %.4g mm at the isocentre: of its width up "
      "to %.3g mm (%.0f %%) are cut, and volumes of it are truncated (docs/truncation.md)",
      field_mm, cut_mm, 100 * cut_mm / (field_mm + cut_mm));
}

}  // namespace isocenter::cli
