// What it brings that rows which the detector cuts fall to zero linearly (Mendl et al., 3.2).
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/fan_beam.h"
#include "tests/all_methods.h"
#include "tests/bench/fanbeam/bench.h"
#include "tests/bench/fanbeam/figures.h"
#include "tests/bench/fanbeam/scan.h"

namespace isocenter::bench {
namespace {

// All channels, and the middle ones, which see a radius of 84 of the slice's 100 mm. Behind the
// last of few channels rows may not fall over as many: the fan must reach about as far on both
// sides.
constexpr struct {
  int channels;
  recon::FanBeamDecrease decrease;
} kRows[] = {{736, {0, 0}},  {736, {0, 64}},  {240, {0, 0}},
             {240, {0, 20}}, {240, {20, 20}}, {240, {64, 64}}};

FanBeamGeometry Narrowed(FanBeamGeometry geometry, int channels) {
  geometry.central_channel -= (geometry.channels - channels) / 2;
  geometry.channels = channels;
  return geometry;
}

// Mean of a ring around the axis, as a fraction of water.
double MeanOf(const std::vector<float>& image, const VolumeGrid& grid, double inner, double outer) {
  double sum = 0, count = 0;
  for (int j = 0; j < grid.ny; ++j) {
    for (int i = 0; i < grid.nx; ++i) {
      const Vec3 at = grid.VoxelToWorld(i, j, 0);
      const double radius = std::hypot(at.x, at.y);
      if (radius < inner || radius > outer) continue;
      sum += 1 + image[static_cast<size_t>(j) * grid.nx + i] / 1000.0;
      ++count;
    }
  }
  return sum / count;
}

}  // namespace

absl::Status RunFanBeamDecrease(const FanBeamOptions& options) {
  ThreadPool pool(UsableCores());
  const VolumeGrid grid = PaperGrid(options.size);
  ISO_ASSIGN_OR_RETURN(const auto device, AllMethods().OpenDevice("cpu", {.threads = 0}));
  FigureTable table(
      {"channels", "falls before, after", "kernel", "middle (r < 15 mm)", "ring 78 to 82 mm"});
  for (const auto& [channels, decrease] : kRows) {
    const FanBeamGeometry geometry = Narrowed(PaperGeometry(options.views, 1), channels);
    const std::vector<float> lines = CleanScan(geometry, pool);
    for (const auto form : {ops::FanBeamKernelForm::kExact, ops::FanBeamKernelForm::kSampledRamp}) {
      std::vector<float> image(static_cast<size_t>(grid.voxels()));
      ISO_RETURN_IF_ERROR(recon::ReconstructFanBeam(
          geometry, grid, {.decrease = decrease, .form = form, .mu_water_per_mm = kFanBeamWater},
          AllMethods(), *device,
          [&](int64_t, HostView3<float> into) {
            std::copy(lines.begin(), lines.end(), into.data());
            return absl::OkStatus();
          },
          {image.data(), grid.shape()}));
      table.Add({absl::StrCat(channels), absl::StrCat(decrease.before, ", ", decrease.after),
                 form == ops::FanBeamKernelForm::kExact ? "exact" : "sampled ramp",
                 absl::StrFormat("%.4f", MeanOf(image, grid, 0, 15)),
                 absl::StrFormat("%.4f", MeanOf(image, grid, 78, 82))});
    }
  }
  table.Print("Rows that fall to zero beside the detector (3.2); water is 1 in both places");
  return table.Write(options.out, "decrease");
}

}  // namespace isocenter::bench
