// What a second pass does to line integrals that it knows more of, from a first volume: frames in a
// device's memory, as stacks of StackUse::kLineIntegrals, in place; and to volumes.
//
// Run checks what it is given with INVALID_ARGUMENT: a stack of another use, backend or shape.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/geometry/vec3.h"
#include "kernels/ops/buffers.h"
#include "kernels/ops/calibration.h"
#include "kernels/ops/hounsfield.h"

namespace isocenter::ops {

/// Which pixels see metal.
struct MetalTrace {
  /// Those whose line integral of the metal is more than this; 0 or above.
  double least = 0;
  /// And those so many columns and rows away; 0 to kMostTraceMargin.
  int margin = 0;
};
inline constexpr int kMostTraceMargin = 16;
/// Added to what ratios are made of, so that next to air they stay finite.
inline constexpr double kPriorFloor = 0.1;

/// Takes metal out of line integrals p. A run of pixels of the trace in a row, between the pixels a
/// and b, becomes p = (q + e)·((b - u)·r(a) + (u - a)·r(b))/(b - a) - e, with r = (p + e)/(q + e),
/// e = kPriorFloor and q the prior's line integrals, at least 0. Where the row ends in the trace, r
/// stays that of the other side; a row that is all trace stays as it is, and so do pixels outside.
/// Without a prior q is 0, and p is linear between a and b. Sources: Kalender, Hebel, Ebersberger,
/// Radiology 164 (1987) 576; with a prior Meyer et al., Med. Phys. 37 (2010) 5482.
class InterpolateTrace {
 public:
  virtual ~InterpolateTrace() = default;
  /// The first `views` of stacks of one shape; `prior` may be null.
  absl::Status Run(int64_t views, const MetalTrace& trace, const ProjectionStack& metal,
                   const ProjectionStack* prior, ProjectionStack& frames);

 private:
  virtual absl::Status DoRun(int64_t views, const MetalTrace& trace, const ProjectionStack& metal,
                             const ProjectionStack* prior, ProjectionStack& frames) = 0;
};

/// p += what the calibration's bone table says for p and `bone`, the paths in mm of its bone:
/// bilinear between points, and beyond the table as at its edge.
class CorrectBone {
 public:
  virtual ~CorrectBone() = default;
  /// The first `views` of stacks of one shape.
  absl::Status Run(int64_t views, const ProjectionStack& bone, ProjectionStack& frames);

 private:
  virtual absl::Status DoRun(int64_t views, const ProjectionStack& bone,
                             ProjectionStack& frames) = 0;
};
/// What is made of a calibration without a bone table. Errors: INVALID_ARGUMENT.
absl::Status CheckHasBone(const Calibration& calibration);

/// What is left of a measured intensity, at least, when scatter is taken off.
inline constexpr double kLeastUnscattered = 0.1;
/// Up to so many cells along each axis.
inline constexpr int kMostScatterCells = 256;

/// Takes scatter off line integrals p that no water polynomial has made: p = w(min(p - ln(max(1 -
/// S·exp(p), kLeastUnscattered)), kLongestLineIntegral)), w the calibration's water polynomial, if
/// it has one. S is of the empty beam, on cells that cover the detector evenly, bilinear between
/// their centres and constant beyond them.
class RemoveScatter {
 public:
  virtual ~RemoveScatter() = default;
  /// The first `views` of the frames; `scatter` has as many views as the frames, of cells.
  absl::Status Run(int64_t views, const ProjectionStack& scatter, ProjectionStack& frames);

 private:
  virtual absl::Status DoRun(int64_t views, const ProjectionStack& scatter,
                             ProjectionStack& frames) = 0;
};

/// Neighbours in a model that differ by more are an edge; noise of bone in merged voxels does not.
inline constexpr double kConeBeamEdgeHu = 100;
/// Of the Gaussian that smooths what is found, in the model's voxels, and its taps to each side.
inline constexpr double kConeBeamSigma = 1;
inline constexpr int kConeBeamReach = 3;
/// Less than this share of the Gaussian's weight without an edge, and less is taken off.
inline constexpr double kConeBeamLeastWeight = 0.05;

/// Above the orbit's plane, in steps: where voxel (x, y, z) of a model lies is first + per_index ·
/// (x, y, z), at least 0 and at most count - 2.
struct ConeBeamHeights {
  double first = 0;
  Vec3 per_index;
  int count = 2;
};
/// Of the voxels at a height, by how close they are to it: sums of weights, and of weighted squares
/// of what was found.
struct ConeBeamSums {
  double squares = 0, weight = 0;
};

/// What a correction of the cone-beam artefact is made for: a model of an object on a grid of
/// `merge` x `merge` x `merge_slices` voxels of a volume in one, with `more_below` slices before
/// the volume's first.
struct ConeBeamSpec {
  int merge = 1, merge_slices = 1, more_below = 0;  // 1 or more, but for the last: 0 or more
  /// Voxels below the first are nothing, those from the second to below the third are water.
  double air_hu = -700, tissue_hu = -200, bone_hu = 250;
  HounsfieldScale scale;
  /// Of each column of the model, [y][x]: slices between which it is known, and which are the
  /// volume's. None: first > last.
  std::vector<int> first, last;
  ConeBeamHeights heights;
};

/// The cone-beam artefact of a model of an object, and the volume without it. In turn. Errors:
/// INVALID_ARGUMENT (grids that do not belong together, volumes of another backend, shares of other
/// heights), a device's.
class ConeBeamArtefact {
 public:
  explicit ConeBeamArtefact(ConeBeamSpec spec) : spec_(std::move(spec)) {}
  virtual ~ConeBeamArtefact() = default;

  /// Attenuation in 1/mm of the volume's HU, by tissue: the means of merged voxels. Where a column
  /// is not known it is as where it last is; nothing where it never is.
  absl::Status MakeModel(const VolumeBuffer& volume, VolumeBuffer& model);
  /// Of the known voxels of some columns, those that have `least` or more. Waits.
  absl::StatusOr<int64_t> CountDense(std::span<const int> columns, double least,
                                     const VolumeBuffer& model);
  /// The model becomes what its `reconstructed` line integrals, in HU, have beside it: the Gaussian
  /// mean of the difference, of voxels that are known and whose 3 x 3 x 3 neighbours are alike.
  /// `reconstructed` is overwritten. Returns what was found at each height. Waits.
  absl::StatusOr<std::vector<ConeBeamSums>> Find(VolumeBuffer& model, VolumeBuffer& reconstructed);
  /// What is left when of what was `found` at each height a share is kept.
  struct Kept {
    double squares = 0, most = 0;  // of the known voxels
  };
  /// Between two heights shares are linear. Waits.
  absl::StatusOr<Kept> Keep(std::span<const float> shares, VolumeBuffer& found);
  /// Takes the artefact, trilinear between the model's voxels and constant beyond them, off a
  /// volume in HU.
  absl::Status TakeOff(const VolumeBuffer& artefact, VolumeBuffer& volume);

 protected:
  const ConeBeamSpec& spec() const { return spec_; }

 private:
  absl::Status CheckModel(const VolumeBuffer& model) const;
  absl::Status CheckBoth(const VolumeBuffer& volume, const VolumeBuffer& model) const;
  virtual absl::Status DoMakeModel(const VolumeBuffer& volume, VolumeBuffer& model) = 0;
  virtual absl::StatusOr<int64_t> DoCountDense(std::span<const int> columns, double least,
                                               const VolumeBuffer& model) = 0;
  virtual absl::StatusOr<std::vector<ConeBeamSums>> DoFind(VolumeBuffer& model,
                                                           VolumeBuffer& reconstructed) = 0;
  virtual absl::StatusOr<Kept> DoKeep(std::span<const float> shares, VolumeBuffer& found) = 0;
  virtual absl::Status DoTakeOff(const VolumeBuffer& artefact, VolumeBuffer& volume) = 0;

  const ConeBeamSpec spec_;
};

}  // namespace isocenter::ops
