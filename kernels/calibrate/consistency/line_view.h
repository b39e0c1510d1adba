// One frame of a scan, as what its lines say of planes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/vec3.h"

namespace isocenter::calibrate {

enum class LineState : uint8_t {
  kGood,
  kOutside,    // hardly on the detector
  kTruncated,  // leaves the detector through the object
};

struct LineSample {
  LineState state = LineState::kOutside;
  /// Of its two ends, how many read what neither air nor much of an object does.
  int ends_off_air = 0;
  double derivative = 0;  // of the plane's integral along its normal, dimensionless
  /// What a shift of the frame's content by one pixel of the detector, along columns' numbers (u)
  /// and along rows' (v), adds to `derivative`.
  double by_u = 0, by_v = 0;
  /// The gradient of `derivative` by the plane's unit normal, from a binned pixel on both sides of
  /// the line: fits that go by the very derivative of what is interpolated get stuck at edges that
  /// pixels sample too coarsely. What lies along the normal means nothing.
  Vec3 by_normal;
};

/// Frames are smoothed by a Gaussian of so many binned pixels: derivatives of noise and of edges
/// that pixels sample too coarsely would drown all else.
inline constexpr double kConsistencySigmaPx = 2;

/// Mean line integral of the outermost pixels of a line that ends in air; more than kObject is an
/// object that the detector cuts. What lies between, or is brighter than air, is air that is not
/// where i0_counts or the corrections say.
inline constexpr double kMostAir = 0.05, kObject = 0.25;

/// Pixels of the detector that are one here, along each axis: such that 320 columns are left.
int ConsistencyBinning(const Detector& detector);

/// Line integrals of a frame, binned, weighted and smoothed for plane integrals (kernels/reference/
/// plane_derivative.h has the formula and its sources). Lines are integrated pixel by pixel along
/// the axis that they run along, linearly interpolated across it.
class LineView {
 public:
  /// `counts`: [v][u] of `detector`. Those of 0 count as half of one.
  LineView(std::span<const uint16_t> counts, const Detector& detector, double i0_counts,
           int binning, const ProjectionMatrix& matrix);
  /// `line_integrals`: [v][u] of `detector`, of corrected counts.
  LineView(std::span<const float> line_integrals, const Detector& detector, int binning,
           const ProjectionMatrix& matrix);

  Vec3 source() const { return source_; }
  /// Of the plane through the source with unit `normal`.
  LineSample Sample(Vec3 normal) const;

 private:
  struct Track;  // a line, as the place across it at each pixel along it
  LineSample Integrate(const Track& track) const;
  LineView(const Detector& detector, int binning, const ProjectionMatrix& matrix);
  /// From sums of transmissions of binned pixels; `sum` of (u, v) of these.
  void Weigh(absl::FunctionRef<double(int u, int v)> sum, double full, double least);
  double End(const Track& track, int along) const;
  void Smooth();
  float at(bool turned, int along, int across) const {
    return turned ? weighted_[static_cast<size_t>(along) * columns_ + across]
                  : weighted_[static_cast<size_t>(across) * columns_ + along];
  }

  int binning_, columns_, rows_;
  std::vector<float> weighted_;    // line integral over length of the ray of depth 1
  std::array<double, 9> inverse_;  // of the binned matrix's left part
  double determinant_ = 0;         // of `inverse_`
  Vec3 source_;
};

}  // namespace isocenter::calibrate
