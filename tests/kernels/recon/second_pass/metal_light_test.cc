// What light through metal says of its shadow: line integrals without frames.
#include "kernels/recon/second_pass/metal_light.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/recon/second_pass/plan.h"
#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

TEST(MarkMetal, IsOneWhereMetalIs) {
  const std::vector<float> metal = {0, 3000, 0, 9000};
  std::vector<float> marked(4, 7);
  MarkMetal({metal.data(), {1, 2, 2}}, {marked.data(), {1, 2, 2}});
  EXPECT_EQ(marked, std::vector<float>({0, 1, 0, 1}));
}

TEST(KeepMetal, KeepsMetalAndItsFaces) {
  const VolumeGrid grid = CenteredGrid(4, 3, 2, {1, 1, 1});
  std::vector<float> metal(grid.voxels()), volume(grid.voxels(), 1000);
  metal[1 * 4 + 0] = 5000;  // first slice, second row, first column
  KeepMetal(grid, {.mu_water_per_mm = 0.02}, {metal.data(), grid.shape()},
            {volume.data(), grid.shape()});
  const std::vector<float> expected = {0.04f, 0, 0, 0, 0.04f, 0.04f, 0, 0, 0.04f, 0, 0, 0,
                                       0,     0, 0, 0, 0.04f, 0,     0, 0, 0,     0, 0, 0};
  for (int64_t i = 0; i < grid.voxels(); ++i) EXPECT_NEAR(volume[i], expected[i], 1e-7) << i;
}

/// Lines of a scan whose rays pass metal in a few columns.
struct Rays {
  SmallScan scan = MakeSmallScan();
  std::unique_ptr<ops::Device> device = OpenDevice("cpu");
  SecondPassPlan plan;
  std::unique_ptr<MetalLight> light;
  std::vector<float> without, paths, measured;

  // `attenuation`: of metal for a thin path, 1/mm. It hardens the beam, more behind more tissue.
  explicit Rays(double attenuation) {
    const ops::Device* const devices[] = {device.get()};
    plan = *MakeSecondPassPlan(scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater},
                               {.metal = MetalSettings()}, TestRegistry(), devices);
    light = *MetalLight::Create(plan, *device);
    const Shape3 shape = scan.frame_shape();
    for (int64_t i = 0; i < shape.count(); ++i) {
      const int64_t u = i % shape.fast, v = i / shape.fast % shape.middle;
      const bool metal = u >= 10 && u < 16;
      const double q = 0.5 + 0.1 * double(v % 5),
                   path = metal ? double(u - 9) + 0.1 * double(v) : 0;
      without.push_back(static_cast<float>(q));
      paths.push_back(static_cast<float>(path));
      const double straight = attenuation * path;
      measured.push_back(
          static_cast<float>(q + straight - 0.02 * straight * straight - 0.01 * straight * q));
    }
    light->Keep(0, {measured.data(), shape});
  }
  HostView3<const float> View(const std::vector<float>& lines) const {
    return {lines.data(), scan.frame_shape()};
  }
  bool Asked() {
    light->Ask(0, scan.acquisition.trajectory, View(without), View(paths));
    return light->Fit();
  }
  HostView3<float> Lines() { return light->Lines(0, static_cast<int>(scan.frame_shape().slow)); }
};

TEST(MetalLight, MakesMetalOfOneEnergyOfHardenedMetal) {
  Rays rays(0.3);
  ASSERT_TRUE(rays.Asked());
  rays.light->MakeMetal(0, rays.View(rays.without), rays.View(rays.paths));
  const std::span<const float> lines = rays.Lines().span();
  const auto thick = std::ranges::max_element(rays.paths) - rays.paths.begin();
  const double per_mm = lines[thick] / rays.paths[thick];
  EXPECT_NEAR(per_mm, 0.29, 0.015);
  for (size_t i = 0; i < lines.size(); ++i) {
    ASSERT_NEAR(lines[i], per_mm * rays.paths[i], 0.002) << i;
  }
}

TEST(MetalLight, AddsWhatMetalDoesNotExplainWhereLightCameThrough) {
  Rays rays(0.3);
  ASSERT_TRUE(rays.Asked());
  const Shape3 shape = rays.scan.frame_shape();
  // Bone in the shadow, which is no reason to think otherwise of the metal; a ray without light;
  // and one beside the metal, which was not interpolated.
  const int64_t bone = 10 * shape.fast + 12, dark = 11 * shape.fast + 12, beside = 10 * shape.fast;
  rays.measured[bone] += 0.2f;
  rays.measured[dark] = 9;
  rays.light->Keep(0, rays.View(rays.measured));
  rays.light->MakeMetal(0, rays.View(rays.without), rays.View(rays.paths));
  std::vector<float> explained(rays.Lines().span().begin(), rays.Lines().span().end());
  EXPECT_NEAR(explained[dark] / rays.paths[dark], explained[dark + 1] / rays.paths[dark + 1],
              0.005);
  explained[bone] -= 0.2f;
  explained[dark] -= 0.2f;
  explained[beside] = 0.1f;
  rays.light->AddRest(0, rays.View(rays.without), rays.View(explained));
  const std::span<const float> lines = rays.Lines().span();
  for (int64_t i = 0; i < shape.count(); ++i) {
    ASSERT_NEAR(lines[i], rays.without[i] + (i == bone ? 0.2 : 0), 1e-5) << i;
  }
}

TEST(MetalLight, IsNotAskedOfMetalThatIsDark) {
  EXPECT_TRUE(Rays(1).Asked());
  EXPECT_FALSE(Rays(5).Asked());
}

}  // namespace
}  // namespace isocenter::recon
