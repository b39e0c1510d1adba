#include "kernels/quality/noise_power.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/quality/detrend.h"

namespace isocenter::quality {
namespace {

absl::Status CheckRange(const char* what, int value, int least, int most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("the block's %s is %d voxels; legal is %d to %d", what, value, least, most));
}

// The block's values, x fastest.
absl::StatusOr<std::vector<double>> Values(const VolumeView& volume, const NoiseBlock& block,
                                           const VolumeView* again) {
  ISO_ASSIGN_OR_RETURN(const BlockPlace first, PlaceOf(volume.grid, block));
  const auto [x, y, z] = first;
  std::vector<double> values;
  for (int k = 0; k < block.slices; ++k) {
    for (int j = 0; j < block.size; ++j) {
      for (int i = 0; i < block.size; ++i) {
        double value = volume.voxels(z + k, y + j, x + i);
        if (again != nullptr) value = (value - again->voxels(z + k, y + j, x + i)) / std::sqrt(2.0);
        if (!std::isfinite(value)) {
          return absl::InvalidArgumentError(absl::StrFormat(
              "voxel (%d, %d, %d) is %g; legal are finite values", x + i, y + j, z + k, value));
        }
        values.push_back(value);
      }
    }
  }
  return values;
}

using Complex = std::complex<double>;

// The transform along one axis by its definition: blocks are small, and of any size.
void TransformAxis(std::vector<Complex>& values, const BlockExtent& e, int axis) {
  const int n = e.n[axis];
  if (n == 1) return;
  std::vector<Complex> roots(n), line(n);
  for (int i = 0; i < n; ++i) roots[i] = std::polar(1.0, -2 * kPi * i / n);
  const int stride = axis == 0 ? 1 : axis == 1 ? e.n[0] : e.n[0] * e.n[1];
  for (int start = 0; start < e.count(); ++start) {
    if (start / stride % n != 0) continue;
    for (int i = 0; i < n; ++i) line[i] = values[start + i * stride];
    for (int f = 0; f < n; ++f) {
      double re = 0, im = 0;
      for (int i = 0, turn = 0; i < n; ++i) {
        re += line[i].real() * roots[turn].real() - line[i].imag() * roots[turn].imag();
        im += line[i].real() * roots[turn].imag() + line[i].imag() * roots[turn].real();
        turn += f;
        if (turn >= n) turn -= n;
      }
      values[start + f * stride] = {re, im};
    }
  }
}

// Adds a part's spectrum to `power`; returns the part's variance, its degrees of freedom put back.
double AddSpectrum(std::span<double> values, const BlockExtent& e, double voxel,
                   std::vector<double>& power) {
  const int terms = Detrend(values, e);
  const double kept = static_cast<double>(e.count()) / (e.count() - terms);
  double squares = 0;
  std::vector<Complex> spectrum;
  for (double value : values) {
    squares += value * value;
    spectrum.emplace_back(value);
  }
  for (int axis = 0; axis < 3; ++axis) TransformAxis(spectrum, e, axis);
  for (size_t i = 0; i < spectrum.size(); ++i)
    power[i] += std::norm(spectrum[i]) * voxel / e.count() * kept;
  return squares / e.count() * kept;
}

void AddRadial(NoisePower& result) {
  const double width = result.bin_x;
  const int rings = result.nx / 2;
  std::vector<double> sums(rings + 1), counts(rings + 1), places(rings + 1);
  const auto signed_bin = [](int i, int n) { return 2 * i > n ? i - n : i; };
  size_t index = 0;
  for (int k = 0; k < result.nz; ++k) {
    for (int j = 0; j < result.ny; ++j) {
      for (int i = 0; i < result.nx; ++i, ++index) {
        const double f = std::hypot(signed_bin(i, result.nx) * result.bin_x,
                                    signed_bin(j, result.ny) * result.bin_y,
                                    signed_bin(k, result.nz) * result.bin_z);
        const auto ring = std::llround(f / width);
        if (ring < 1 || ring > rings) continue;
        sums[ring] += result.power[index];
        places[ring] += f;
        ++counts[ring];
      }
    }
  }
  double weight = 0, moment = 0, largest = 0;
  for (int ring = 1; ring <= rings; ++ring) {
    if (counts[ring] == 0) continue;
    const double f = places[ring] / counts[ring], value = sums[ring] / counts[ring];
    result.radial.frequencies.push_back(f);
    result.radial.values.push_back(value);
    weight += value;
    moment += value * f;
    if (value > largest) {
      largest = value;
      result.peak = f;
    }
  }
  result.mean_frequency = moment / weight;
}

}  // namespace

absl::StatusOr<BlockPlace> PlaceOf(const VolumeGrid& grid, const NoiseBlock& block) {
  const Vec3 at = grid.WorldToVoxel(block.center);
  const int x = static_cast<int>(std::llround(at.x - 0.5 * (block.size - 1)));
  const int y = static_cast<int>(std::llround(at.y - 0.5 * (block.size - 1)));
  const int z = static_cast<int>(std::llround(at.z - 0.5 * (block.slices - 1)));
  if (x >= 0 && y >= 0 && z >= 0 && x + block.size <= grid.nx && y + block.size <= grid.ny &&
      z + block.slices <= grid.nz) {
    return BlockPlace{x, y, z};
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("the block of %d x %d x %d voxels begins at (%d, %d, %d); legal is a block "
                      "inside the volume of %d x %d x %d",
                      block.size, block.size, block.slices, x, y, z, grid.nx, grid.ny, grid.nz));
}

absl::StatusOr<NoisePower> MeasureNoisePower(const VolumeView& volume, const NoiseBlock& block,
                                             const VolumeView* again) {
  ISO_RETURN_IF_ERROR(ValidateGrid(volume.grid));
  ISO_RETURN_IF_ERROR(CheckRange("size", block.size, 16, 256));
  ISO_RETURN_IF_ERROR(CheckRange("height", block.slices, block.three_dimensional ? 3 : 1, 256));
  if (again != nullptr && !(again->grid == volume.grid)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the second scan has %d x %d x %d voxels or another place; legal is the grid of "
        "the first, %d x %d x %d",
        again->grid.nx, again->grid.ny, again->grid.nz, volume.grid.nx, volume.grid.ny,
        volume.grid.nz));
  }
  for (const VolumeView* view : {&volume, again}) {
    if (view == nullptr || view->voxels.shape() == view->grid.shape()) continue;
    return absl::InvalidArgumentError(absl::StrFormat("the volume has %d voxels; its grid has %d",
                                                      view->voxels.shape().count(),
                                                      view->grid.voxels()));
  }
  ISO_ASSIGN_OR_RETURN(std::vector<double> values, Values(volume, block, again));
  const Vec3 spacing = volume.grid.spacing;
  const BlockExtent part{{block.size, block.size, block.three_dimensional ? block.slices : 1}};
  const int parts = block.three_dimensional ? 1 : block.slices;
  NoisePower result{.nx = part.n[0],
                    .ny = part.n[1],
                    .nz = part.n[2],
                    .bin_x = 1 / (block.size * spacing.x),
                    .bin_y = 1 / (block.size * spacing.y),
                    .bin_z = 1 / (part.n[2] * spacing.z)};
  result.power.resize(part.count());
  const double voxel = spacing.x * spacing.y * (block.three_dimensional ? spacing.z : 1);
  for (int i = 0; i < parts; ++i) {
    const auto one = std::span(values).subspan(static_cast<size_t>(i) * part.count(), part.count());
    result.variance += AddSpectrum(one, part, voxel, result.power) / parts;
  }
  const double bin = result.bin_x * result.bin_y * (block.three_dimensional ? result.bin_z : 1);
  for (double& power : result.power) {
    power /= parts;
    result.integral += power * bin;
  }
  if (!(result.variance > 0))
    return absl::InvalidArgumentError("the block's variance is 0 HU²; legal is more than 0");
  AddRadial(result);
  return result;
}

}  // namespace isocenter::quality
