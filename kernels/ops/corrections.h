// From raw counts to line integrals that a monochromatic beam without scatter would have given: one
// contract per step, in the order of docs/corrections.md. All steps work on whole frames in a
// device's memory, as stacks of StackUse::kLineIntegrals (rows contiguous along u), in place but
// for the first. They are made for a calibration (kernels/ops/calibration.h) that has passed
// CheckCalibration, of which each takes its part.
//
// Run checks what it is given with INVALID_ARGUMENT: a stack of another use, backend or shape.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/geometry/detector.h"
#include "kernels/ops/buffers.h"
#include "kernels/ops/calibration.h"

namespace isocenter::ops {

/// A step that needs nothing but the frames of one detector.
class InPlaceCorrection {
 public:
  virtual ~InPlaceCorrection() = default;
  /// The first `views` of the stack.
  absl::Status Run(int64_t views, ProjectionStack& frames);

 protected:
  explicit InPlaceCorrection(const Detector& detector) : detector_(detector) {}
  const Detector& detector() const { return detector_; }

 private:
  virtual absl::Status DoRun(int64_t views, ProjectionStack& frames) = 0;

  const Detector detector_;
};

/// Counts -> what arrived, relative to the empty beam of dose 1: (count - offset) / air.
class NormalizeCounts {
 public:
  virtual ~NormalizeCounts() = default;
  /// Frame i goes to view i of `out`.
  absl::Status Run(StridedView3<const uint16_t> counts, ProjectionStack& out);

 protected:
  explicit NormalizeCounts(const Detector& detector) : detector_(detector) {}
  const Detector& detector() const { return detector_; }

 private:
  virtual absl::Status DoRun(StridedView3<const uint16_t> counts, ProjectionStack& out) = 0;

  const Detector detector_;
};

/// Overexposed pixels, which read PixelResponse::full_scale_counts or more, get back what their row
/// tells of them, in frames whose dose d is given: air is known to be d there. Before any other
/// step but NormalizeCounts. A run is what lies in a row between two good pixels that are not
/// overexposed, or an end of the row, and has an overexposed pixel. On each side of it p =
/// -ln(x / d), within 0 to kLongestLineIntegral, falls towards the skin as the chords of a round
/// body do: p² is linear in the distance. The line through p² of up to n good pixels at
/// most 2n from the run's end, none beyond another overexposed one (n: OverexposedFit; least
/// squares; their mean where it does not fall towards the run or there is only one), goes on into
/// the run as p = √max(0, ·). Of two sides the larger p counts; without any p is 0: air. An
/// overexposed pixel becomes max(x, d·exp(-p)): there was as much light as it read at least.
/// Defective pixels and frames of a dose of 0, which was not told, stay as they are.
/// Pixels on kOverexposedFitMm along a row, 3 to 16: of more the skull bends the line, of fewer
/// noise.
inline constexpr double kOverexposedFitMm = 5;
int OverexposedFit(const Detector& detector);
class RecoverOverexposed {
 public:
  virtual ~RecoverOverexposed() = default;
  /// `given`: one for each frame, as FindDoses.
  absl::Status Run(std::span<const float> given, ProjectionStack& frames);

 protected:
  explicit RecoverOverexposed(const Detector& detector) : detector_(detector) {}
  const Detector& detector() const { return detector_; }

 private:
  virtual absl::Status DoRun(std::span<const float> given, ProjectionStack& frames) = 0;

  const Detector detector_;
};

/// Defective pixels become means of good ones. Along each of row, column and two diagonals, the
/// nearest good pixels on both sides within kDefectReach, a and b at distances i and j, give
/// (j·a + i·b)/(i + j), which counts with 1 / ((i + j)²·s²·((a - b)² + (0.02·(a + b))² + 1e-12)), s
/// = √2 along diagonals, else 1: across an edge it counts little. Where no line has good pixels on
/// both sides, as at the detector's border, the good pixel that is nearest along them is taken; the
/// first of several: before the pixel (smaller index) and after it along the row, the column, the
/// diagonal that descends, the other one.
class InterpolateDefects : public InPlaceCorrection {
 protected:
  using InPlaceCorrection::InPlaceCorrection;
};

/// y -> x with y[k] = (1 - Σ share) x[k] + Σ release·q[k], q[k+1] = (1 - release) q[k] + share·x[k]
/// for each pixel and term. Frames come in the order of their exposure; the first one after Restart
/// finds q = 0.
class CorrectLag : public InPlaceCorrection {
 public:
  virtual absl::Status Restart() = 0;

 protected:
  using InPlaceCorrection::InPlaceCorrection;
};

/// What the empty beam has from where the source is, relative to the response's air: each frame is
/// divided by its AirSweep.
class CorrectAirSweep {
 public:
  virtual ~CorrectAirSweep() = default;
  /// `places`: where the frames are between the sweep's angles, 0 to the last one's index. Errors:
  /// INVALID_ARGUMENT also for a place beyond.
  absl::Status Run(std::span<const float> places, ProjectionStack& frames);

 protected:
  explicit CorrectAirSweep(const Calibration& calibration)
      : detector_(calibration.detector),
        last_place_(static_cast<int>(calibration.air_sweep.angles.size()) - 1) {}
  const Detector& detector() const { return detector_; }

 private:
  virtual absl::Status DoRun(std::span<const float> places, ProjectionStack& frames) = 0;

  const Detector detector_;
  const int last_place_;
};

/// What an estimated dose is believed up to, relative to the calibrated one. Beyond that no air was
/// seen, and 1 is taken.
inline constexpr double kLeastDose = 0.5, kMostDose = 2;
/// What a frame may tell.
inline constexpr double kLeastGivenDose = 1e-3, kMostGivenDose = 1e3;
/// Errors: INVALID_ARGUMENT unless it is 0, which is to be estimated, or within these.
absl::Status CheckGivenDose(int64_t view, double dose);
/// How near to the brightest tile others are air, too.
inline constexpr double kAirTolerance = 0.02;

/// The dose of each frame, relative to the calibrated one: what is given, or where that is 0, it is
/// estimated: of the means of the tiles of kAirTile x kAirTile pixels (whole tiles of the air
/// strips, from their outer edge and from the first row on), the mean of those that are at least 1
/// - kAirTolerance of the brightest; 1 where that is beyond kLeastDose to kMostDose. Without
/// strips, 1.
class FindDoses {
 public:
  virtual ~FindDoses() = default;
  /// `given`: one for each frame, as CheckGivenDose. `doses`: views x 1 x 1.
  absl::Status Run(std::span<const float> given, const ProjectionStack& frames,
                   ProjectionStack& doses);

 protected:
  explicit FindDoses(const Detector& detector) : detector_(detector) {}
  const Detector& detector() const { return detector_; }

 private:
  virtual absl::Status DoRun(std::span<const float> given, const ProjectionStack& frames,
                             ProjectionStack& doses) = 0;

  const Detector detector_;
};

/// Spread light and scattered photons vary slowly: they are computed on blocks of kCoarseBlock x
/// kCoarseBlock pixels, whose values are means (of fewer pixels at the last columns and rows), and
/// interpolated linearly between the centres of blocks, constant beyond the outermost ones. The
/// last, smaller blocks count as whole ones, which reach beyond the detector.
///
/// A Gaussian brings from block to block its integral over the distance of k blocks, along each
/// axis: Φ((k + ½)·d/w) - Φ((k - ½)·d/w), d = kCoarseBlock·pitch, w² = sigma² - d²/3, because
/// means, integrals and interpolation spread by themselves, with variances of d²/12, d²/12 and
/// d²/6. Where sigma is d/√3 or less, blocks keep what they have: 1 for k = 0. What spreads from
/// beyond the detector is not known and counts as 0.
inline constexpr int kCoarseBlock = 16;
/// Whether sigma is more than d/√3 along both axes.
bool SpreadsOverBlocks(const Detector& detector, double sigma_mm);

/// Takes the glare off: x from y = (1 - s) x + Σ share·N(sigma) * x, s = Σ share. On blocks, from x
/// = y on, x <- (y - Σ share·N * x) / (1 - s), kGlareSteps times; then each pixel loses the
/// interpolated Σ share·N * x and is divided by 1 - s. Terms that blocks are too coarse for
/// (SpreadsOverBlocks) would sharpen edges instead: they are left out, in s too. Nothing changes
/// where there are no others.
inline constexpr int kGlareSteps = 6;
class CorrectGlare : public InPlaceCorrection {
 protected:
  using InPlaceCorrection::InPlaceCorrection;
};

/// Takes scattered photons off. On blocks, with I the block's mean / dose and P = I to begin with,
/// kScatterSteps times: t = max(0, -ln P) / mu_water; the block belongs to the last group whose
/// from_mm is t at most; W = amplitude·P^alpha·(-ln P)^beta (0 where P is 1 or more) for its group
/// and 0 for the others; S = Σ over groups of (1 - gamma·t)·(h * W) + gamma·(h * (t·W)), not below
/// 0; P <- max(I·P / (P + S), kLeastPrimary·I), which settles where I - S would swing: with three
/// times as much scatter as primary and more. Then each pixel x becomes max(x - dose·S,
/// kLeastPrimary·x), S interpolated. I and P are held at kLeastCoarse or more.
inline constexpr int kScatterSteps = 8;
inline constexpr double kLeastPrimary = 0.05, kLeastCoarse = 1e-6;
/// What is made of a calibration without kernels. Errors: INVALID_ARGUMENT.
absl::Status CheckHasScatter(const Calibration& calibration);
class CorrectScatter {
 public:
  virtual ~CorrectScatter() = default;
  absl::Status Run(int64_t views, const ProjectionStack& doses, ProjectionStack& frames);

 protected:
  explicit CorrectScatter(const Detector& detector) : detector_(detector) {}
  const Detector& detector() const { return detector_; }

 private:
  virtual absl::Status DoRun(int64_t views, const ProjectionStack& doses,
                             ProjectionStack& frames) = 0;

  const Detector detector_;
};

/// p = -log(max(x / dose, exp(-kLongestLineIntegral))), then the water polynomial, if there is one:
/// Q(p), or Q(p + h) - Q(h) with the hardness h of the pixel's column. What is not finite is as the
/// smallest that is trusted.
class Linearize {
 public:
  virtual ~Linearize() = default;
  absl::Status Run(int64_t views, const ProjectionStack& doses, ProjectionStack& frames);

 private:
  virtual absl::Status DoRun(int64_t views, const ProjectionStack& doses,
                             ProjectionStack& frames) = 0;
};

}  // namespace isocenter::ops
