// The voxel-driven forward projections of Du, Yu, Xiang, Wang, "GPU accelerated voxel-driven
// forward projection for iterative reconstruction of cone-beam CT", BioMed. Eng. OnLine 16 (2017)
// 2: a thread per voxel adds to four pixels, one view per launch. Threads that run together are a
// plane of voxels; which one decides how often two of them add to the same pixel. float32 additions
// come in any order, so results are reproducible only to rounding.
#include <cmath>

#include "kernels/cuda/fdk/backproject_weights.cuh"
#include "kernels/cuda/projectors/footprint_mass.h"
#include "kernels/cuda/published/methods.h"

namespace isocenter::cuda {
namespace {

constexpr int kAlong = 32, kDown = 8;  // threads of a block: a patch of the plane
constexpr int kMostPieces = 8;

// Pieces of a voxel. Positions are relative to the middles of the volume and of the detector, where
// float32 loses least.
struct DuView {
  float m[kMostPieces][12];
  float mass[6];
  float x, y, z, u, v;  // the middles
};

struct Voxel {
  int x, y, z;
};
template <DuPlane kPlane>
__device__ Voxel VoxelOfThread() {
  const int along = blockIdx.x * kAlong + threadIdx.x, down = blockIdx.y * kDown + threadIdx.y;
  const int plane = blockIdx.z;
  if constexpr (kPlane == DuPlane::kAxial) return {along, down, plane};
  if constexpr (kPlane == DuPlane::kCoronal) return {along, plane, down};
  return {plane, along, down};
}

template <DuPlane kPlane>
__global__ __launch_bounds__(kAlong* kDown) void DuKernel(const __grid_constant__ DuView view,
                                                          int pieces, Extent e, const float* volume,
                                                          float* projection) {
  const Voxel voxel = VoxelOfThread<kPlane>();
  if (voxel.x >= e.nx || voxel.y >= e.ny || voxel.z >= e.nz) return;
  const float value = volume[(static_cast<int64_t>(voxel.z) * e.ny + voxel.y) * e.nx + voxel.x];
  const float x = voxel.x - view.x, y = voxel.y - view.y, z = voxel.z - view.z;
  for (int piece = 0; piece < pieces; ++piece) {
    const float* m = view.m[piece];
    const auto row = [&](int at) {
      return fmaf(m[at], x, fmaf(m[at + 1], y, fmaf(m[at + 2], z, m[at + 3])));
    };
    const float w = row(8);
    if (!(w > 0)) continue;
    const float r = __frcp_rn(w), u = row(0) * r, v = row(4) * r;
    const float root = sqrtf(Quadratic(view.mass, u, v));
    const float added = value * root * (r * r);
    const float column = floorf(u + view.u), line = floorf(v + view.v);
    if (!(column >= -1 && column < e.columns && line >= -1 && line < e.rows)) continue;
    const float right = u - (column - view.u), lower = v - (line - view.v);
    const int to = static_cast<int>(column), at = static_cast<int>(line);
    const auto add = [&](int row, int column, float value) {
      if (row < 0 || row >= e.rows || column < 0 || column >= e.columns) return;
      atomicAdd(projection + static_cast<int64_t>(row) * e.columns + column, value);
    };
    add(at, to, added * (1 - lower) * (1 - right));
    add(at, to + 1, added * (1 - lower) * right);
    add(at + 1, to, added * lower * (1 - right));
    add(at + 1, to + 1, added * lower * right);
  }
}

// The matrix for indices relative to (x, y, z) and pixels relative to (u, v).
void StoreCentred(const ProjectionMatrix& indexed, const DuView& view, float (&to)[12]) {
  const double middle[] = {view.x, view.y, view.z}, pixel[] = {view.u, view.v, 0};
  for (int row = 0; row < 3; ++row) {
    double last = 0;
    for (int column = 0; column < 4; ++column) {
      const double shifted = indexed(row, column) - pixel[row] * indexed(2, column);
      last += shifted * (column < 3 ? middle[column] : 1);
      to[4 * row + column] = static_cast<float>(column < 3 ? shifted : last);
    }
  }
}

DuView MakeView(const ProjectionMatrix& world, const VolumeGrid& grid, int parts, const Extent& e) {
  DuView view{};
  view.x = (e.nx - 1) / 2.f;
  view.y = (e.ny - 1) / 2.f;
  view.z = (e.nz - 1) / 2.f;
  view.u = static_cast<float>(e.columns / 2);
  view.v = static_cast<float>(e.rows / 2);
  int piece = 0;
  for (const ProjectionMatrix& matrix : MatricesOfPieces(world, grid, parts)) {
    StoreCentred(matrix, view, view.m[piece++]);
  }
  StoreMass(MassFormOf(world, grid, parts), view.u, view.v, 1, view.mass);
  return view;
}

// The angle between the central ray and the y axis of the grid, in the grid's axial plane, folded
// to 0 (along y) to π/2 (along x).
double AngleFromY(const ProjectionMatrix& world, const VolumeGrid& grid) {
  const ProjectionMatrix indexed = ToVoxelIndices(world, grid);
  return std::atan2(std::abs(indexed(2, 0) / grid.spacing.x),
                    std::abs(indexed(2, 1) / grid.spacing.y));
}

class ProjectDu final : public ops::ForwardProject {
 public:
  ProjectDu(CudaSession& session, int parts, const DuPlanes& planes)
      : session_(session), parts_(parts), planes_(planes) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices, const ops::VolumeBuffer& volume,
                     ops::ProjectionStack& projections) override {
    ISO_ASSIGN_OR_RETURN(const Volume* source, AsVolume(volume));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(projections));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const VolumeGrid& grid = source->grid();
    const Extent e = ExtentOf(grid, stack->shape());
    float* to = stack->data();
    for (const ProjectionMatrix& matrix : matrices) {
      switch (PlaneOf(matrix, grid)) {
        case DuPlane::kAxial:
          Launch<DuPlane::kAxial>(matrix, *source, e, e.nx, e.ny, e.nz, to);
          break;
        case DuPlane::kCoronal:
          Launch<DuPlane::kCoronal>(matrix, *source, e, e.nx, e.nz, e.ny, to);
          break;
        case DuPlane::kSagittal:
          Launch<DuPlane::kSagittal>(matrix, *source, e, e.ny, e.nz, e.nx, to);
          break;
      }
      ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
      to += int64_t{e.rows} * e.columns;
    }
    return absl::OkStatus();
  }

  int64_t WorkspaceBytes(const VolumeGrid&, Shape3) const override { return 0; }

 private:
  DuPlane PlaneOf(const ProjectionMatrix& matrix, const VolumeGrid& grid) const {
    return AngleFromY(matrix, grid) > planes_.critical_angle ? planes_.beyond : planes_.plane;
  }

  template <DuPlane kPlane>
  void Launch(const ProjectionMatrix& matrix, const Volume& volume, const Extent& e, int along,
              int down, int planes, float* projection) {
    const dim3 blocks((along + kAlong - 1) / kAlong, (down + kDown - 1) / kDown, planes);
    DuKernel<kPlane><<<blocks, dim3(kAlong, kDown), 0, session_.stream()>>>(
        MakeView(matrix, volume.grid(), parts_, e), parts_ * parts_ * parts_, e, volume.data(),
        projection);
  }

  CudaSession& session_;
  const int parts_;
  const DuPlanes planes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectDu(CudaSession& session, int parts,
                                                                  const DuPlanes& planes) {
  return std::make_unique<ProjectDu>(session, parts, planes);
}

}  // namespace isocenter::cuda
