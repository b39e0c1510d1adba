// Some frames of a scan beside what they would show of an earlier volume.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/calibrate/registration/frame_match.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/acquisition.h"
#include "kernels/recon/motion/binned_frames.h"
#include "kernels/recon/self_calibration/detector_move.h"
#include "kernels/recon/self_calibration/reference/radiographs.h"

namespace isocenter::recon {

/// How finely frames are compared: a Gaussian of `sigma_mm` at the isocentre, pixels and voxels of
/// about half of it, and so many views of the scan, evenly spaced.
struct ComparisonLevel {
  double sigma_mm = 1;
  int views = 0;  // 0: all
};

/// Frames whose radiographs are drawn at a time.
inline constexpr int kMostRadiographs = 56;

/// mm at the isocentre that a column of the detector is wide there.
double PixelAtIsocenterMm(const Acquisition& acquisition);

class Comparison {
 public:
  /// `lines`: of `acquisition`, which with `threads` and `device` must outlive it. Errors: those of
  /// Radiographs::Create.
  static absl::StatusOr<std::unique_ptr<Comparison>> Create(
      const Acquisition& acquisition, const BinnedLines& lines, const ReferenceVolume& reference,
      const ComparisonLevel& level, const ops::Registry& registry, ops::Device& device,
      ThreadPool& threads);

  const std::vector<int>& views() const { return views_; }

  /// Pixels that the volume covers where the patient is in this pose (matrix_model.h) count from
  /// now on. Returns the share of the frames' line integrals that they have.
  double CountCovered(std::span<const double> six, std::span<const DetectorMove> moves,
                      double air_mu);

  /// The mean gradient correlation of the views. `moves`: one for each frame of the scan.
  absl::StatusOr<double> Similarity(std::span<const double> six,
                                    std::span<const DetectorMove> moves);
  /// What small changes would make the frames more alike, of each view: of the six parameters, of
  /// the view's shift along u and v in mm, or of the six and then the shift; and the
  /// similarity before them.
  enum class Of { kPose, kShift, kBoth };
  struct Equations {
    std::vector<calibrate::NormalEquations> of_views;
    double similarity = 0;
  };
  absl::StatusOr<Equations> Changes(Of what, std::span<const double> six,
                                    std::span<const DetectorMove> moves);

 private:
  Comparison(const Acquisition& acquisition, ThreadPool& threads)
      : acquisition_(acquisition), threads_(threads) {}

  ProjectionMatrix MatrixOf(int view, std::span<const double> six, const DetectorMove& move) const;
  calibrate::EdgeImage Edges(std::span<const float> lines) const;
  std::vector<calibrate::EdgeImage> ByShiftInMm(const calibrate::EdgeImage& edges) const;

  const Acquisition& acquisition_;
  ThreadPool& threads_;
  ReferenceVolume reference_;
  PixelBins bins_;
  Detector detector_;
  double sigma_px_ = 1, step_mm_ = 1;
  std::vector<int> views_;
  std::vector<float> lines_;                   // [view][v][u], binned
  std::vector<std::vector<uint8_t>> covered_;  // [view][v][u]
  std::unique_ptr<Radiographs> radiographs_;
};

}  // namespace isocenter::recon
