// How an object moved during a scan, found from its frames alone.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/geometry/rigid_motion.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/acquisition.h"
#include "kernels/recon/settings.h"

namespace isocenter::recon {

/// A step of the search, from coarse to fine.
struct MotionLevel {
  int spans = 0;   // of the splines of the six parameters over the scan
  int voxels = 0;  // of a cube over the field of view, along each axis
};

struct MotionSearch {
  std::vector<MotionLevel> levels;  // spans double or stay from each to the next
  int iterations = 30;              // of each level, at most
  FdkSettings fdk;                  // of the coarse volumes
};
/// For so many frames.
MotionSearch DefaultMotionSearch(int views, const FdkSettings& fdk);

/// A search always finds poses that fit noise and artefacts a little better. A motion is what makes
/// the entropy fall by more than still scans let it (docs/motion.md).
inline constexpr double kLeastEntropyGain = 0.08;

inline constexpr int kLeastMotionViews = 32;
/// Errors: INVALID_ARGUMENT (the number of frames, and what is legal).
absl::Status CheckMotionViews(int64_t views);

struct FoundMotion {
  /// Whether the volume is sharper with it by kLeastEntropyGain; else all poses are at rest.
  bool moved = false;
  /// One for each frame, about their mean: the object in its mean pose lies as it does in a volume
  /// without compensation.
  std::vector<RigidPose> poses;
  /// Of the finest level's volume with all poses at rest, and with `poses`, each with rays that
  /// count as such an object saw them, on one mean.
  double entropy_before = 0, entropy_after = 0;
  int evaluations = 0;
  /// What pairs of frames say of planes, where it moved: their median absolute difference with the
  /// poses that made the volume sharpest, and with those of the last fit to planes, from which
  /// `poses` differ in the orbit's plane; why these are the same, or empty.
  double planes_before = 0, planes_after = 0;
  std::string planes_not_used;
};

/// What memory it takes beside its arguments, at most.
struct MotionMemory {
  int64_t device_bytes = 0, host_bytes = 0;
};
absl::StatusOr<MotionMemory> MotionMemoryOf(const Acquisition& acquisition,
                                            const MotionSearch& search,
                                            const ops::Registry& registry,
                                            const ops::Device& device);

/// Share of the work, 0 to 1. Its error ends the search.
using MotionProgress = std::function<absl::Status(double done)>;

/// A rigid motion that makes coarse volumes sharpest: the splines' parameters that minimise the
/// entropy of the values' histogram (histogram_entropy.h) and, a little, the length of the way
/// (way.h), by L-BFGS with derivatives through the back-projection (ops::MatrixGradient), without
/// what no frames can tell (similarity.h). After Sisniega, Stayman, Yorkston, Siewerdsen,
/// Zbijewski, Phys. Med. Biol. 62 (2017) 3712, who search without derivatives; those are after
/// Thies et al., IEEE Trans. Med. Imaging 44 (2025). Where there is a motion, its poses are made
/// better in turns by what pairs of frames say of planes (plane_poses.h), which see an object nod,
/// and by the sharpness of a slab about the orbit's plane (in_plane.h), which sees it turn.
/// `frames` [view][v][u] of the acquisition, `doses` empty or one for each. Where the motion is
/// less than can be told, there is none. Errors: those of MakePlan and AngularSteps,
/// INVALID_ARGUMENT (frames of other shape or type; fewer than kLeastMotionViews),
/// FAILED_PRECONDITION (rows that the detector's edge cuts), NOT_FOUND (a backend without the
/// operation), RESOURCE_EXHAUSTED, progress's.
absl::StatusOr<FoundMotion> FindMotion(const Acquisition& acquisition, const MotionSearch& search,
                                       const ops::RawFrames& frames, std::span<const float> doses,
                                       const ops::Registry& registry, ops::Device& device,
                                       const MotionProgress& progress = nullptr);

/// The same poses about their mean.
std::vector<RigidPose> AboutTheirMean(std::vector<RigidPose> poses);

}  // namespace isocenter::recon
