#include "kernels/calibrate/geometry/geometry_fit.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/calibrate/geometry/arm_fit.h"
#include "kernels/calibrate/geometry/ball_sizes.h"
#include "kernels/calibrate/geometry/bead_centers.h"
#include "kernels/calibrate/geometry/geometry_checks.h"
#include "kernels/calibrate/geometry/pose_search.h"
#include "kernels/calibrate/geometry/pose_steps.h"
#include "kernels/calibrate/geometry/world_frame.h"
#include "kernels/calibrate/robust.h"

namespace isocenter::calibrate {
namespace {

constexpr double kLeastShadowPx = 2, kMostShadowPx = 200;
constexpr int kMostAttempts = 20;
constexpr double kFirstSearchMm = 2, kSearchMm = 1;
constexpr double kFirstScalePx = 0.3, kLeastScalePx = 0.02;
constexpr double kScalePerSigma = 3;
// Standard deviations that a ball is off, at least, where it is called wrong.
constexpr double kSignificant = 5;
// How much worse a model with fewer parameters may explain the shadows than one with more.
constexpr double kMostRatio = 1.03;

}  // namespace

absl::Status CheckGeometrySweep(const BeadTable& table, const Detector& detector, int frames) {
  ISO_RETURN_IF_ERROR(CheckBeadTable(table));
  if (frames < kLeastGeometryFrames || frames > kMaxViews) {
    return absl::InvalidArgumentError(absl::StrCat("the sweep has ", frames, " frames; legal is ",
                                                   kLeastGeometryFrames, " to ", kMaxViews));
  }
  const ShadowSizes sizes = SizesOf(table, detector);
  if (sizes.least_px >= kLeastShadowPx && sizes.most_px <= kMostShadowPx) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "balls of this table have shadows of about %.1f to %.1f pixels across on this detector; "
      "legal is %g to %g",
      sizes.least_px, sizes.most_px, kLeastShadowPx, kMostShadowPx));
}

struct GeometrySweep::State {
  BeadTable table;
  Detector detector;
  std::vector<float> logs;
  ShadowSizes sizes;
  PoseSearch search;
  std::optional<Pinhole> first;  // of the frame that oriented
  int attempts = 0;              // frames until then
  std::vector<SweepFrame> frames;

  State(BeadTable beads, const Detector& size, double i0_counts, int count)
      : table(std::move(beads)),
        detector(size),
        logs(LogTable(i0_counts)),
        sizes(SizesOf(table, detector)),
        search(table, detector),
        frames(count) {}

  absl::Status Measure(const LogFrame& frame, SweepFrame& measured) const {
    const std::vector<RoundShadow> shadows = FindShadows(frame, sizes);
    absl::StatusOr<FoundPose> found = absl::FailedPreconditionError("");
    if (first) found = search.FindTurned(shadows, *first);
    if (!found.ok()) found = search.Find(shadows);  // which takes some ten times as long
    ISO_ASSIGN_OR_RETURN(const FoundPose pose, std::move(found));
    Pinhole camera = pose.camera;
    BeadCenters centers;
    for (const double search_mm : {kFirstSearchMm, kSearchMm}) {
      centers = MeasureCenters(frame, table, camera, search_mm);
      FitCamera(table, centers.shadows, kSquareParameters, kFirstScalePx, 20, camera);
    }
    measured.shadows = {camera, std::move(centers.shadows)};
    measured.states = std::move(centers.states);
    measured.sizes = std::move(centers.sizes);
    measured.report.unexplained = pose.unexplained;
    return absl::OkStatus();
  }
};

GeometrySweep::GeometrySweep(std::unique_ptr<State> state) : state_(std::move(state)) {}
GeometrySweep::~GeometrySweep() = default;

absl::StatusOr<std::unique_ptr<GeometrySweep>> GeometrySweep::Make(BeadTable table,
                                                                   const Detector& detector,
                                                                   double i0_counts, int frames) {
  ISO_RETURN_IF_ERROR(CheckGeometrySweep(table, detector, frames));
  if (!(i0_counts >= 1 && i0_counts <= 65535)) {
    return absl::InvalidArgumentError(
        absl::StrCat("i0_counts is ", i0_counts, "; legal is 1 to 65535"));
  }
  return std::unique_ptr<GeometrySweep>(
      new GeometrySweep(std::make_unique<State>(std::move(table), detector, i0_counts, frames)));
}

bool GeometrySweep::oriented() const { return state_->first.has_value(); }

void GeometrySweep::Add(int frame, std::span<const uint16_t> counts) {
  SweepFrame& measured = state_->frames[frame];
  // A sweep of something else is not looked through to its end.
  if (!state_->first && state_->attempts == kMostAttempts) {
    measured.status = absl::FailedPreconditionError("no frame before it shows the phantom");
    return;
  }
  if (!state_->first) ++state_->attempts;
  measured.status = state_->Measure({counts, state_->logs, state_->detector}, measured);
  if (measured.status.ok() && !state_->first) state_->first = measured.shadows.camera;
}

namespace {

/// The sweep without the frames' reports, and what is fitted to it.
class Fitter {
 public:
  Fitter(const BeadTable& table, const Detector& detector, std::vector<SweepFrame>& frames,
         ThreadPool& pool)
      : table_(table), detector_(detector), frames_(frames), pool_(pool), balls_(table.size()) {
    for (const SweepFrame& frame : frames) shadows_.push_back(frame.shadows);
  }

  absl::StatusOr<GeometryFit> Run(const GeometryChoice& choice) {
    CountStates();
    ISO_RETURN_IF_ERROR(CheckFrames(frames_));
    NameWrongSizes(table_, frames_, balls_);
    ChooseDetector();
    ISO_RETURN_IF_ERROR(FitWithoutWrongBalls());
    ChooseDetector();
    ISO_RETURN_IF_ERROR(ChooseModel(choice.model));
    ISO_RETURN_IF_ERROR(Collect(choice.world));
    ISO_RETURN_IF_ERROR(CheckFit(fit_));
    return std::move(fit_);
  }

 private:
  void CountStates() {
    for (SweepFrame& frame : frames_) {
      for (size_t i = 0; i < frame.states.size(); ++i) {
        const BeadState state = frame.states[i];
        FrameReport& report = frame.report;
        if (state == BeadState::kMeasured) ++report.measured, ++balls_[i].frames;
        if (state == BeadState::kCrowded) ++report.crowded;
        if (state == BeadState::kOutside) ++report.outside;
        if (state == BeadState::kMissing) ++report.missing, ++balls_[i].missing;
        if (state == BeadState::kOdd) ++report.odd;
      }
    }
  }

  // The scale of Cauchy's loss, from the residuals as they are.
  void SetScale() {
    std::vector<double> all;
    for (const FrameShadows& frame : shadows_) {
      const std::vector<double> residuals = Residuals(table_, frame.shadows, frame.camera);
      all.insert(all.end(), residuals.begin(), residuals.end());
    }
    // The median length of a normally distributed plane vector is 1.1774 sigma.
    scale_ = all.empty()
                 ? kFirstScalePx
                 : std::max(kLeastScalePx, kScalePerSigma * Median(std::move(all)) / 1.1774);
  }

  // Nine parameters where they explain the shadows as well as eleven do.
  void ChooseDetector() {
    SetScale();
    const auto frames = static_cast<double>(frames_.size());
    std::vector<FrameShadows> square = shadows_;
    for (FrameShadows& frame : square) {
      frame.camera.aspect =
          std::copysign(detector_.pitch_u_mm / detector_.pitch_v_mm, frame.camera.aspect);
      frame.camera.skew = 0;
    }
    std::swap(shadows_, square);
    FitFrames(table_, kSquareParameters, scale_, pool_, shadows_);
    fit_.rms_square_px = std::sqrt(2 * Variance(kSquareParameters * frames));
    const std::vector<FrameShadows> nine = shadows_;
    FitFrames(table_, kCameraParameters, scale_, pool_, shadows_);
    fit_.rms_eleven_px = std::sqrt(2 * Variance(kCameraParameters * frames));
    fit_.parameters = kCameraParameters;
    if (fit_.rms_square_px > kMostRatio * fit_.rms_eleven_px) return;
    shadows_ = nine;
    fit_.parameters = kSquareParameters;
  }

  // Balls that are not where the table has them are left out, the worst one first: each bends the
  // matrices a little, and with them the others' places.
  absl::Status FitWithoutWrongBalls() {
    const int most =
        std::max(1, static_cast<int>(kMostWrongBalls * static_cast<double>(table_.size())));
    for (int left_out = 0;; ++left_out) {
      SetScale();
      covariances_ = FitFrames(table_, fit_.parameters, scale_, pool_, shadows_);
      const std::optional<size_t> found = FindOffsets();
      if (!found || Norm(balls_[*found].offset) <= kMostBallErrorMm) return absl::OkStatus();
      const size_t worst = *found;
      const double error = Norm(balls_[worst].offset);
      if (left_out == most) return TooManyWrong(worst, error, most);
      balls_[worst].left_out = true;
      balls_[worst].why =
          absl::StrFormat("is at (%+.2f, %+.2f, %+.2f) mm from where the table has it",
                          balls_[worst].offset.x, balls_[worst].offset.y, balls_[worst].offset.z);
      for (FrameShadows& frame : shadows_) {
        std::erase_if(frame.shadows, [worst](const BeadShadow& shadow) {
          return shadow.bead == static_cast<int>(worst);
        });
      }
    }
  }

  static absl::Status TooManyWrong(size_t ball, double error, int most) {
    return NotGoodEnough(
        {absl::StrCat("distance of ball ", ball, " from where the table has it"), error, "mm"},
        absl::StrFormat("at most %g mm, but for %d balls that are left out already",
                        kMostBallErrorMm, most),
        "is the table that of this phantom?");
  }

  // Where balls are with the cameras as they are. The one that is farthest off, of those that
  // surely are off.
  std::optional<size_t> FindOffsets() {
    std::vector<Eigen::Matrix3d> left(table_.size(), Eigen::Matrix3d::Zero());
    std::vector<Eigen::Vector3d> right(table_.size(), Eigen::Vector3d::Zero());
    for (const FrameShadows& frame : shadows_) {
      for (const BeadShadow& shadow : frame.shadows) {
        const Vec3 point = table_[shadow.bead].center;
        // Moving a ball is moving the camera, in the world's axes.
        const Eigen::Matrix<double, 2, 3> by_point =
            Jacobian(frame.camera, point).middleCols<3>(3) * frame.camera.rotation;
        left[shadow.bead] += by_point.transpose() * by_point;
        right[shadow.bead] += by_point.transpose() *
                              (Eigen::Vector2d(shadow.u, shadow.v) - frame.camera.Project(point));
      }
    }
    std::optional<size_t> worst;
    for (size_t i = 0; i < table_.size(); ++i) {
      if (balls_[i].left_out || balls_[i].frames < 2) continue;
      const Eigen::Matrix3d inverse = left[i].inverse();
      const Eigen::Vector3d offset = inverse * right[i];
      balls_[i].offset = {offset.x(), offset.y(), offset.z()};
      // Of a ball that few frames show nothing can be said, least of all that it is wrong.
      const double sigma = scale_ / kScalePerSigma * std::sqrt(inverse.trace());
      if (!(offset.norm() > kSignificant * sigma)) continue;
      if (!worst || offset.norm() > Norm(balls_[*worst].offset)) worst = i;
    }
    return worst;
  }

  // Sum of squares for each degree of freedom.
  double Variance(double parameters) const {
    double squares = 0, values = 0;
    for (const FrameShadows& frame : shadows_) {
      for (const double r : Residuals(table_, frame.shadows, frame.camera)) {
        squares += scale_ * scale_ * std::log1p(r * r / (scale_ * scale_));
        values += 2;
      }
    }
    return squares / std::max(1.0, values - parameters);
  }

  absl::Status ChooseModel(GeometryModel wanted) {
    SetScale();
    covariances_ = FitFrames(table_, fit_.parameters, scale_, pool_, shadows_);
    const auto frames = static_cast<double>(frames_.size());
    variance_ = Variance(fit_.parameters * frames);
    fit_.rms_frames_px = std::sqrt(2 * variance_);
    fit_.model = GeometryModel::kFrames;
    if (wanted == GeometryModel::kFrames) return absl::OkStatus();
    const std::vector<FrameShadows> alone = shadows_;
    const int intervals = SplineIntervals(shadows_);
    absl::StatusOr<std::vector<CameraCovariance>> smooth =
        FitArm(table_, fit_.parameters, scale_, intervals, pool_, shadows_);
    if (!smooth.ok() && wanted == GeometryModel::kArm) return smooth.status();
    const double variance = Variance(kPoseParameters * frames +
                                     double(fit_.parameters - kPoseParameters) * (intervals + 3));
    fit_.rms_arm_px = smooth.ok() ? std::sqrt(2 * variance) : 0;
    const bool good = smooth.ok() && fit_.rms_arm_px <= kMostRatio * fit_.rms_frames_px;
    if (!good && wanted == GeometryModel::kAuto) {
      shadows_ = alone;
      return absl::OkStatus();
    }
    covariances_ = *std::move(smooth);
    variance_ = variance;
    fit_.model = GeometryModel::kArm;
    fit_.intervals = intervals;
    return absl::OkStatus();
  }

  absl::Status Collect(GeometryWorld world) {
    double squares = 0, count = 0, aspects = 0, skews = 0;
    for (size_t k = 0; k < frames_.size(); ++k) {
      ISO_ASSIGN_OR_RETURN(const ProjectionMatrix matrix, shadows_[k].camera.Matrix());
      fit_.matrices.push_back(matrix);
      double frame_squares = 0;
      for (const double r : Residuals(table_, shadows_[k].shadows, shadows_[k].camera)) {
        frame_squares += r * r;
      }
      const auto shadows = static_cast<double>(shadows_[k].shadows.size());
      frames_[k].report.rms_px = std::sqrt(frame_squares / std::max(1.0, shadows));
      squares += frame_squares;
      count += shadows;
      fit_.frames.push_back(frames_[k].report);
      const Pinhole& camera = shadows_[k].camera;
      fit_.source_to_detector_mm += camera.focal * detector_.pitch_u_mm;
      const double aspect =
          std::abs(camera.aspect) * detector_.pitch_v_mm / detector_.pitch_u_mm - 1;
      fit_.most_aspect = std::max(fit_.most_aspect, std::abs(aspect));
      aspects += aspect * aspect;
      skews += camera.skew * camera.skew;
      fit_.most_skew = std::max(fit_.most_skew, std::abs(camera.skew));
    }
    fit_.rms_px = std::sqrt(squares / std::max(1.0, count));
    fit_.rms_aspect = std::sqrt(aspects / static_cast<double>(frames_.size()));
    fit_.rms_skew = std::sqrt(skews / static_cast<double>(frames_.size()));
    fit_.source_to_detector_mm /= static_cast<double>(frames_.size());
    fit_.sigmas = SigmasOf(table_, shadows_, covariances_, variance_);
    if (world == GeometryWorld::kOrbit) {
      ISO_ASSIGN_OR_RETURN(fit_.matrices, InOrbitFrame(fit_.matrices, detector_));
    }
    for (const ProjectionMatrix& matrix : fit_.matrices) {
      ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
      fit_.source_to_origin_mm += Norm(camera.source) / static_cast<double>(frames_.size());
    }
    fit_.balls = balls_;
    Summarise(fit_);
    std::vector<Pinhole> cameras;
    for (const FrameShadows& frame : shadows_) cameras.push_back(frame.camera);
    for (std::string& warning : PoseStepWarnings(table_, cameras)) {
      fit_.warnings.push_back(std::move(warning));
    }
    return absl::OkStatus();
  }

  const BeadTable& table_;
  const Detector& detector_;
  std::vector<SweepFrame>& frames_;
  ThreadPool& pool_;
  std::vector<FrameShadows> shadows_;
  std::vector<BallReport> balls_;
  std::vector<CameraCovariance> covariances_;
  double scale_ = kFirstScalePx, variance_ = 0;
  GeometryFit fit_;
};

}  // namespace

absl::StatusOr<GeometryFit> GeometrySweep::Fit(const GeometryChoice& choice, ThreadPool& pool) {
  std::vector<SweepFrame> frames = state_->frames;
  return Fitter(state_->table, state_->detector, frames, pool).Run(choice);
}

}  // namespace isocenter::calibrate
