// Scans of phantoms whose sharpness and noise are known by construction.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/phantom/generator.h"
#include "kernels/phantom/phantom.h"
#include "kernels/quality/placement.h"
#include "kernels/quality/region.h"

namespace isocenter::quality {

struct MadeScan {
  VolumeGrid grid;
  std::vector<float> voxels;
  VolumeView view() const { return {grid, {voxels.data(), grid.shape()}}; }
};

struct ScanRecipe {
  double voxel_mm = 0.9;
  int nx = 190, nz = 160;
  double blur_mm = 0.9;        // standard deviation of a Gaussian along each axis
  double noise = 0;            // HU of white noise, before noise_blur_mm
  double noise_blur_mm = 0.9;  // in the slices
  uint64_t seed = 1;
  Placement placement;             // of the phantom in the world
  Vec3 middle{0.13, -0.21, 0.05};  // of the grid, in the world
};

/// `values` convolved along an axis (0: x, 1: y, 2: z) with a Gaussian of `sigma` voxels.
inline void BlurAxis(std::vector<float>& values, const VolumeGrid& grid, double sigma, int axis) {
  if (sigma <= 0) return;
  const int reach = static_cast<int>(5 * sigma) + 1;
  std::vector<double> kernel(2 * reach + 1);
  double sum = 0;
  for (int i = -reach; i <= reach; ++i) {
    kernel[i + reach] = std::exp(-0.5 * i * i / (sigma * sigma));
    sum += kernel[i + reach];
  }
  const int n = axis == 0 ? grid.nx : axis == 1 ? grid.ny : grid.nz;
  const int64_t stride = axis == 0 ? 1 : axis == 1 ? grid.nx : int64_t{grid.nx} * grid.ny;
  std::vector<double> line(n);
  for (int64_t start = 0; start < grid.voxels(); ++start) {
    if (start / stride % n != 0) continue;
    for (int i = 0; i < n; ++i) line[i] = values[start + i * stride];
    for (int i = 0; i < n; ++i) {
      double at = 0;
      for (int j = -reach; j <= reach; ++j) {
        at += kernel[j + reach] * line[std::clamp(i + j, 0, n - 1)];
      }
      values[start + i * stride] = static_cast<float>(at / sum);
    }
  }
}

/// A phantom that lies where `placement` says.
class PlacedPhantom : public phantom::Phantom {
 public:
  PlacedPhantom(const phantom::Phantom& object, const Placement& placement)
      : object_(object), placement_(placement) {}
  double Attenuation(Vec3 point) const override {
    const Vec3 from = point - placement_.shift;
    const auto& r = placement_.rotation;  // turned back
    return object_.Attenuation({r[0] * from.x + r[3] * from.y + r[6] * from.z,
                                r[1] * from.x + r[4] * from.y + r[7] * from.z,
                                r[2] * from.x + r[5] * from.y + r[8] * from.z});
  }
  double LineIntegral(Vec3, Vec3) const override { return 0; }
  phantom::Box Bounds() const override { return object_.Bounds(); }
  std::unique_ptr<Phantom> Mapped(const std::function<double(double)>&) const override {
    return nullptr;
  }

 private:
  const phantom::Phantom& object_;
  const Placement placement_;
};

/// Its modulation transfer function is that of a voxel and of the blur.
inline MadeScan MakeScan(const std::string& name, double scale_mm, const ScanRecipe& recipe) {
  constexpr double kWater = 0.02;
  const double s = recipe.voxel_mm;
  MadeScan scan{.grid = CenteredGrid(recipe.nx, recipe.nx, recipe.nz, {s, s, s})};
  scan.grid.origin = scan.grid.origin + recipe.middle;
  scan.voxels.resize(scan.grid.voxels());
  const auto object = *phantom::MakePhantom(name, scale_mm, kWater);
  const PlacedPhantom placed(*object, recipe.placement);
  ThreadPool pool(2);
  phantom::Rasterize(placed, scan.grid, kWater, 2, pool, {scan.voxels.data(), scan.grid.shape()});
  for (int axis = 0; axis < 3; ++axis) BlurAxis(scan.voxels, scan.grid, recipe.blur_mm / s, axis);
  return scan;
}

inline void AddNoise(const ScanRecipe& recipe, MadeScan& scan) {
  const double s = recipe.voxel_mm;
  phantom::Generator random(recipe.seed);
  std::vector<float> noise(scan.voxels.size());
  for (float& value : noise) value = static_cast<float>(recipe.noise * random.Normal());
  for (int axis = 0; axis < 2; ++axis) BlurAxis(noise, scan.grid, recipe.noise_blur_mm / s, axis);
  for (size_t i = 0; i < noise.size(); ++i) scan.voxels[i] += noise[i];
}

}  // namespace isocenter::quality
