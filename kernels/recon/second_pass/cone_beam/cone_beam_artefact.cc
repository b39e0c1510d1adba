#include "kernels/recon/second_pass/cone_beam/cone_beam_artefact.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "kernels/geometry/orbit_axis.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_shares.h"

namespace isocenter::recon {
namespace {

// Neighbours that differ by more are an edge; noise of bone in merged voxels does not.
constexpr double kEdgeHu = 100;
constexpr double kSigma = 1;  // of the Gaussian, in the model's voxels
constexpr int kReach = 3;     // of its taps to each side
// Less than this share of the Gaussian's weight without an edge, and less is taken off.
constexpr float kLeastWeight = 0.05F;

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

// The difference to the model times its weight, and the weights, each smoothed within slices.
void WeighDifference(const ConeBeamPlan& plan, const SeenSlices& seen, HostView3<const float> model,
                     ThreadPool& threads, HostView3<float> reconstructed,
                     HostView3<float> scratch) {
  const VolumeGrid& grid = plan.model.grid;
  const size_t pixels = size_t(grid.nx) * grid.ny;
  const double water = plan.model.hounsfield.mu_water_per_mm;
  const auto to_hu = static_cast<float>(1000 / water);
  const double edge = kEdgeHu / 1000 * water;
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
}

// Of slice z: the weighted mean of the difference.
void SmoothAcrossSlices(int z, HostView3<const float> weighted, HostView3<const float> weights,
                        HostView3<float> found, ConeBeamShares& shares) {
  static const auto taps = Taps();
  const Shape3 shape = weighted.shape();
  const auto nx = static_cast<size_t>(shape.fast);
  const int nz = static_cast<int>(shape.slow);
  std::vector<float> weight(nx), sum(nx);
  for (int y = 0; y < shape.middle; ++y) {
    std::fill(weight.begin(), weight.end(), 0.F);
    std::fill(sum.begin(), sum.end(), 0.F);
    for (int i = std::max(-kReach, -z); i <= std::min(kReach, nz - 1 - z); ++i) {
      const float tap = taps[i + kReach];
      const float* const of_weight = &weights(z + i, y, 0);
      const float* const of_sum = &weighted(z + i, y, 0);
      for (size_t x = 0; x < nx; ++x) {
        weight[x] += tap * of_weight[x];
        sum[x] += tap * of_sum[x];
      }
    }
    float* const out = &found(z, y, 0);
    for (size_t x = 0; x < nx; ++x) out[x] = sum[x] / std::max(weight[x], kLeastWeight);
    shares.Count(y, z, weight, {out, nx});
  }
}

// What is left of a slice's artefact, where all views see.
struct Left {
  double squares = 0, most = 0;
  int64_t voxels = 0;
};

Left ApplyShares(int z, const SeenSlices& seen, const ConeBeamShares& shares,
                 HostView3<float> found) {
  const Shape3 shape = found.shape();
  const auto nx = static_cast<size_t>(shape.fast);
  Left left;
  for (int y = 0; y < shape.middle; ++y) {
    const std::span<float> row(&found(z, y, 0), nx);
    shares.Apply(y, z, row);
    for (size_t x = 0; x < nx; ++x) {
      const size_t column = y * nx + x;
      if (z < seen.first[column] || z > seen.last[column]) continue;
      left.squares += double{row[x]} * row[x];
      left.most = std::max(left.most, std::abs(double{row[x]}));
      ++left.voxels;
    }
  }
  return left;
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

}  // namespace

ConeBeamFindings FindArtefact(const ConeBeamPlan& plan, const SeenSlices& seen, ThreadPool& threads,
                              HostView3<float> model, HostView3<float> reconstructed,
                              HostView3<float> scratch) {
  const VolumeGrid& grid = plan.model.grid;
  const Vec3 axis = OrbitAxis(plan.model.acquisition.trajectory).value_or(Vec3{0, 0, 1});
  WeighDifference(plan, seen, model, threads, reconstructed, scratch);
  std::vector<ConeBeamShares> of_slices(grid.nz, ConeBeamShares(plan, axis));
  threads.ParallelFor(grid.nz, [&](int64_t z, int) {
    SmoothAcrossSlices(static_cast<int>(z), reconstructed, scratch, model, of_slices[z]);
  });
  // Slice after slice: the same sum with any number of threads.
  ConeBeamShares shares(plan, axis);
  for (const ConeBeamShares& slice : of_slices) shares.Add(slice);
  ConeBeamFindings findings{.unsure_hu = shares.Choose()};
  std::vector<Left> left(grid.nz);
  threads.ParallelFor(grid.nz, [&](int64_t z, int) {
    left[z] = ApplyShares(static_cast<int>(z), seen, shares, model);
  });
  Left all;
  for (const Left& slice : left) {
    all.squares += slice.squares;
    all.most = std::max(all.most, slice.most);
    all.voxels += slice.voxels;
  }
  findings.most_hu = all.most;
  if (all.voxels > 0) findings.rms_hu = std::sqrt(all.squares / static_cast<double>(all.voxels));
  return findings;
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
    const Between slice = PlaceOf(static_cast<int>(z), plan.merge_slices, plan.more_below, grid.nz);
    std::vector<float> row(grid.nx), off(nx);
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
        off[x] = row[place.first] + place.share * (row[place.second] - row[place.first]);
      }
      if (linear) {
        for (int x = 0; x < nx; ++x) out[x] -= off[x];
        continue;
      }
      for (int x = 0; x < nx; ++x) {
        const double attenuation = ops::AttenuationOf(scale, out[x]) - off[x] * to_attenuation;
        out[x] = static_cast<float>(ops::HounsfieldOf(scale, attenuation));
      }
    }
  });
}

}  // namespace isocenter::recon
