#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/ops/rings.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

// A value for each ring and angle, or ring and sector.
class Table {
 public:
  Table(int rings, int across) : across_(across), values_(size_t(rings) * across) {}
  double& operator()(int k, int a) { return values_[size_t(k) * across_ + a]; }

 private:
  int across_;
  std::vector<double> values_;
};

class RemoveRingsPlain final : public ops::RemoveRings {
 public:
  explicit RemoveRingsPlain(const ops::RingSpec& spec) : RemoveRings(spec) {}

 private:
  struct Point {
    double i, j;
  };

  absl::Status DoRun(ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    for (int z = 0; z < target->grid().nz; ++z) {
      for (int pass = 0; pass < ops::kRingPasses; ++pass) CorrectSlice(target->view(), z);
    }
    return absl::OkStatus();
  }

  void CorrectSlice(HostView3<double> volume, int z) const {
    Table samples(raster().rings, raster().angles);
    for (int k = 0; k < raster().rings; ++k) {
      for (int a = 0; a < raster().angles; ++a) samples(k, a) = Sample(volume, z, At(k, a));
    }
    Table found(raster().rings, ops::kMostRingSectors);
    for (int k = 0; k < raster().rings; ++k) {
      for (int s = 0; s < raster().Sectors(k); ++s) found(k, s) = Ring(samples, k, s);
    }
    for (int j = 0; j < spec().grid.ny; ++j) {
      for (int i = 0; i < spec().grid.nx; ++i) volume(z, j, i) -= Between(found, i, j);
    }
  }

  Point At(int k, int a) const {
    const double angle = 2 * kPi * (a + 0.5) / raster().angles, radius = k * raster().step_mm;
    return {spec().axis_i + radius * std::cos(angle) / spec().grid.spacing.x,
            spec().axis_j + radius * std::sin(angle) / spec().grid.spacing.y};
  }

  bool Inside(Point at) const {
    return at.i >= -0.5 && at.j >= -0.5 && at.i <= spec().grid.nx - 0.5 &&
           at.j <= spec().grid.ny - 0.5;
  }

  double Sample(HostView3<double> volume, int z, Point at) const {
    const VolumeGrid& grid = spec().grid;
    const double i = std::clamp(at.i, 0.0, grid.nx - 1.0);
    const double j = std::clamp(at.j, 0.0, grid.ny - 1.0);
    const int i0 = static_cast<int>(i), j0 = static_cast<int>(j);
    const int i1 = std::min(i0 + 1, grid.nx - 1), j1 = std::min(j0 + 1, grid.ny - 1);
    const double di = i - i0, dj = j - j0;
    return (1 - dj) * ((1 - di) * volume(z, j0, i0) + di * volume(z, j0, i1)) +
           dj * ((1 - di) * volume(z, j1, i0) + di * volume(z, j1, i1));
  }

  double HighPass(Table& samples, int k, int a) const {
    std::vector<double> along;
    for (int n = k - ops::kRingReach; n <= k + ops::kRingReach; ++n) {
      const int ring = std::min(std::abs(n), raster().rings - 1);
      along.push_back(samples(ring, n < 0 ? (a + raster().angles / 2) % raster().angles : a));
    }
    std::sort(along.begin(), along.end());
    return samples(k, a) - along[ops::kRingReach];
  }

  double Ring(Table& samples, int k, int s) const {
    const int length = raster().angles / raster().Sectors(k);
    std::vector<double> high;
    for (int a = s * length; a < (s + 1) * length; ++a) {
      if (Inside(At(k, a))) high.push_back(HighPass(samples, k, a));
    }
    if (high.empty() || 2 * static_cast<int>(high.size()) < length) return 0;
    std::sort(high.begin(), high.end());
    const double ring = high[(high.size() - 1) / 2];
    const double most = 2 * ops::kMostRingHu - std::abs(ring);
    return std::copysign(std::max(0.0, std::min(std::abs(ring), most)), ring);
  }

  double Between(Table& found, int i, int j) const {
    const double x = (i - spec().axis_i) * spec().grid.spacing.x;
    const double y = (j - spec().axis_j) * spec().grid.spacing.y;
    const double turn = std::atan2(y, x) / (2 * kPi), at = std::hypot(x, y) / raster().step_mm;
    const int k = static_cast<int>(at);
    return (1 - (at - k)) * AlongRing(found, k, turn) + (at - k) * AlongRing(found, k + 1, turn);
  }

  double AlongRing(Table& found, int k, double turn) const {
    const int sectors = raster().Sectors(k);
    const double at = turn * sectors - 0.5, before = std::floor(at);
    const int s = (static_cast<int>(before) + 2 * sectors) % sectors;
    return (1 - (at - before)) * found(k, s) + (at - before) * found(k, (s + 1) % sectors);
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::RemoveRings>> NewRemoveRings(const ops::RingSpec& spec) {
  ISO_RETURN_IF_ERROR(ops::CheckRings(spec));
  return std::make_unique<RemoveRingsPlain>(spec);
}

}  // namespace isocenter::reference
