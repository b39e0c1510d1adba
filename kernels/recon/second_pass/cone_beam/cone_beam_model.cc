#include "kernels/recon/second_pass/cone_beam/cone_beam_model.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "kernels/recon/second_pass/segment.h"

namespace isocenter::recon {
namespace {

constexpr size_t kViewsAsked = 36;  // who sees a slice
constexpr int kBorder = 1;          // voxels of what is known, sideways

// The sums of `kMerge` values each; `merge` where none is fixed.
template <int kMerge>
void AddMerged(const float* values, int merge, std::span<float> sums) {
  const size_t count = kMerge > 0 ? kMerge : merge, merged = sums.size();
  for (size_t x = 0; x < merged; ++x) {
    float sum = 0;
    for (size_t i = 0; i < count; ++i) sum += values[x * count + i];
    sums[x] += sum;
  }
}

void AddMerged(const float* values, int merge, std::span<float> sums) {
  switch (merge) {
    case 1:
      return AddMerged<1>(values, merge, sums);
    case 2:
      return AddMerged<2>(values, merge, sums);
    case 4:
      return AddMerged<4>(values, merge, sums);
    default:
      return AddMerged<0>(values, merge, sums);
  }
}

// One merged slice of the volume: means of attenuations.
void MergeSlice(const ConeBeamPlan& plan, const TissueClasses& classes,
                HostView3<const float> volume, int slice, float* out) {
  const Shape3 shape = volume.shape();
  const int nx = plan.model.grid.nx, ny = plan.model.grid.ny, merge = plan.merge;
  std::fill(out, out + size_t(nx) * ny, 0.F);
  const int first = slice * plan.merge_slices;
  const int last = std::min<int>(first + plan.merge_slices, int(shape.slow));
  std::vector<float> attenuations(size_t(nx) * merge);  // nothing beyond the row's end
  for (int z = first; z < last; ++z) {
    for (int y = 0; y < shape.middle; ++y) {
      classes.Attenuations({&volume(z, y, 0), size_t(shape.fast)}, attenuations.data());
      AddMerged(attenuations.data(), merge, {out + size_t(y / merge) * nx, size_t(nx)});
    }
  }
  for (int y = 0; y < ny; ++y) {
    const int rows = std::min<int>(merge, int(shape.middle) - y * merge);
    for (int x = 0; x < nx; ++x) {
      const int columns = std::min<int>(merge, int(shape.fast) - x * merge);
      out[size_t(y) * nx + x] /= static_cast<float>(rows * columns * (last - first));
    }
  }
}

}  // namespace

SeenSlices FindSeenSlices(const ConeBeamPlan& plan, const VolumeGrid& volume,
                          std::span<const ProjectionMatrix> matrices, const Detector& detector,
                          ThreadPool& threads) {
  const VolumeGrid& grid = plan.model.grid;
  const size_t columns = size_t(grid.nx) * grid.ny;
  const int of_volume = (volume.nz + plan.merge_slices - 1) / plan.merge_slices;
  SeenSlices seen{std::vector<int>(columns, plan.more_below),
                  std::vector<int>(columns, plan.more_below + of_volume - 1)};
  const size_t step = std::max<size_t>(1, matrices.size() / kViewsAsked);
  const Vec3 base = grid.VoxelToWorld(0, 0, 0);
  const Vec3 dx = grid.VoxelToWorld(1, 0, 0) - base, dy = grid.VoxelToWorld(0, 1, 0) - base,
             dz = grid.VoxelToWorld(0, 0, 1) - base;
  threads.ParallelFor(grid.ny, [&](int64_t y, int) {
    for (int x = 0; x < grid.nx; ++x) {
      const Vec3 at = base + double(x) * dx + double(y) * dy;
      const size_t column = size_t(y) * grid.nx + x;
      const Vec3 middle = at + 0.5 * (grid.nz - 1) * dz;
      double first = 0, last = grid.nz - 1.0;
      if (std::hypot(middle.x, middle.y) > plan.radius_mm) last = -1;
      for (size_t view = 0; view < matrices.size(); view += step) {
        const auto& m = matrices[view].m;
        // The numerator of v, and that of rows - 1 - v, must not be negative: both are linear along
        // the column.
        for (const double row : {0.0, detector.rows - 1.0}) {
          const double sign = row == 0 ? 1 : -1;
          const Vec3 normal = sign * (Vec3{m[4], m[5], m[6]} - row * Vec3{m[8], m[9], m[10]});
          const double value = Dot(normal, at) + sign * (m[7] - row * m[11]);
          const double slope = Dot(normal, dz);
          if (slope > 0) first = std::max(first, -value / slope);
          if (slope < 0) last = std::min(last, -value / slope);
          if (slope == 0 && value < 0) last = -1;
        }
      }
      // A column may be seen only far from the grid.
      first = std::min<double>(first, grid.nz);
      last = std::max(last, -1.0);
      seen.first[column] = std::max(seen.first[column], static_cast<int>(std::ceil(first)));
      seen.last[column] = std::min(seen.last[column], static_cast<int>(std::floor(last)));
    }
  });
  return seen;
}

void MakeConeBeamModel(const ConeBeamPlan& plan, const VolumeGrid& grid,
                       const ops::HounsfieldScale& scale, HostView3<const float> volume,
                       const SeenSlices& seen, ThreadPool& threads, HostView3<float> model) {
  const VolumeGrid& coarse = plan.model.grid;
  const int of_volume = (grid.nz + plan.merge_slices - 1) / plan.merge_slices;
  const TissueClasses classes({}, scale);
  threads.ParallelFor(of_volume, [&](int64_t slice, int) {
    MergeSlice(plan, classes, volume, static_cast<int>(slice),
               &model(plan.more_below + slice, 0, 0));
  });
  // Only slices that are not seen are written, and only those that are seen are read.
  threads.ParallelFor(coarse.nz, [&](int64_t z, int) {
    float* const slice = &model(z, 0, 0);
    for (size_t column = 0; column < seen.first.size(); ++column) {
      const int first = seen.first[column], last = seen.last[column];
      if (first > last) {
        slice[column] = 0;
      } else if (z < first || z > last) {
        slice[column] = (&model(z < first ? first : last, 0, 0))[column];
      }
    }
  });
}

ModelSides FindSides(const ConeBeamPlan& plan, const SeenSlices& seen) {
  const VolumeGrid& grid = plan.model.grid;
  const auto known = [&](int x, int y) {
    if (x < 0 || y < 0 || x >= grid.nx || y >= grid.ny) return false;
    const size_t column = size_t(y) * grid.nx + x;
    return seen.first[column] <= seen.last[column];
  };
  ModelSides sides;
  for (int y = 0; y < grid.ny; ++y) {
    for (int x = 0; x < grid.nx; ++x) {
      const bool inside = known(x - kBorder, y) && known(x + kBorder, y) && known(x, y - kBorder) &&
                          known(x, y + kBorder);
      if (inside || !known(x, y)) continue;
      const int column = y * grid.nx + x;
      sides.columns.push_back(column);
      sides.voxels += seen.last[column] - seen.first[column] + 1;
    }
  }
  return sides;
}

double LeastOfObject(const ConeBeamPlan& plan) {
  return 0.5 * plan.model.hounsfield.mu_water_per_mm;
}

int64_t CountCut(const ConeBeamPlan& plan, const SeenSlices& seen, const ModelSides& sides,
                 HostView3<const float> model) {
  const double least = LeastOfObject(plan);
  int64_t object = 0;
  for (const int column : sides.columns) {
    for (int z = seen.first[column]; z <= seen.last[column]; ++z) {
      if ((&model(z, 0, 0))[column] >= least) ++object;
    }
  }
  return object;
}

}  // namespace isocenter::recon
