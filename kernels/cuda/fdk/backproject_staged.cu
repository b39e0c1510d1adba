// Exact back-projection from shared memory: float32 pixels, weights and positions.
#include "kernels/cuda/fdk/backproject_staged.cuh"
#include "kernels/cuda/fdk/methods.h"

namespace isocenter::cuda {
namespace {

class BackprojectStaged final : public ops::Backproject {
 public:
  explicit BackprojectStaged(CudaSession& session) : session_(session) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> world, const ops::ProjectionStack& filtered,
                     ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const VolumeGrid& grid = target->grid();
    const Extent extent = ExtentOf(grid, stack->shape());
    const auto fits = [&grid](const ProjectionMatrix& view) {
      return PixelsPerVoxel(view, grid) < kMostPixelsPerVoxel;
    };
    for (size_t first = 0; first < world.size();) {
      const int views = ViewsAlike(world.subspan(first), fits);
      const Matrices matrices = MakeMatrices(world.subspan(first, views), grid);
      const float* const projections =
          stack->data() + static_cast<int64_t>(first) * extent.rows * extent.columns;
      if (!fits(world[first])) {
        ISO_RETURN_IF_ERROR(LaunchVoxel(matrices, views, projections, grid, extent, target->data(),
                                        session_.stream()));
      } else {
        ISO_ASSIGN_OR_RETURN(const TiledViews tiled,
                             source_.Prepare(projections, views, extent, session_.stream()));
        const auto launch = FitFineTiles(matrices, views, extent)
                                ? LaunchStaged<FineTile, 0, FeldkampWeights>
                                : LaunchStaged<CoarseTile, 0, FeldkampWeights>;
        ISO_RETURN_IF_ERROR(launch(matrices, FeldkampWeights{}, views, tiled, 0, projections, grid,
                                   extent, target->data(), session_.stream()));
      }
      first += views;
    }
    return absl::OkStatus();
  }

 private:
  CudaSession& session_;
  TileSource source_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectStaged(CudaSession& session) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  ISO_ASSIGN_OR_RETURN(const bool copies_tiles, CopiesTiles());
  if (!copies_tiles) return NewBackprojectVoxel(session);
  return std::make_unique<BackprojectStaged>(session);
}

}  // namespace isocenter::cuda
