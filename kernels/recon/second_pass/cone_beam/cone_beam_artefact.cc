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

// Of row y of all slices: the weighted mean of the difference in place of `weighted`.
void SmoothAcrossSlices(int y, HostView3<float> weighted, HostView3<const float> weights,
                        ConeBeamShares& shares) {
  const auto taps = Taps();
  const Shape3 shape = weighted.shape();
  const auto nx = static_cast<size_t>(shape.fast);
  const int nz = static_cast<int>(shape.slow);
  // They are overwritten while they are read.
  std::vector<float> before(nx * nz), sum(nx), sums(nx);
  for (int z = 0; z < nz; ++z) std::copy_n(&weighted(z, y, 0), nx, &before[z * nx]);
  for (int z = 0; z < nz; ++z) {
    std::fill(sum.begin(), sum.end(), 0.F);
    std::fill(sums.begin(), sums.end(), 0.F);
    for (int i = std::max(-kReach, -z); i <= std::min(kReach, nz - 1 - z); ++i) {
      const float tap = taps[i + kReach];
      const float* const weight = &weights(z + i, y, 0);
      for (size_t x = 0; x < nx; ++x) {
        sum[x] += tap * weight[x];
        sums[x] += tap * before[(z + i) * nx + x];
      }
    }
    float* const out = &weighted(z, y, 0);
    for (size_t x = 0; x < nx; ++x) {
      out[x] = sums[x] / std::max(sum[x], kLeastWeight);
      shares.Count(static_cast<int>(x), y, z, sum[x], out[x]);
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

}  // namespace

ConeBeamFindings FindArtefact(const ConeBeamPlan& plan, const SeenSlices& seen,
                              HostView3<const float> model, ThreadPool& threads,
                              HostView3<float> reconstructed, HostView3<float> scratch) {
  const VolumeGrid& grid = plan.model.grid;
  const Vec3 axis = OrbitAxis(plan.model.acquisition.trajectory).value_or(Vec3{0, 0, 1});
  WeighDifference(plan, seen, model, threads, reconstructed, scratch);
  std::vector<ConeBeamShares> rows(grid.ny, ConeBeamShares(plan, axis));
  threads.ParallelFor(grid.ny, [&](int64_t y, int) {
    SmoothAcrossSlices(static_cast<int>(y), reconstructed, scratch, rows[y]);
  });
  // Row after row: the same sum with any number of threads.
  ConeBeamShares shares(plan, axis);
  for (const ConeBeamShares& row : rows) shares.Add(row);
  ConeBeamFindings findings{.unsure_hu = shares.Choose()};
  std::vector<double> squares(grid.ny), most(grid.ny), counted(grid.ny);
  threads.ParallelFor(grid.ny, [&](int64_t y, int) {
    for (int z = 0; z < grid.nz; ++z) {
      float* const row = &reconstructed(z, y, 0);
      for (int x = 0; x < grid.nx; ++x) {
        row[x] *= shares.At(x, static_cast<int>(y), z);
        const size_t column = size_t(y) * grid.nx + x;
        if (z < seen.first[column] || z > seen.last[column]) continue;
        squares[y] += double{row[x]} * row[x];
        most[y] = std::max(most[y], std::abs(double{row[x]}));
        counted[y] += 1;
      }
    }
  });
  double square = 0, count = 0;
  for (int y = 0; y < grid.ny; ++y) {
    square += squares[y];
    count += counted[y];
  }
  findings.rms_hu = count > 0 ? std::sqrt(square / count) : 0;
  findings.most_hu = *std::max_element(most.begin(), most.end());
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
