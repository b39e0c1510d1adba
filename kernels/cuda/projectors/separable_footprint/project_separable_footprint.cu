// Separable footprints without scatter. Two kernels serve what arms and circles see
// (footprint_columns.h, footprint_leaning.h); the one here serves the rest: sources within or near
// the volume, pixels much longer than voxels. A thread holds a run of pixels along a detector
// column and goes through the planes of the transverse index axis that its warp's rays cross most
// steeply; in each plane it visits the voxels whose footprint may reach its pixels.
#include <vector>

#include "kernels/cuda/device/view_batches.h"
#include "kernels/cuda/projectors/column_volume.h"
#include "kernels/cuda/projectors/methods.h"
#include "kernels/cuda/projectors/rows_of_boxes.h"
#include "kernels/cuda/projectors/separable_footprint/footprint_columns.h"
#include "kernels/cuda/projectors/separable_footprint/footprint_leaning.h"
#include "kernels/cuda/projectors/separable_footprint/projected_view.cuh"

namespace isocenter::cuda {
namespace {

constexpr int kRun = 8;              // pixels of a thread, along v
constexpr int kWide = 8, kTall = 4;  // threads of a warp along u and v
constexpr int kWarps = 8;            // of a block, along u
static_assert(kWide * kTall == 32);

// In the plane at a distance D of the source along the plane axis, the centres of the voxels that
// reach a run of pixels lie within slope·D ± (cone·|D| + reach).
template <class Real>
struct Bounds {
  Real slope, cone, reach;
};

// The largest w of a corner of a voxel in a plane at `index` along `axis`.
template <class Real>
__device__ Real DeepestOf(const FootprintView<Real>& f, int axis, Real index,
                          const VoxelLayout& layout) {
  Real w = f.m[11];
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    const Real own = f.m[8 + a];
    w += a == axis ? fma(own, index, fabs(own) / 2) : fabs(own) * layout.n[a] / 2;
  }
  return w;
}

// Adds voxels `along` of the column through `index`, each with a footprint of its own. `index` is
// changed along the axial axis.
template <class Real>
__device__ void AddColumn(const ProjectedView<Real>& g, Real (&index)[3], Span along, Real middle,
                          Real u, Real first_v, const float* voxels, int64_t stride,
                          Real (&sum)[kRun]) {
  constexpr Real kHalf = static_cast<Real>(0.5);
  const FootprintView<Real>& f = g.footprint;
  Seen<Real> at{};
  Trapezoid<Real> trapezoid{};
  Real share = 0;
  bool known = false;
  for (int k = along.first; k <= along.last; ++k) {
#pragma unroll
    for (int a = 0; a < 3; ++a) index[a] = a == g.axial ? k - middle : index[a];
    if (!(known && g.upright)) {
      at = SeenAt(f, index[0], index[1], index[2]);
      trapezoid = TrapezoidOf(f, at);
      share = AreaUpTo(trapezoid, u + kHalf) - AreaUpTo(trapezoid, u - kHalf);
      known = true;
    } else {
      at.v = fma(2 * f.half_a_v, at.r, at.v);
    }
    if (!(share > 0)) {
      if (g.upright) break;
      continue;
    }
    const Rectangle<Real> rectangle =
        RectangleOf(f, at, index[0], index[1], index[2], trapezoid.area);
    const Real value = share * rectangle.height * __ldg(voxels + k * stride);
#pragma unroll
    for (int row = 0; row < kRun; ++row) {
      sum[row] = fma(value, Overlap(rectangle, first_v + row), sum[row]);
    }
  }
}

// Voxels of a plane.
struct Box {
  Span across, along;
};

template <class Real>
__global__ __launch_bounds__(kWide* kTall* kWarps, sizeof(Real) == 4 ? 3 : 1) void FootprintKernel(
    const __grid_constant__ ProjectedViews<Real> views, const VoxelLayout layout,
    const float* volume, int rows, int columns, float* projections) {
  constexpr Real kHalf = static_cast<Real>(0.5);
  constexpr bool kNear = sizeof(Real) == sizeof(double);
  const ProjectedView<Real>& g = views.view[blockIdx.z];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int column = (blockIdx.x * kWarps + warp) * kWide + lane % kWide;
  const int first_row = (blockIdx.y * kTall + lane / kWide) * kRun;
  const bool inside = column < columns && first_row < rows;
  const Real u = column - kHalf * (columns - 1), first_v = first_row - kHalf * (rows - 1);
  const Real v = first_v + kHalf * (kRun - 1);  // the run's middle

  const int axial = g.axial;
  Real d[3];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    d[i] = fma(u, g.per_column[i], fma(v, g.per_row[i], g.direction[i]));
  }
  const int b = axial == 0 ? 1 : 0, c = axial == 2 ? 1 : 2;
  const bool along_b =
      __popc(__ballot_sync(0xffffffffu, fabs(Pick(d, b)) >= fabs(Pick(d, c)))) >= 16;
  const int plane = along_b ? b : c, across = along_b ? c : b;

  // How far from a pixel's centre, in pixels times w, a voxel may be seen that reaches it.
  const FootprintView<Real>& f = g.footprint;
  const Real reach_u =
      fabs(fma(-u, f.half_b_w, f.half_b_u)) + fabs(fma(-u, f.half_c_w, f.half_c_u)) + g.half_depth;
  const Real reach_v = fabs(fma(-v, f.half_a_w, f.half_a_v)) + (kRun + 1) * g.half_depth;
  constexpr Real kHalfRun = kHalf * kRun;
  const Real d_plane = Pick(d, plane), per_d = Reciprocal(d_plane);
  const Real turn_u = Pick(g.per_column, plane), turn_v = Pick(g.per_row, plane);
  // Perspective within the footprints, relative.
  const Real bend = ((kHalf + reach_u / g.least_depth) * fabs(turn_u) +
                     (kHalfRun + reach_v / g.least_depth) * fabs(turn_v)) *
                        fabs(per_d) +
                    2 * g.half_depth / g.least_depth;
  const bool bounded = bend < kHalf;
  const Real larger = 1 / (1 - bend);
  const auto bounds = [&](int axis) {
    const Real slope = Pick(d, axis) * per_d;
    const Real by_u = fabs((Pick(g.per_column, axis) - slope * turn_u) * per_d) * larger;
    const Real by_v = fabs((Pick(g.per_row, axis) - slope * turn_v) * per_d) * larger;
    constexpr Real kMargin = static_cast<Real>(0.01);
    return Bounds<Real>{slope, kHalf * by_u + kHalfRun * by_v,
                        fabs(d_plane) * (reach_u * by_u + reach_v * by_v) + kMargin};
  };
  const Bounds<Real> bounds_across = bounds(across), bounds_axial = bounds(axial);
  const int n_plane = Pick(layout.n, plane), n_across = Pick(layout.n, across);
  const int n_axial = Pick(layout.n, axial);
  const int64_t axial_stride = Pick(layout.stride, axial);

  // The voxels of plane i that may reach the run.
  const auto box = [&](int i) -> Box {
    constexpr Span kNone = {0, -1};
    if (!inside || i >= n_plane) return {kNone, kNone};
    const Real at_plane = i - kHalf * (n_plane - 1), distance = at_plane - Pick(g.source, plane);
    if (bounded && (!kNear || distance * per_d > 2 * g.least_depth)) {
      const auto span = [&](const Bounds<Real>& of, int axis, int n) {
        return SpanAround(fma(distance, of.slope, Pick(g.source, axis)),
                          fma(fabs(distance), of.cone, of.reach), n);
      };
      return {span(bounds_across, across, n_across), span(bounds_axial, axial, n_axial)};
    }
    if (DeepestOf(f, plane, at_plane, layout) < 0) return {kNone, kNone};
    return {{0, n_across - 1}, {0, n_axial - 1}};
  };
  const auto index_of = [&](int i, int j, Real(&index)[3]) {
    const Real at_plane = i - kHalf * (n_plane - 1), at_across = j - kHalf * (n_across - 1);
#pragma unroll
    for (int a = 0; a < 3; ++a) index[a] = a == plane ? at_plane : a == across ? at_across : 0;
  };
  const auto voxels_of = [&](int i, int j) {
    return volume + i * Pick(layout.stride, plane) + j * Pick(layout.stride, across);
  };
  const Real middle = kHalf * (n_axial - 1);
  Real sum[kRun] = {};
  for (int i = 0; i < n_plane; ++i) {
    const Box own = box(i);
    for (int j = own.across.first; j <= own.across.last; ++j) {
      Real index[3];
      index_of(i, j, index);
      AddColumn(g, index, own.along, middle, u, first_v, voxels_of(i, j), axial_stride, sum);
    }
  }
  if (!inside) return;
  float* const to =
      projections + (static_cast<int64_t>(blockIdx.z) * rows + first_row) * columns + column;
#pragma unroll
  for (int row = 0; row < kRun; ++row) {
    if (first_row + row < rows) to[row * columns] += static_cast<float>(sum[row]);
  }
}

class ProjectSeparableFootprint final : public ops::ForwardProject {
 public:
  explicit ProjectSeparableFootprint(CudaSession& session) : session_(session) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices, const ops::VolumeBuffer& volume,
                     ops::ProjectionStack& projections) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(projections));
    ISO_ASSIGN_OR_RETURN(const Volume* source, AsVolume(volume));
    const Shape3& shape = stack->shape();
    if (matrices.empty()) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const VolumeGrid& grid = source->grid();
    ISO_RETURN_IF_ERROR(columns_.Fill(source->data(), grid, session_));
    const std::vector<ProjectionMatrix> indexed = IndexedMatrices(matrices, grid);
    for (const ViewBatch& batch :
         BoxBatchesOf(indexed, grid, ProjectedViews<float>::kMost, kLeastDepth)) {
      const auto views = matrices.subspan(batch.first, batch.views);
      const RowRange seen = RowsOfBoxes(std::span(indexed).subspan(batch.first, batch.views), grid,
                                        static_cast<int>(shape.middle));
      float* const to = stack->data() + batch.first * shape.middle * shape.fast;
      ISO_RETURN_IF_ERROR(batch.near ? Launch<double>(views, grid, shape, seen, to)
                                     : Launch<float>(views, grid, shape, seen, to));
    }
    return absl::OkStatus();
  }

 private:
  // Runs of views of one kind.
  template <class Real>
  absl::Status Launch(std::span<const ProjectionMatrix> world, const VolumeGrid& grid,
                      const Shape3& shape, RowRange seen, float* projections) {
    constexpr bool kNear = sizeof(Real) == sizeof(double);
    std::vector<ProjectedView<Real>> views;
    for (const ProjectionMatrix& matrix : world) {
      views.push_back(ProjectedViewOf<Real>(matrix, grid, shape));
    }
    // Rows of a warp of the kernel that serves a view; the one for upright columns has its own.
    constexpr int kGeneral = 0, kUpright = -1;
    const auto kind = [&](size_t i) {
      if constexpr (kNear) {
        return kGeneral;
      } else {
        return views[i].upright && views[i].axial == 2 ? kUpright
                                                       : LeaningRows(views[i], grid, shape);
      }
    };
    const VoxelLayout layout{{grid.nx, grid.ny, grid.nz},
                             {grid.nz, static_cast<int64_t>(grid.nz) * grid.nx, 1}};
    for (size_t first = 0, end = 0; first < views.size(); first = end) {
      ProjectedViews<Real> run;
      const int served = kind(first);
      while (end < views.size() && kind(end) == served) {
        run.view[end - first] = views[end];
        ++end;
      }
      const int count = static_cast<int>(end - first);
      float* const to = projections + first * shape.middle * shape.fast;
      if constexpr (!kNear) {
        if (served == kUpright) {
          ISO_RETURN_IF_ERROR(LaunchFootprintColumns(run, count, columns_.data(), grid, shape, seen,
                                                     to, session_.stream()));
          continue;
        }
        if (served != kGeneral) {
          ISO_RETURN_IF_ERROR(LaunchFootprintLeaning(run, count, served, layout, columns_.data(),
                                                     shape, seen, to, session_.stream()));
          continue;
        }
      }
      ISO_RETURN_IF_ERROR(LaunchGeneral(run, count, layout, shape, to));
    }
    return absl::OkStatus();
  }

  template <class Real>
  absl::Status LaunchGeneral(const ProjectedViews<Real>& views, int count,
                             const VoxelLayout& layout, const Shape3& shape, float* projections) {
    const int rows = static_cast<int>(shape.middle), width = static_cast<int>(shape.fast);
    const dim3 blocks((width + kWide * kWarps - 1) / (kWide * kWarps),
                      (rows + kTall * kRun - 1) / (kTall * kRun), count);
    FootprintKernel<Real><<<blocks, kWide * kTall * kWarps, 0, session_.stream()>>>(
        views, layout, columns_.data(), rows, width, projections);
    return ToStatus(cudaGetLastError(), "FootprintKernel");
  }

  CudaSession& session_;
  ColumnVolume columns_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectSeparableFootprint(
    CudaSession& session) {
  return std::make_unique<ProjectSeparableFootprint>(session);
}

int64_t ProjectSeparableFootprintBytes(const ops::Extents& extents) {
  return ColumnVolume::Bytes(extents.grid);
}

}  // namespace isocenter::cuda
