// How good an image of a noisy, sparse scan is: error against truth at a stated resolution.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/iterative/refinement.h"

namespace isocenter::quality {

struct ScanOptions {
  int size = 96;         // voxels per axis, of a cube of 173 mm
  int full_views = 200;  // of a short scan that is sampled well
  int every = 4;         // of which every so many are taken
  double arc_deg = 204;
  double photons = 2e4;  // per pixel and frame
  double electronic_counts = 4;
};

/// The head phantom on a C-arm's short scan.
struct Scan {
  recon::Acquisition acquisition;
  VolumeGrid grid;
  std::vector<uint16_t> counts;  // [view][v][u]
  std::vector<float> truth;      // HU, voxels averaged over their box

  Shape3 frame_shape() const {
    return {static_cast<int64_t>(acquisition.trajectory.size()), acquisition.detector.rows,
            acquisition.detector.columns};
  }
  ops::RawFrames frames() const { return {.counts = {counts.data(), frame_shape()}}; }
};
inline constexpr double kMuWater = 0.02;  // 1/mm
absl::StatusOr<Scan> MakeScan(const ScanOptions& options, ThreadPool& pool);

struct Figures {
  /// Root of the mean square error in HU of voxels of the brain that are three voxels and more away
  /// from any edge above 200 HU: noise and streaks, and the contrasts of the brain.
  double rmse = 0;
  /// Of all voxels of the head between the same planes.
  double rmse_head = 0;
  /// Standard deviation in mm of the Gaussian that makes truth most like the image near edges above
  /// 200 HU.
  double edge_mm = 0;
};

/// Compares images of one scan with its truth.
class Judge {
 public:
  explicit Judge(const Scan& scan);
  Figures Measure(const std::vector<float>& hounsfield) const;

 private:
  struct Blurred {
    double sigma_mm;
    std::vector<float> edges;  // truth at edge_voxels_
  };
  const Scan& scan_;
  std::vector<int64_t> brain_, head_, edge_voxels_;
  std::vector<Blurred> blurred_;
};

absl::StatusOr<std::vector<float>> Fdk(const Scan& scan, ops::FilterWindow window, double cutoff,
                                       const ops::Registry& registry, ops::Device& device);

/// FDK's error as a function of its edge width: what an image of the same width is compared with.
class FdkCurve {
 public:
  static absl::StatusOr<FdkCurve> Make(const Scan& scan, const Judge& judge,
                                       const ops::Registry& registry, ops::Device& device);
  /// FDK's RMSE where its edges are `edge_mm` wide, linear between its windows; that of its
  /// sharpest (widest) image for sharper (wider) ones.
  double RmseAt(double edge_mm) const;
  const std::vector<Figures>& figures() const { return figures_; }

 private:
  std::vector<Figures> figures_;  // from sharp to wide
};

struct Candidate {
  std::string name;
  recon::IterativeSettings settings;
  double fdk_cutoff = 0.4;  // of the Hann window of the warm start
};
/// One set of settings for each algorithm, tuned for scans like those of ScanOptions.
std::vector<Candidate> Candidates();

absl::StatusOr<std::vector<float>> Refine(const Scan& scan, const Candidate& candidate,
                                          const ops::Registry& registry, ops::Device& device,
                                          std::vector<recon::IterationReport>* reports = nullptr);

}  // namespace isocenter::quality
