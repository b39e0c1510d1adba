// What changes the matrices of a scan, by few parameters.
#pragma once

#include <span>
#include <vector>

#include "kernels/geometry/rigid_motion.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/ops/matrix_gradient.h"

namespace isocenter::recon {

/// Parameters of every frame, of which each is a cubic B-spline over the scan with evenly spaced
/// knots: `spans` of them between `spans` + 3 control points; 0 spans: a constant.
class FrameSpline {
 public:
  FrameSpline(int frames, int spans);
  int controls() const { return spans_ == 0 ? 1 : spans_ + 3; }
  int spans() const { return spans_; }
  /// `of_controls`: [control][each], `of_frames`: [frame][each].
  void Evaluate(std::span<const double> of_controls, int each, std::span<double> of_frames) const;
  /// The adjoint.
  void Gather(std::span<const double> of_frames, int each, std::span<double> of_controls) const;

 private:
  struct Place {
    int first = 0;
    double weight[4] = {1, 0, 0, 0};
  };
  int spans_;
  std::vector<Place> frames_;
};

/// 64 spans over a scan, or of two frames each where there are fewer: a jolt takes 3 % of it.
FrameSpline FineSpline(int frames);

/// What each control point of a spline over so many views weighs at each: [view][control point].
std::vector<double> CurvesOf(int views, const FrameSpline& spline);

/// The same curve with twice the spans (0: constant, with `spans` of them).
std::vector<double> WithTwiceTheSpans(std::span<const double> of_controls, int each, int spans);

/// The six parameters of a pose are in mm: shifts, and ways of what is 60 mm from the isocentre for
/// angles, so that they weigh alike.
inline constexpr double kLeverMm = 60;

/// P·T of an object in the pose of `six`.
ProjectionMatrix InPose(const ProjectionMatrix& matrix, std::span<const double> six);
/// dE/dparameters from the changed matrix's dE/dP.
void PullToPose(const ProjectionMatrix& matrix, std::span<const double> six,
                const ops::MatrixSlope& slope, std::span<double> gradient);

RigidPose PoseFrom(std::span<const double> six);
std::vector<double> ParametersOf(const RigidPose& pose);

}  // namespace isocenter::recon
