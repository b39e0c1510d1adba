// What of an object makes the cone-beam artefact, on a coarse grid.
#pragma once

#include <span>
#include <vector>

#include "kernels/base/thread_pool.h"
#include "kernels/base/views.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/ops/hounsfield.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_plan.h"

namespace isocenter::recon {

/// Of each column of the model's voxels (along the third index), [y][x]: the slices between which
/// every view sees it, and which are the volume's. None, as beyond the field of view: first > last.
struct SeenSlices {
  std::vector<int> first, last;
};

/// `matrices`: of the frames as they are.
SeenSlices FindSeenSlices(const ConeBeamPlan& plan, const VolumeGrid& volume,
                          std::span<const ProjectionMatrix> matrices, const Detector& detector,
                          ThreadPool& threads);

/// [z][y][x] of the model's grid in 1/mm, of a volume in HU: air is nothing, soft tissue is water,
/// the rest (bone, edges to air) is as it is; voxels are merged. Where not all views see a column
/// it is as where they last do; nothing where they never do.
void MakeConeBeamModel(const ConeBeamPlan& plan, const VolumeGrid& grid,
                       const ops::HounsfieldScale& scale, HostView3<const float> volume,
                       const SeenSlices& seen, ThreadPool& threads, HostView3<float> model);

/// Where what is known ends sideways, at the rim of the field of view or the sides of the grid:
/// columns, and how many of their voxels are known.
struct ModelSides {
  std::vector<int> columns;
  int64_t voxels = 0;

  /// The share of those in which the object goes on.
  double Cut(int64_t object) const {
    return voxels == 0 ? 0 : static_cast<double>(object) / static_cast<double>(voxels);
  }
};
ModelSides FindSides(const ConeBeamPlan& plan, const SeenSlices& seen);
/// An object has half of water's attenuation or more.
double LeastOfObject(const ConeBeamPlan& plan);
/// Known voxels of the sides in which the object goes on.
int64_t CountCut(const ConeBeamPlan& plan, const SeenSlices& seen, const ModelSides& sides,
                 HostView3<const float> model);

}  // namespace isocenter::recon
