// How an object lay in each frame of a scan, by what pairs of frames say of planes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/base/views.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/rigid_motion.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::calibrate {

/// Of planes that are compared at first, how many it takes for each unknown, and how many of those
/// that are on both detectors may be cut.
inline constexpr int kLeastPlanesPerUnknown = 10;
inline constexpr double kMostCutShare = 0.7;

struct PoseFit {
  /// Why the poses are the ones that were given; empty: they are those of the fit.
  std::string kept;
  std::vector<RigidPose> poses;
  /// Median absolute difference of plane derivatives of the finest frames, with the poses that were
  /// given and with those of the fit.
  double before = 0, after = 0;
  /// Planes of pairs of the finest frames that were compared with the poses that were given, and
  /// that were not because the detector cuts the object there.
  int64_t planes = 0, cut = 0;
};

/// Share of the work, 0 to 1. Its error ends the fit.
using PoseFitProgress = std::function<absl::Status(double done)>;

/// Poses near the given ones that make what pairs of frames say of planes agree. After Aichert,
/// Berger, Wang, Maass, Doerfler, Hornegger, Maier, IEEE Trans. Med. Imaging 34 (2015) 2205, who
/// search without derivatives; here they are least squares with Cauchy's weights by Levenberg's and
/// Marquardt's steps, from frames that are 3, then 2 times as coarse to these. `lines`:
/// [view][v][u] line integrals of `detector`; about 1.5 mm for each pixel at the isocentre is what
/// it was made for. What is added to the poses are sums of `curves` [frame][curve] over the scan,
/// drawn to nothing in the directions of each frame that planes hardly tell. Where the differences'
/// median does not fall, the poses are the given ones. Not finite lines say nothing. Takes memory
/// for the frames once more, and 2 kB for each pair of them (12 for each frame, 6000 at most).
/// Errors: those of Decompose, progress's.
absl::StatusOr<PoseFit> FitPoses(const Trajectory& trajectory, const Detector& detector,
                                 HostView3<const float> lines, std::span<const RigidPose> poses,
                                 std::span<const double> curves, ThreadPool& pool,
                                 const PoseFitProgress& progress = nullptr);

/// What it takes of the host's memory, at most, beside its arguments.
int64_t PoseFitBytes(const Detector& detector, int views);

}  // namespace isocenter::calibrate
