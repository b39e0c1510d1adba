// An arm's projection matrices, from a sweep of a phantom of small balls.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/calibrate/figure.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/phantom_tables/bead_table.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::calibrate {

/// A sweep that is good enough has, with the advice that a refusal gives:
inline constexpr int kLeastGeometryFrames = 10;
/// balls that were measured in each frame;
inline constexpr int kLeastMeasuredBalls = 16;
/// root mean square distance of shadows from where the matrices have them, of all frames and of
/// any single one (pixels);
inline constexpr double kMostResidualPx = 0.3, kMostFrameResidualPx = 0.6;
/// standard deviation on the detector of any point of the phantom's box, in any frame (pixels);
inline constexpr double kMostPointSigmaPx = 0.1;
/// balls that are not where the table has them (mm), of which so many may be left out.
inline constexpr double kMostBallErrorMm = 0.1;
inline constexpr double kMostWrongBalls = 0.05;
/// How much the sides of a panel's pixels may differ, and its rows and columns be off a right
/// angle, root mean square of all frames, before it is the table that has an axis of another length
/// or is sheared: of a real arm 0.3 %, in single frames 0.6 %, and 0.07 degrees. What a table does
/// across the axis of rotation changes its sign with the angle.
inline constexpr double kMostAspect = 0.005, kMostSkewDeg = 0.15;

enum class GeometryModel {
  /// kArm where it explains the shadows as well as kFrames does, else kFrames.
  kAuto,
  /// Each frame alone: nine parameters, or eleven (GeometryFit::parameters).
  kFrames,
  /// All but the pose changes smoothly over the sweep; the pose is each frame's own.
  kArm,
};

enum class GeometryWorld {
  /// The phantom's own frame.
  kPhantom,
  /// z is the normal of the plane of the sources, on the side of the phantom's z; the origin is the
  /// point nearest to all rays through the middle of the detector; x is turned against the
  /// phantom's as little as possible.
  kOrbit,
};

struct GeometryChoice {
  GeometryModel model = GeometryModel::kAuto;
  GeometryWorld world = GeometryWorld::kPhantom;
};

/// What one frame showed. Numbers of balls.
struct FrameReport {
  int measured = 0, crowded = 0, outside = 0, missing = 0, odd = 0;
  int unexplained = 0;  // round shadows that are no ball's of the table
  double rms_px = 0;    // of the distances of shadows from where the matrix has them
};

/// What all frames showed of one ball.
struct BallReport {
  int frames = 0;   // in which it was measured
  int missing = 0;  // in which it should be seen and is not
  Vec3 offset;      // of where it is from where the table has it (mm)
  bool left_out = false;
  double diameter_mm = 0;  // of its shadow, against those of balls like it; 0: too few frames
  std::string why;         // of one that was left out, never seen, or of another size
};

/// Standard deviations that follow from the residuals; of all frames the root mean square.
struct GeometrySigmas {
  double source_along_mm = 0;   // from source to detector
  double source_across_mm = 0;  // along rows or columns
  double tilt_deg = 0;          // of the detector about its rows or columns
  double roll_deg = 0;          // about its normal
  double aspect = 0;            // of the ratio of the pixels' sides; 0: not fitted
  double skew = 0;              // of the angle of rows and columns (radians); 0: not fitted
  double point_px = 0;          // of the worst point of the phantom's box, in the worst frame
};

struct GeometryFit {
  Trajectory matrices;
  GeometryModel model = GeometryModel::kFrames;
  int intervals = 0;  // of the splines; 0: kFrames
  // Of each camera: nine where pixels are what the detector's pitches say, eleven where they are
  // not: the ratio of their sides and the angle of rows and columns are then fitted too.
  int parameters = 0;
  double most_aspect = 0, most_skew = 0;        // relative to the pitches, radians: the largest
  double rms_aspect = 0, rms_skew = 0;          // of all frames
  double rms_square_px = 0, rms_eleven_px = 0;  // per degree of freedom, of frames alone
  std::vector<FrameReport> frames;
  std::vector<BallReport> balls;
  double rms_px = 0, rms_frames_px = 0, rms_arm_px = 0;  // per degree of freedom the latter two
  GeometrySigmas sigmas;
  double source_to_detector_mm = 0, source_to_origin_mm = 0;  // means
  std::vector<std::string> warnings;
  Figures figures;
};

/// Whether balls of this table can be measured in a sweep of so many frames. Errors:
/// INVALID_ARGUMENT (table, frames; balls whose shadows would have fewer than 2 or more than 200
/// pixels across).
absl::Status CheckGeometrySweep(const BeadTable& table, const Detector& detector, int frames);

/// Frames of a sweep are added and not kept. Thread-safe once it is oriented.
class GeometrySweep {
 public:
  /// Errors: those of CheckGeometrySweep, INVALID_ARGUMENT (i0_counts).
  static absl::StatusOr<std::unique_ptr<GeometrySweep>> Make(BeadTable table,
                                                             const Detector& detector,
                                                             double i0_counts, int frames);
  ~GeometrySweep();

  /// A frame showed the phantom well enough that others are looked at from its side only. Until
  /// then frames must be added one after the other.
  bool oriented() const;
  /// Finds and measures the balls in the frame; what is wrong with it is told by Fit.
  void Add(int frame, std::span<const uint16_t> counts);

  /// All frames have been added. Errors: FAILED_PRECONDITION with the figure and its bound where
  /// the sweep is not good enough.
  absl::StatusOr<GeometryFit> Fit(const GeometryChoice& choice, ThreadPool& pool);

 private:
  struct State;
  explicit GeometrySweep(std::unique_ptr<State> state);

  const std::unique_ptr<State> state_;
};

}  // namespace isocenter::calibrate
