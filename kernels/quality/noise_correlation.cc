#include "kernels/quality/noise_correlation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/quality/detrend.h"

namespace isocenter::quality {
namespace {

constexpr int kMostSlices = 8;  // of a block, spread over it: enough voxels for 0.02
constexpr int kStride = 2;      // between voxels of a slice that are looked at
constexpr double kMostTurn = 2, kTurnStep = 0.5;  // degrees
constexpr double kMostMove = 1, kMoveStep = 0.5;  // voxels
constexpr int kSectors = 12;                      // of a ring
constexpr double kRingsToAVoxel = 4;

/// Voxels of a block that are compared, as indices.
struct Voxels {
  int x, y, z, size, slices;

  static absl::StatusOr<Voxels> Of(const VolumeView& volume, const NoiseBlock& block) {
    ISO_ASSIGN_OR_RETURN(const BlockPlace first, PlaceOf(volume.grid, block));
    return Voxels{first.x, first.y, first.z, block.size, block.slices};
  }
  template <class Visit>
  void ForEach(Visit visit) const {
    const int step = std::max(1, slices / kMostSlices);
    for (int k = z; k < z + slices; k += step) {
      for (int j = y; j < y + size; j += kStride) {
        for (int i = x; i < x + size; i += kStride) visit(i, j, k);
      }
    }
  }
};

/// Of a volume's slices a square, each less its trend.
class Square {
 public:
  /// `margin`: voxels beyond the block on all sides, as far as the volume has them.
  Square(const VolumeView& volume, const Voxels& block, int margin) {
    const auto range = [&](int first, int size, int most, int& begin, int& end) {
      begin = std::max(0, first - margin);
      end = std::min(most, first + size + margin);
    };
    range(block.x, block.size, volume.grid.nx, x_, x_end_);
    range(block.y, block.size, volume.grid.ny, y_, y_end_);
    range(block.z, block.slices, volume.grid.nz, z_, z_end_);
    const BlockExtent slice{{x_end_ - x_, y_end_ - y_, 1}};
    for (int k = z_; k < z_end_; ++k) {
      const auto begin = values_.size();
      for (int j = y_; j < y_end_; ++j) {
        for (int i = x_; i < x_end_; ++i) values_.push_back(volume.voxels(k, j, i));
      }
      Detrend(std::span(values_).subspan(begin), slice);
    }
  }

  /// Linear between voxels; nothing outside of it.
  std::optional<double> At(double x, double y, double z) const {
    const double fx = std::floor(x), fy = std::floor(y), fz = std::floor(z);
    const int i = static_cast<int>(fx), j = static_cast<int>(fy), k = static_cast<int>(fz);
    const int di = x > fx, dj = y > fy, dk = z > fz;
    if (i < x_ || j < y_ || k < z_ || i + di >= x_end_ || j + dj >= y_end_ || k + dk >= z_end_) {
      return std::nullopt;
    }
    const double px = x - fx, py = y - fy, pz = z - fz;
    const auto row = [&](int b, int c) {
      return (1 - px) * Value(i, b, c) + px * Value(i + di, b, c);
    };
    const auto plane = [&](int c) { return (1 - py) * row(j, c) + py * row(j + dj, c); };
    return (1 - pz) * plane(k) + pz * plane(k + dk);
  }

 private:
  double Value(int i, int j, int k) const {
    const auto row = static_cast<size_t>(k - z_) * (y_end_ - y_) + (j - y_);
    return values_[row * (x_end_ - x_) + (i - x_)];
  }

  int x_ = 0, x_end_ = 0, y_ = 0, y_end_ = 0, z_ = 0, z_end_ = 0;
  std::vector<double> values_;
};

/// Of values whose mean is 0.
double Deviation(const Square& square, const Voxels& voxels) {
  double count = 0, squares = 0;
  voxels.ForEach([&](int i, int j, int k) {
    const double value = *square.At(i, j, k);
    ++count;
    squares += value * value;
  });
  return std::sqrt(squares / count);
}

absl::Status NoNoise() {
  return absl::InvalidArgumentError("the block's variance is 0 HU²; legal is more than 0");
}

}  // namespace

absl::StatusOr<NoiseCorrelation> LargestCorrelation(const VolumeView& first,
                                                    const VolumeView& second,
                                                    const NoiseBlock& block) {
  ISO_ASSIGN_OR_RETURN(const Voxels voxels, Voxels::Of(first, block));
  const int margin =
      static_cast<int>(std::ceil(kMostMove + 0.75 * block.size * DegreesToRadians(kMostTurn)) + 1);
  const Square of_first(first, voxels, 0), of_second(second, voxels, margin);
  const double middle_x = voxels.x + 0.5 * (voxels.size - 1),
               middle_y = voxels.y + 0.5 * (voxels.size - 1);
  // Of the voxels themselves: what is interpolated has less noise, which would add to what else
  // both show.
  const double scale = Deviation(of_first, voxels) * Deviation(of_second, voxels);
  if (!(scale > 0)) return NoNoise();
  std::optional<NoiseCorrelation> largest;
  const auto try_at = [&](NoiseCorrelation at) {
    const double c = std::cos(DegreesToRadians(at.turn_deg)),
                 s = std::sin(DegreesToRadians(at.turn_deg));
    double sum = 0, count = 0;
    voxels.ForEach([&](int i, int j, int k) {
      const double x = i - middle_x, y = j - middle_y;
      const auto value = of_second.At(middle_x + c * x - s * y + at.move_x,
                                      middle_y + s * x + c * y + at.move_y, k + at.move_z);
      if (!value) return;
      sum += *of_first.At(i, j, k) * *value;
      ++count;
    });
    if (count == 0) return;
    at.value = sum / count / scale;
    if (!largest || at.value > largest->value) largest = at;
  };
  for (double turn = -kMostTurn; turn <= kMostTurn; turn += kTurnStep) {
    for (double x = -kMostMove; x <= kMostMove; x += kMoveStep) {
      for (double y = -kMostMove; y <= kMostMove; y += kMoveStep) {
        for (const double z : {-1.0, 0.0, 1.0}) {
          try_at({.turn_deg = turn, .move_x = x, .move_y = y, .move_z = z});
        }
      }
    }
  }
  return *largest;
}

absl::StatusOr<double> RingShare(const VolumeView& volume, const NoiseBlock& block) {
  ISO_ASSIGN_OR_RETURN(const Voxels voxels, Voxels::Of(volume, block));
  const Square square(volume, voxels, 0);
  const double width = volume.grid.spacing.x / kRingsToAVoxel;
  struct Mean {
    double sum = 0, count = 0;
  };
  std::map<std::pair<int, int64_t>, std::array<Mean, kSectors>> rings;  // by slice and radius
  voxels.ForEach([&](int i, int j, int k) {
    const Vec3 p = volume.grid.VoxelToWorld(i, j, k);
    const double turn = std::atan2(p.y, p.x) / (2 * kPi) + 0.5;
    Mean& mean = rings[{k, std::llround(std::hypot(p.x, p.y) / width)}]
                      [static_cast<int>(turn * kSectors) % kSectors];
    mean.sum += *square.At(i, j, k);
    ++mean.count;
  });
  // Noise of neighbouring sectors is not the same, a ring's value is.
  double shared = 0, weights = 0;
  for (const auto& [place, sectors] : rings) {
    for (int i = 0; i < kSectors; ++i) {
      const Mean &a = sectors[i], &b = sectors[(i + 1) % kSectors];
      if (a.count == 0 || b.count == 0) continue;
      const double weight = a.count + b.count;
      shared += weight * (a.sum / a.count) * (b.sum / b.count);
      weights += weight;
    }
  }
  const double deviation = Deviation(square, voxels);
  if (!(deviation > 0 && weights > 0)) return NoNoise();
  return std::clamp(shared / weights / (deviation * deviation), 0.0, 1.0);
}

}  // namespace isocenter::quality
