// The adjoint of the voxel-driven forward projection: each voxel, or each of its pieces, gets the
// bilinear sample where it is seen times c_j. From shared memory where the device can copy tiles.
#include <algorithm>
#include <vector>

#include "kernels/cuda/fdk/backproject_staged.cuh"
#include "kernels/cuda/projectors/footprint_mass.h"
#include "kernels/cuda/projectors/methods.h"

namespace isocenter::cuda {
namespace {

class BackprojectVoxelDriven final : public ops::MatchedBackproject {
 public:
  BackprojectVoxelDriven(CudaSession& session, int parts, bool copies_tiles)
      : session_(session), parts_(parts), copies_tiles_(copies_tiles) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> world,
                     const ops::ProjectionStack& projections, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(projections));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const VolumeGrid& grid = target->grid();
    const Extent extent = ExtentOf(grid, stack->shape());
    const auto fits = [&](const ProjectionMatrix& view) {
      return copies_tiles_ && PixelsPerVoxel(view, grid) < kMostPixelsPerVoxel;
    };
    for (size_t first = 0; first < world.size();) {
      const auto alike = static_cast<size_t>(ViewsAlike(world.subspan(first), fits));
      const size_t views = std::min<size_t>(alike, kMaxViews / Pieces());
      const float* const data =
          stack->data() + static_cast<int64_t>(first) * extent.rows * extent.columns;
      ISO_RETURN_IF_ERROR(
          Add(world.subspan(first, views), fits(world[first]), data, extent, *target));
      first += views;
    }
    return absl::OkStatus();
  }

  int64_t WorkspaceBytes(const VolumeGrid&, Shape3 projections) const override {
    const auto views = std::min<int64_t>(kMaxViews / Pieces(), projections.slow);
    return TileSource::Bytes(views, projections.middle, projections.fast);
  }

 private:
  int Pieces() const { return parts_ * parts_ * parts_; }

  // At most kMaxViews pieces.
  absl::Status Add(std::span<const ProjectionMatrix> world, bool from_tiles,
                   const float* projections, const Extent& extent, Volume& volume) {
    const VolumeGrid& grid = volume.grid();
    Matrices matrices{};
    MassWeights weights{};
    weights.u = static_cast<float>(extent.columns / 2);
    weights.v = static_cast<float>(extent.rows / 2);
    weights.pieces = Pieces();
    int count = 0;
    for (const ProjectionMatrix& view : world) {
      const MassForm mass = MassFormOf(view, grid, parts_);
      for (const ProjectionMatrix& piece : MatricesOfPieces(view, grid, parts_)) {
        Store(piece, count, matrices);
        StoreMass(mass, weights.u, weights.v, 1, weights.q[count]);
        ++count;
      }
    }
    if (!from_tiles) {
      return LaunchVoxel(matrices, weights, count, projections, grid, extent, volume.data(),
                         session_.stream());
    }
    ISO_ASSIGN_OR_RETURN(
        const TiledViews tiled,
        source_.Prepare(projections, static_cast<int>(world.size()), extent, session_.stream()));
    const auto launch = FitFineTiles(matrices, count, extent)
                            ? LaunchStaged<FineTile, 0, MassWeights>
                            : LaunchStaged<CoarseTile, 0, MassWeights>;
    return launch(matrices, weights, count, tiled, 0, projections, grid, extent, volume.data(),
                  session_.stream());
  }

  CudaSession& session_;
  const int parts_;
  const bool copies_tiles_;
  TileSource source_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectVoxelDriven(
    CudaSession& session, int parts) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  ISO_ASSIGN_OR_RETURN(const bool copies_tiles, CopiesTiles());
  return std::make_unique<BackprojectVoxelDriven>(session, parts, copies_tiles);
}

}  // namespace isocenter::cuda
