#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/cpu/corrections/lane_medians.h"
#include "kernels/cpu/corrections/second_pass_methods.h"
#include "kernels/cpu/device/session.h"

namespace isocenter::cpu {
namespace {

// Slices are worked on a line of z at a time: what follows has a value of each for every point.
constexpr int kWindow = 2 * ops::kRingReach + 1;

/// What a thread works with.
struct Scratch {
  Scratch(const ops::PolarRaster& raster, float* memory)
      : samples(memory),
        high(samples + kWindow * raster.angles * kLanes),
        found(high + raster.angles * kLanes) {}
  static int64_t Floats(const ops::PolarRaster& raster) {
    return ((kWindow + int64_t{1}) * raster.angles +
            int64_t{raster.rings} * ops::kMostRingSectors) *
           kLanes;
  }
  float* samples;  // [ring % kWindow][angle][lane]
  float* high;     // [lane][angle]
  float* found;    // [ring][sector][lane]
};

/// Two neighbours and how far from the first towards the second.
struct Between {
  int64_t first, second;
  float part;
};

Between AlongAxis(double at, int count) {
  const double within = std::clamp(at, 0.0, count - 1.0);
  const auto first = static_cast<int64_t>(within);
  return {first, std::min<int64_t>(first + 1, count - 1),
          static_cast<float>(within - static_cast<double>(first))};
}

class RemoveRings final : public ops::RemoveRings {
 public:
  RemoveRings(const CpuSession& session, const ops::RingSpec& spec)
      : ops::RemoveRings(spec), pool_(session.pool()), budget_(session.budget()) {
    for (int a = 0; a < raster().angles; ++a) {
      const double angle = (a + 0.5) * 2 * kPi / raster().angles;
      toward_i_.push_back(raster().step_mm / spec.grid.spacing.x * std::cos(angle));
      toward_j_.push_back(raster().step_mm / spec.grid.spacing.y * std::sin(angle));
    }
  }

 private:
  absl::Status DoRun(ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const int64_t of_thread = Scratch::Floats(raster());
    ISO_RETURN_IF_ERROR(DeviceMemory::Reserve(budget_, pool_->threads() * of_thread, scratch_));
    const VolumeGrid& grid = target->grid();
    const VolumeLayout layout(grid);
    pool_->ParallelFor(RoundUpToLine(grid.nz) / kLanes, [&](int64_t line, int worker) {
      const Scratch scratch(raster(), scratch_->data() + worker * of_thread);
      float* const slices = target->data() + line * kLanes;
      const int64_t lanes = std::min<int64_t>(kLanes, grid.nz - line * kLanes);
      for (int pass = 0; pass < ops::kRingPasses; ++pass) {
        FindRings(slices, layout, lanes, scratch);
        TakeOff(scratch, layout, slices);
      }
    });
    return absl::OkStatus();
  }

  void FindRings(const float* slices, const VolumeLayout& layout, int64_t lanes,
                 const Scratch& scratch) const {
    const int last = raster().rings - 1;
    for (int k = 0; k < std::min(ops::kRingReach, raster().rings); ++k) {
      SampleRing(slices, layout, k, scratch);
    }
    for (int k = 0; k <= last; ++k) {
      if (k + ops::kRingReach <= last) {
        SampleRing(slices, layout, k + ops::kRingReach, scratch);
      }
      HighPass(k, scratch);
      FindRing(k, lanes, scratch);
    }
  }

  float* Samples(const Scratch& scratch, int ring, int angle) const {
    return scratch.samples + (int64_t{ring % kWindow} * raster().angles + angle) * kLanes;
  }

  void SampleRing(const float* slices, const VolumeLayout& layout, int k,
                  const Scratch& scratch) const {
    const VolumeGrid& grid = spec().grid;
    for (int a = 0; a < raster().angles; ++a) {
      const Between i = AlongAxis(spec().axis_i + k * toward_i_[a], grid.nx);
      const Between j = AlongAxis(spec().axis_j + k * toward_j_[a], grid.ny);
      const float* const near = slices + j.first * layout.row_stride;
      const float* const far = slices + j.second * layout.row_stride;
      const int64_t left = i.first * layout.column_stride, right = i.second * layout.column_stride;
      float* const out = Samples(scratch, k, a);
      for (int64_t l = 0; l < kLanes; ++l) {
        const float before = near[left + l] + i.part * (near[right + l] - near[left + l]);
        const float behind = far[left + l] + i.part * (far[right + l] - far[left + l]);
        out[l] = before + j.part * (behind - before);
      }
    }
  }

  void HighPass(int k, const Scratch& scratch) const {
    const int angles = raster().angles, last = raster().rings - 1;
    for (int a = 0; a < angles; ++a) {
      float rows[kWindow][kLanes];
      for (int n = 0; n < kWindow; ++n) {
        const int ring = k + n - ops::kRingReach;
        const float* const from = Samples(scratch, std::min(std::abs(ring), last),
                                          ring < 0 ? (a + angles / 2) % angles : a);
        std::copy(from, from + kLanes, rows[n]);
      }
      const float* const median = MedianOf(rows);
      const float* const own = Samples(scratch, k, a);
      for (int64_t l = 0; l < kLanes; ++l) scratch.high[l * angles + a] = own[l] - median[l];
    }
  }

  bool Inside(int k, int a) const {
    const double i = spec().axis_i + k * toward_i_[a], j = spec().axis_j + k * toward_j_[a];
    return i >= -0.5 && j >= -0.5 && i <= spec().grid.nx - 0.5 && j <= spec().grid.ny - 0.5;
  }

  // Medians of the sectors' points within the grid.
  void FindRing(int k, int64_t lanes, const Scratch& scratch) const {
    const int sectors = raster().Sectors(k), length = raster().angles / sectors;
    float* const found = scratch.found + int64_t{k} * ops::kMostRingSectors * kLanes;
    std::fill(found, found + ops::kMostRingSectors * kLanes, 0.f);
    for (int s = 0; s < sectors; ++s) {
      std::vector<int> inside;
      for (int a = s * length; a < (s + 1) * length; ++a) {
        if (Inside(k, a)) inside.push_back(a);
      }
      if (inside.empty() || 2 * static_cast<int>(inside.size()) < length) continue;
      for (int64_t l = 0; l < lanes; ++l) {
        // Moved to the front of the sector, where each comes from its place or from behind it.
        float* const high = scratch.high + l * raster().angles;
        float* const begin = high + int64_t{s} * length;
        float* end = begin;
        for (const int a : inside) *end++ = high[a];
        float* const median = begin + (end - begin - 1) / 2;
        std::nth_element(begin, median, end);
        found[s * kLanes + l] = Believed(*median, static_cast<float>(ops::kMostRingHu));
      }
    }
  }

  void TakeOff(const Scratch& scratch, const VolumeLayout& layout, float* slices) const {
    const VolumeGrid& grid = spec().grid;
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) {
        const double x = (i - spec().axis_i) * grid.spacing.x;
        const double y = (j - spec().axis_j) * grid.spacing.y;
        const auto turn = static_cast<float>(std::atan2(y, x) / (2 * kPi));
        const double at = std::sqrt(x * x + y * y) / raster().step_mm;
        const int k = static_cast<int>(at);
        const auto outer = static_cast<float>(at - k);
        float* const voxels = slices + j * layout.row_stride + i * layout.column_stride;
        TakeRingOff(scratch, k, turn, 1 - outer, voxels);
        TakeRingOff(scratch, k + 1, turn, outer, voxels);
      }
    }
  }

  void TakeRingOff(const Scratch& scratch, int k, float turn, float weight, float* voxels) const {
    const int sectors = raster().Sectors(k);
    const float at = turn * static_cast<float>(sectors) - 0.5f, before = std::floor(at);
    const int s = (static_cast<int>(before) + 2 * sectors) % sectors;
    const float* const ring = scratch.found + int64_t{k} * ops::kMostRingSectors * kLanes;
    const float* const left = ring + s * kLanes;
    const float* const right = ring + (s + 1) % sectors * kLanes;
    const float of_right = weight * (at - before), of_left = weight - of_right;
    for (int64_t l = 0; l < kLanes; ++l) voxels[l] -= of_left * left[l] + of_right * right[l];
  }

  const std::shared_ptr<ThreadPool> pool_;
  const std::shared_ptr<ops::MemoryBudget> budget_;
  std::vector<double> toward_i_, toward_j_;  // from ring to ring at each angle, in voxels
  std::optional<DeviceMemory> scratch_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::RemoveRings>> NewRemoveRings(ops::Session& session,
                                                                 const ops::RingSpec& spec) {
  ISO_RETURN_IF_ERROR(ops::CheckRings(spec));
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<RemoveRings>(*own, spec);
}

int64_t RemoveRingsBytes(const ops::Device& device, const ops::Extents&,
                         const ops::RingSpec& spec) {
  return device.limits().threads * Scratch::Floats(ops::RasterOf(spec)) *
         static_cast<int64_t>(sizeof(float));
}

}  // namespace isocenter::cpu
