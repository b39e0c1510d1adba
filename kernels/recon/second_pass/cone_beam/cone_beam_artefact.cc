#include "kernels/recon/second_pass/cone_beam/cone_beam_artefact.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "kernels/ops/second_pass.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_shares.h"

namespace isocenter::recon {
namespace {

constexpr int kReach = ops::kConeBeamReach;
constexpr int kTaps = 2 * kReach + 1;

std::array<float, kTaps> Taps() {
  std::array<float, kTaps> taps{};
  float sum = 0;
  for (int i = -kReach; i <= kReach; ++i) {
    taps[i + kReach] =
        static_cast<float>(std::exp(-0.5 * i * i / (ops::kConeBeamSigma * ops::kConeBeamSigma)));
    sum += taps[i + kReach];
  }
  for (float& tap : taps) tap /= sum;
  return taps;
}

/// Rows side by side, of which a Gaussian's middle is on the middle one.
using Neighbours = std::array<const float*, kTaps>;

void WeightedMean(const Neighbours& rows, size_t nx, float* __restrict out) {
  static const auto kept = Taps();
  const auto taps = kept;
  const Neighbours in = rows;
  for (size_t x = 0; x < nx; ++x) {
    float sum = 0;
    for (int i = 0; i < kTaps; ++i) sum += taps[i] * in[i][x];
    out[x] = sum;
  }
}

/// Smooths slices in place, along rows, then columns; nothing beyond the borders.
class SliceSmoother {
 public:
  explicit SliceSmoother(int nx) : nx_(nx), padded_(nx + 2 * kReach), rows_((kTaps + 1) * nx_) {}

  void Smooth(std::span<float> slice) {
    const int ny = static_cast<int>(slice.size() / nx_);
    for (int y = 0; y < ny + kReach; ++y) {
      if (y < ny) SmoothRow(&slice[y * nx_], Row(y));
      const int middle = y - kReach;
      if (middle < 0) continue;
      Neighbours rows;
      for (int i = 0; i < kTaps; ++i) {
        const int beside = middle + i - kReach;
        rows[i] = beside < 0 || beside >= ny ? Nothing() : Row(beside);
      }
      WeightedMean(rows, nx_, &slice[middle * nx_]);
    }
  }

 private:
  void SmoothRow(const float* in, float* out) {
    std::copy_n(in, nx_, &padded_[kReach]);
    Neighbours shifted;
    for (int i = 0; i < kTaps; ++i) shifted[i] = &padded_[i];
    WeightedMean(shifted, nx_, out);
  }
  /// Of row y as long as there are no later ones than y + 2 * kReach.
  float* Row(int y) { return &rows_[(y % kTaps) * nx_]; }
  const float* Nothing() const { return &rows_[kTaps * nx_]; }

  const size_t nx_;
  std::vector<float> padded_;  // a row with nothing on both sides
  std::vector<float> rows_;    // those that have been smoothed along themselves; one of nothing
};

// 1 for voxels of a slice around which 3 x 3 x 3 voxels are alike, else 0.
void WeighSlice(HostView3<const float> model, int z, float most, std::span<float> weights) {
  const Shape3 shape = model.shape();
  const int nz = int(shape.slow), ny = int(shape.middle), nx = int(shape.fast);
  // With one more on both sides, which is neither lowest nor highest.
  std::vector<float> lowest(nx + 2, std::numeric_limits<float>::max());
  std::vector<float> highest(nx + 2, std::numeric_limits<float>::lowest());
  float* const low = &lowest[1];
  float* const high = &highest[1];
  for (int y = 0; y < ny; ++y) {
    std::fill_n(low, nx, std::numeric_limits<float>::max());
    std::fill_n(high, nx, std::numeric_limits<float>::lowest());
    for (int k = std::max(0, z - 1); k <= std::min(nz - 1, z + 1); ++k) {
      for (int j = std::max(0, y - 1); j <= std::min(ny - 1, y + 1); ++j) {
        const float* const row = &model(k, j, 0);
        for (int x = 0; x < nx; ++x) {
          low[x] = std::min(low[x], row[x]);
          high[x] = std::max(high[x], row[x]);
        }
      }
    }
    float* const out = &weights[size_t(y) * nx];
    for (int x = 0; x < nx; ++x) {
      const float least = std::min(std::min(low[x - 1], low[x]), low[x + 1]);
      const float greatest = std::max(std::max(high[x - 1], high[x]), high[x + 1]);
      out[x] = greatest - least <= most ? 1.F : 0.F;
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
  const auto edge = static_cast<float>(ops::kConeBeamEdgeHu / 1000 * water);
  threads.ParallelFor(grid.nz, [&](int64_t z, int) {
    const std::span<float> weights(&scratch(z, 0, 0), pixels);
    const std::span<float> weighted(&reconstructed(z, 0, 0), pixels);
    const float* const object = &model(z, 0, 0);
    WeighSlice(model, static_cast<int>(z), edge, weights);
    for (size_t i = 0; i < pixels; ++i) {
      if (z < seen.first[i] || z > seen.last[i]) weights[i] = 0;
      weighted[i] = weights[i] * (weighted[i] - (object[i] * to_hu - 1000));
    }
    SliceSmoother smoother(grid.nx);
    smoother.Smooth(weights);
    smoother.Smooth(weighted);
  });
}

// Of slice z: the weighted mean of the difference.
void SmoothAcrossSlices(int z, HostView3<const float> weighted, HostView3<const float> weights,
                        HostView3<float> found, ConeBeamShares& shares) {
  const Shape3 shape = weighted.shape();
  const auto nx = static_cast<size_t>(shape.fast);
  const std::vector<float> nothing(nx);
  const auto around = [&](HostView3<const float> volume, int y) {
    Neighbours rows;
    for (int i = 0; i < kTaps; ++i) {
      const int beside = z + i - kReach;
      rows[i] = beside < 0 || beside >= shape.slow ? nothing.data() : &volume(beside, y, 0);
    }
    return rows;
  };
  constexpr auto kLeastWeight = static_cast<float>(ops::kConeBeamLeastWeight);
  std::vector<float> weight(nx), sum(nx);
  for (int y = 0; y < shape.middle; ++y) {
    WeightedMean(around(weights, y), nx, weight.data());
    WeightedMean(around(weighted, y), nx, sum.data());
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

// `merge` values for each of a row, whose ends go on on both sides: padded[1] is its first.
void Refine(std::span<const float> padded, int merge, float* out) {
  const size_t count = padded.size() - 2;
  for (int i = 0; i < merge; ++i) {
    const double at = (i + 0.5) / merge + 0.5;  // from the one before
    const auto first = static_cast<size_t>(at);
    const auto share = static_cast<float>(at - static_cast<double>(first));
    const float* const below = &padded[first];
    for (size_t x = 0; x < count; ++x) {
      out[x * merge + i] = below[x] + share * (below[x + 1] - below[x]);
    }
  }
}

}  // namespace

ConeBeamFindings FindArtefact(const ConeBeamPlan& plan, const SeenSlices& seen, ThreadPool& threads,
                              HostView3<float> model, HostView3<float> reconstructed,
                              HostView3<float> scratch) {
  const VolumeGrid& grid = plan.model.grid;
  WeighDifference(plan, seen, model, threads, reconstructed, scratch);
  std::vector<ConeBeamShares> of_slices(grid.nz, ConeBeamShares::Of(plan));
  threads.ParallelFor(grid.nz, [&](int64_t z, int) {
    SmoothAcrossSlices(static_cast<int>(z), reconstructed, scratch, model, of_slices[z]);
  });
  // Slice after slice: the same sum with any number of threads.
  ConeBeamShares shares = ConeBeamShares::Of(plan);
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
  const bool linear = scale.table.points.empty();
  const double to_attenuation = scale.mu_water_per_mm / 1000;
  threads.ParallelFor(shape.slow, [&](int64_t z, int) {
    const Between slice = PlaceOf(static_cast<int>(z), plan.merge_slices, plan.more_below, grid.nz);
    std::vector<float> padded(grid.nx + 2), off(size_t(grid.nx) * plan.merge);
    float* const row = &padded[1];
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
      padded.front() = row[0];
      padded.back() = row[grid.nx - 1];
      Refine(padded, plan.merge, off.data());
      float* const out = &volume(z, y, 0);
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
