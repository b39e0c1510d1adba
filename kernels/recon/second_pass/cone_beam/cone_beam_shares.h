// How much of what a model finds is cone-beam artefact, and how much the model's own error.
#pragma once

#include <span>
#include <vector>

#include "kernels/geometry/vec3.h"
#include "kernels/ops/second_pass.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_plan.h"

namespace isocenter::recon {

/// In the plane of the orbit a circle measures all that is needed: there is no artefact, and what
/// is found there is the error of finding it (voxels, edges, noise of bone). Away from the plane
/// that error is as large, and the artefact comes on top: of a mean square E² of what is found at a
/// height, N² in the plane, E² - N² is artefact. The share (E² - N²) / E² of what is found is, of
/// all shares, the one that leaves the least mean square (Wiener's), none in the plane, and none of
/// an object that has no artefact.
///
/// Towards the ends of what is known of the object (ConeBeamPlan) the share falls to nothing: from
/// where some voxel's rays through the field of view go beyond them to where those of the axis do.
/// Not thread-safe.
class ConeBeamShares {
 public:
  /// `axis`: the orbit's, through the isocentre; its sign does not matter.
  ConeBeamShares(const ConeBeamPlan& plan, Vec3 axis);

  /// Of the orbit's axis.
  static ConeBeamShares Of(const ConeBeamPlan& plan);

  const ops::ConeBeamHeights& heights() const { return heights_; }
  /// Row y of slice z of the model: `weights`, how sure what is `found` is, 0 to 1.
  void Count(int y, int z, std::span<const float> weights, std::span<const float> found);
  /// What others of the same plan and axis have counted.
  void Add(const ConeBeamShares& other) { Add(other.sums_); }
  /// What others have counted, of each height.
  void Add(std::span<const ops::ConeBeamSums> sums);
  /// Once, after all have been counted. Returns N. Where the plane is outside of the model, the
  /// height that is nearest to it stands for it, and too little is taken off.
  double Choose();
  /// What was found in a row, times its shares (0 to 1).
  void Apply(int y, int z, std::span<float> found) const;
  /// Of each height.
  std::span<const float> shares() const { return shares_; }

 private:
  /// Of a row's voxels in turn: which height is next below, and the share of the one above it.
  template <typename Voxel>
  void Visit(int y, int z, size_t voxels, Voxel voxel) const;

  const ConeBeamPlan* plan_;
  double slice_mm_ = 0;  // between two heights
  double orbit_ = 0;     // where the orbit's plane is
  ops::ConeBeamHeights heights_;
  std::vector<ops::ConeBeamSums> sums_;
  std::vector<float> shares_;
};

}  // namespace isocenter::recon
