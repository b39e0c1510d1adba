#include "kernels/recon/second_pass/cone_beam_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/geometry/orbit_axis.h"
#include "kernels/recon/second_pass/settings.h"

namespace isocenter::recon {
namespace {

constexpr size_t kViewsAsked = 36;  // who sees a slice
// Neighbours that differ by more are an edge; noise of bone in merged voxels does not.
constexpr double kEdgeHu = 100;
constexpr double kSigma = 1;  // of the Gaussian, in the model's voxels
constexpr int kReach = 3;     // of its taps to each side
// Less than this share of the Gaussian's weight without an edge, and less is taken off.
constexpr float kLeastWeight = 0.05F;

// There is no artefact in the orbit's plane, and what the model's voxels make of edges is no better
// than nothing there: from this distance on all of it is taken off.
constexpr double kWholeFromMm = 12;

double ShareOf(double distance_mm) {
  const double t = std::min(1.0, std::abs(distance_mm) / kWholeFromMm);
  return t * t * (3 - 2 * t);
}

// The same classes as a prior of metal's (MakePrior).
float AttenuationOfModel(const ops::HounsfieldScale& scale, float hu) {
  constexpr MetalSettings kClasses;
  if (hu < kClasses.air_hu) return 0;
  if (hu >= kClasses.tissue_hu && hu < kClasses.bone_hu) {
    return static_cast<float>(ops::AttenuationOf(scale, 0));
  }
  return static_cast<float>(ops::AttenuationOf(scale, hu));
}

std::array<float, 2 * kReach + 1> Taps() {
  std::array<float, 2 * kReach + 1> taps{};
  float sum = 0;
  for (int i = -kReach; i <= kReach; ++i) {
    taps[i + kReach] = static_cast<float>(std::exp(-0.5 * i * i / (kSigma * kSigma)));
    sum += taps[i + kReach];
  }
  for (float& tap : taps) tap /= sum;
  return taps;
}

// Along rows, then columns; nothing beyond the borders.
void SmoothSlice(int nx, int ny, std::span<float> slice, std::vector<float>& scratch) {
  static const auto taps = Taps();
  scratch.resize(slice.size());
  for (int y = 0; y < ny; ++y) {
    const float* const in = &slice[size_t(y) * nx];
    float* const out = &scratch[size_t(y) * nx];
    std::fill(out, out + nx, 0.F);
    for (int i = -kReach; i <= kReach; ++i) {
      for (int x = std::max(0, -i); x < std::min(nx, nx - i); ++x) {
        out[x] += taps[i + kReach] * in[x + i];
      }
    }
  }
  for (int y = 0; y < ny; ++y) {
    float* const out = &slice[size_t(y) * nx];
    std::fill(out, out + nx, 0.F);
    for (int i = std::max(-kReach, -y); i <= std::min(kReach, ny - 1 - y); ++i) {
      const float* const in = &scratch[size_t(y + i) * nx];
      for (int x = 0; x < nx; ++x) out[x] += taps[i + kReach] * in[x];
    }
  }
}

// 1 for voxels of a slice around which 3 x 3 x 3 voxels are alike, else 0.
void WeighSlice(HostView3<const float> model, int z, double most, std::span<float> weights) {
  const Shape3 shape = model.shape();
  const int nz = int(shape.slow), ny = int(shape.middle), nx = int(shape.fast);
  std::vector<float> low(nx), high(nx);
  for (int y = 0; y < ny; ++y) {
    std::fill(low.begin(), low.end(), std::numeric_limits<float>::max());
    std::fill(high.begin(), high.end(), std::numeric_limits<float>::lowest());
    for (int k = std::max(0, z - 1); k <= std::min(nz - 1, z + 1); ++k) {
      for (int j = std::max(0, y - 1); j <= std::min(ny - 1, y + 1); ++j) {
        const float* const row = &model(k, j, 0);
        for (int x = 0; x < nx; ++x) {
          low[x] = std::min(low[x], row[x]);
          high[x] = std::max(high[x], row[x]);
        }
      }
    }
    for (int x = 0; x < nx; ++x) {
      const int before = std::max(0, x - 1), after = std::min(nx - 1, x + 1);
      const float least = std::min({low[before], low[x], low[after]});
      const float greatest = std::max({high[before], high[x], high[after]});
      weights[size_t(y) * nx + x] = greatest - least <= most ? 1.F : 0.F;
    }
  }
}

// Where between which two of `count` voxels the middle of voxel `i` of `merge` times as many is.
struct Between {
  int first = 0, second = 0;
  float share = 0;
};

Between PlaceOf(int i, int merge, int before, int count) {
  const double at =
      std::clamp((i + 0.5) / merge - 0.5 + before, 0.0, static_cast<double>(count - 1));
  const int first = static_cast<int>(at);
  return {first, std::min(first + 1, count - 1), static_cast<float>(at - first)};
}

// One merged slice of the volume: means of attenuations.
void MergeSlice(const ConeBeamPlan& plan, const ops::HounsfieldScale& scale,
                HostView3<const float> volume, int slice, float* out) {
  const Shape3 shape = volume.shape();
  const int nx = plan.model.grid.nx, ny = plan.model.grid.ny, merge = plan.merge;
  std::fill(out, out + size_t(nx) * ny, 0.F);
  const int first = slice * plan.merge_slices;
  const int last = std::min<int>(first + plan.merge_slices, int(shape.slow));
  for (int z = first; z < last; ++z) {
    for (int y = 0; y < shape.middle; ++y) {
      const float* const row = &volume(z, y, 0);
      float* const sums = out + size_t(y / merge) * nx;
      for (int x = 0; x < shape.fast; ++x) sums[x / merge] += AttenuationOfModel(scale, row[x]);
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
  threads.ParallelFor(of_volume, [&](int64_t slice, int) {
    MergeSlice(plan, scale, volume, static_cast<int>(slice),
               &model(plan.more_below + slice, 0, 0));
  });
  threads.ParallelFor(coarse.ny, [&](int64_t y, int) {
    for (int z = 0; z < coarse.nz; ++z) {
      for (int x = 0; x < coarse.nx; ++x) {
        const size_t column = size_t(y) * coarse.nx + x;
        const int first = seen.first[column], last = seen.last[column];
        if (first > last) {
          model(z, y, x) = 0;
        } else if (z < first || z > last) {
          model(z, y, x) = model(z < first ? first : last, y, x);
        }
      }
    }
  });
}

ConeBeamFindings FindArtefact(const ConeBeamPlan& plan, const SeenSlices& seen,
                              HostView3<const float> model, ThreadPool& threads,
                              HostView3<float> reconstructed, HostView3<float> scratch) {
  const VolumeGrid& grid = plan.model.grid;
  const size_t pixels = size_t(grid.nx) * grid.ny;
  const double water = plan.model.hounsfield.mu_water_per_mm;
  const auto to_hu = static_cast<float>(1000 / water);
  const double edge = kEdgeHu / 1000 * water;
  // Means over the slice of the weighted artefact, in place, and of the weights.
  threads.ParallelFor(grid.nz, [&](int64_t z, int) {
    const std::span<float> weights(&scratch(z, 0, 0), pixels);
    const std::span<float> weighted(&reconstructed(z, 0, 0), pixels);
    const float* const object = &model(z, 0, 0);
    WeighSlice(model, static_cast<int>(z), edge, weights);
    for (size_t i = 0; i < pixels; ++i) {
      if (z < seen.first[i] || z > seen.last[i]) weights[i] = 0;
      weighted[i] = weights[i] * (weighted[i] - (object[i] * to_hu - 1000));
    }
    std::vector<float> between;
    SmoothSlice(grid.nx, grid.ny, weights, between);
    SmoothSlice(grid.nx, grid.ny, weighted, between);
  });
  const auto taps = Taps();
  const Vec3 axis = OrbitAxis(plan.model.acquisition.trajectory).value_or(Vec3{0, 0, 1});
  std::vector<double> squares(grid.ny), most(grid.ny), counted(grid.ny);
  // Across slices, row by row: a row of all slices is copied first, then overwritten.
  threads.ParallelFor(grid.ny, [&](int64_t y, int) {
    const auto nx = static_cast<size_t>(grid.nx);
    std::vector<float> weights(nx * grid.nz), weighted(nx * grid.nz), sum(nx), sums(nx);
    for (int z = 0; z < grid.nz; ++z) {
      std::copy_n(&scratch(z, y, 0), nx, &weights[z * nx]);
      std::copy_n(&reconstructed(z, y, 0), nx, &weighted[z * nx]);
    }
    for (int z = 0; z < grid.nz; ++z) {
      std::fill(sum.begin(), sum.end(), 0.F);
      std::fill(sums.begin(), sums.end(), 0.F);
      for (int i = std::max(-kReach, -z); i <= std::min(kReach, grid.nz - 1 - z); ++i) {
        const float tap = taps[i + kReach];
        for (size_t x = 0; x < nx; ++x) {
          sum[x] += tap * weights[(z + i) * nx + x];
          sums[x] += tap * weighted[(z + i) * nx + x];
        }
      }
      const Vec3 middle = grid.VoxelToWorld(0.5 * (grid.nx - 1), static_cast<double>(y), z);
      const auto share = static_cast<float>(ShareOf(Dot(axis, middle)));
      for (size_t x = 0; x < nx; ++x) {
        const float artefact = share * sums[x] / std::max(sum[x], kLeastWeight);
        reconstructed(z, y, int64_t(x)) = artefact;
        const size_t column = y * nx + x;
        if (z < seen.first[column] || z > seen.last[column]) continue;
        squares[y] += double{artefact} * artefact;
        most[y] = std::max(most[y], std::abs(double{artefact}));
        counted[y] += 1;
      }
    }
  });
  double square = 0, count = 0;
  for (int y = 0; y < grid.ny; ++y) {
    square += squares[y];
    count += counted[y];
  }
  return {.rms_hu = count > 0 ? std::sqrt(square / count) : 0,
          .most_hu = *std::max_element(most.begin(), most.end())};
}

void TakeOffArtefact(const ConeBeamPlan& plan, const ops::HounsfieldScale& scale,
                     HostView3<const float> artefact, ThreadPool& threads,
                     HostView3<float> volume) {
  const Shape3 shape = volume.shape();
  const VolumeGrid& grid = plan.model.grid;
  const auto nx = static_cast<int>(shape.fast);
  std::vector<Between> columns(nx);
  for (int x = 0; x < nx; ++x) columns[x] = PlaceOf(x, plan.merge, 0, grid.nx);
  const bool linear = scale.table.points.empty();
  const double to_attenuation = scale.mu_water_per_mm / 1000;
  threads.ParallelFor(shape.slow, [&](int64_t z, int) {
    const Between slice =
        PlaceOf(static_cast<int>(z), plan.merge_slices, plan.more_below, grid.nz);
    std::vector<float> row(grid.nx);
    for (int y = 0; y < shape.middle; ++y) {
      const Between line = PlaceOf(y, plan.merge, 0, grid.ny);
      const float* const a = &artefact(slice.first, line.first, 0);
      const float* const b = &artefact(slice.first, line.second, 0);
      const float* const c = &artefact(slice.second, line.first, 0);
      const float* const d = &artefact(slice.second, line.second, 0);
      for (int x = 0; x < grid.nx; ++x) {
        const float lower = a[x] + line.share * (b[x] - a[x]);
        const float upper = c[x] + line.share * (d[x] - c[x]);
        row[x] = lower + slice.share * (upper - lower);
      }
      float* const out = &volume(z, y, 0);
      for (int x = 0; x < nx; ++x) {
        const Between& place = columns[x];
        const float off = row[place.first] + place.share * (row[place.second] - row[place.first]);
        out[x] = linear ? out[x] - off
                        : static_cast<float>(ops::HounsfieldOf(
                              scale, ops::AttenuationOf(scale, out[x]) - off * to_attenuation));
      }
    }
  });
}

}  // namespace isocenter::recon
