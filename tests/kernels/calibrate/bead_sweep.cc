#include "tests/kernels/calibrate/bead_sweep.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter::calibrate {

Trajectory WobblingArm(int frames, uint64_t seed, const Detector& detector) {
  const CircularOrbit orbit{.views = frames,
                            .source_to_isocenter_mm = 750,
                            .source_to_detector_mm = 1200,
                            .arc = DegreesToRadians(200)};
  return *MakeWobblingOrbit(orbit, detector, 1, seed);
}

absl::StatusOr<GeometryFit> Calibrated(const BeadSweep& sweep, const BeadTable& table,
                                       const GeometryChoice& choice) {
  constexpr double kI0 = 60000;
  ThreadPool pool(UsableCores());
  const int frames = static_cast<int>(sweep.truth.size());
  ISO_ASSIGN_OR_RETURN(const std::unique_ptr<GeometrySweep> fit,
                       GeometrySweep::Make(table, sweep.detector, kI0, frames));
  const Shape3 shape{1, sweep.detector.rows, sweep.detector.columns};
  std::vector<float> line_integrals(shape.count());
  std::vector<uint16_t> counts(shape.count());
  for (int frame = 0; frame < frames; ++frame) {
    phantom::ProjectView(sweep.object, sweep.truth[frame], sweep.detector, sweep.subsamples, pool,
                         {line_integrals.data(), shape});
    if (sweep.disturb) sweep.disturb(frame, line_integrals);
    phantom::ToCounts(line_integrals, kI0, sweep.noise, frame, counts);
    fit->Add(frame, counts);
  }
  return fit->Fit(choice, pool);
}

GeometryError ErrorOf(const Trajectory& fitted, const Trajectory& truth) {
  constexpr double kRadiusMm = 80;
  std::vector<Vec3> points;
  for (int i = 0; i < 200; ++i) {  // a spiral over the sphere, and its middle
    const double z = 1 - (2 * i + 1) / 200.0, r = std::sqrt(1 - z * z);
    points.push_back(kRadiusMm * Vec3{r * std::cos(2.4 * i), r * std::sin(2.4 * i), z});
  }
  points.push_back({});
  GeometryError error;
  const auto degrees = [](Vec3 a, Vec3 b) {
    return RadiansToDegrees(std::asin(std::min(1.0, Norm(Cross(a, b)))));
  };
  for (size_t k = 0; k < truth.size(); ++k) {
    for (const Vec3 point : points) {
      const Projected a = fitted[k].Project(point), b = truth[k].Project(point);
      const double distance = std::hypot(a.u() - b.u(), a.v() - b.v());
      error.most_reprojection_px = std::max(error.most_reprojection_px, distance);
      error.reprojection_px += distance * distance / static_cast<double>(points.size());
    }
    const Camera a = *Decompose(fitted[k]), b = *Decompose(truth[k]);
    const double source = Norm(a.source - b.source);
    const double axis = std::max({degrees(a.u_axis, b.u_axis), degrees(a.v_axis, b.v_axis),
                                  degrees(a.depth_axis, b.depth_axis)});
    error.source_mm += source * source;
    error.axis_deg += axis * axis;
    error.most_source_mm = std::max(error.most_source_mm, source);
    error.most_axis_deg = std::max(error.most_axis_deg, axis);
  }
  const auto frames = static_cast<double>(truth.size());
  for (double* sum : {&error.reprojection_px, &error.source_mm, &error.axis_deg}) {
    *sum = std::sqrt(*sum / frames);
  }
  return error;
}

}  // namespace isocenter::calibrate
