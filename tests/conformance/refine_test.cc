// Refinements by every backend in every way of keeping vectors that its memory may force, against
// the refinement that has all memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/plan_text.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/geometries.h"

namespace isocenter::conformance {
namespace {

using recon::Algorithm;
using recon::RefinementPlan;

constexpr Shape3 kFrames{60, 64, 72};
// Of 80 slices, which devices that like runs of 16 cut into up to five.
const VolumeGrid kGrid = CenteredGrid(40, 36, 80, {1.5, 1.5, 1});

struct Scan {
  recon::Acquisition acquisition{
      .detector = {.columns = 72, .rows = 64, .pitch_u_mm = 2, .pitch_v_mm = 2},
      .pixel_type = recon::PixelType::kFloat32LineIntegrals};
  // Line integrals of something like a patient: all positive, with noise.
  Array lines = Noise(kFrames, 71);

  Scan() {
    acquisition.trajectory = CArmMatrices(static_cast<int>(kFrames.slow), kFrames, 0.8, 1, 0.02);
    for (float& value : lines.values) value = 1 + 0.2f * value;
  }
  ops::RawFrames frames() const { return {.line_integrals = lines.view()}; }
};

recon::IterativeSettings SettingsFor(Algorithm algorithm, ops::Precision precision) {
  recon::IterativeSettings settings{
      .algorithm = algorithm, .iterations = 2, .subsets = 4, .warm_start = false};
  settings.precision = precision;
  settings.matched = algorithm != Algorithm::kOsSart;
  if (algorithm == Algorithm::kOsSart) settings.momentum = 0.5;
  if (algorithm != Algorithm::kOsSart) settings.prior_strength = 0.1;
  settings.statistical_weights = algorithm == Algorithm::kOsSqs;
  settings.tv_steps = 2;
  return settings;
}

using Case = std::tuple<std::string, Algorithm>;

class RefineTest : public testing::TestWithParam<Case> {
 protected:
  static const std::string& backend() { return std::get<0>(GetParam()); }

  absl::StatusOr<RefinementPlan> PlanOn(ops::Device* device,
                                        const recon::IterativeSettings& settings) const {
    return recon::MakeRefinementPlan(scan_.acquisition, kGrid, {}, settings, AllMethods(),
                                     {&device, 1});
  }
  Array Run(const RefinementPlan& plan, ops::Device* device) const {
    Array volume(kGrid.shape());
    const auto reports =
        recon::RefineAll(plan, AllMethods(), {&device, 1}, scan_.frames(), volume.view());
    EXPECT_TRUE(reports.ok()) << reports.status();
    return volume;
  }

  void ExpectAgreement(ops::Precision precision, double tolerance) const {
    const recon::IterativeSettings settings = SettingsFor(std::get<1>(GetParam()), precision);
    const auto ample = OpenDevice(backend());
    const auto whole = PlanOn(ample.get(), settings);
    ASSERT_TRUE(whole.ok()) << whole.status();
    const Array expected = Run(*whole, ample.get());
    std::set<std::string> ways;
    for (int64_t limit = whole->peak_bytes - 1; limit > 0; limit = limit * 29 / 30) {
      const auto device = AllMethods().OpenDevice(backend(), {.memory_bytes = limit, .threads = 2});
      ASSERT_TRUE(device.ok()) << device.status();
      const auto plan = PlanOn(device->get(), settings);
      if (!plan.ok()) {
        EXPECT_TRUE(absl::IsResourceExhausted(plan.status())) << plan.status();
        break;
      }
      EXPECT_LE(plan->peak_bytes, limit);
      const std::string way =
          absl::StrCat(plan->kept_column_sums, plan->projections_in_host, plan->pieces_in_host, " ",
                       plan->pieces.size(), " pieces, ", plan->chunk_views, " views");
      if (!ways.insert(way).second) continue;
      SCOPED_TRACE(recon::PlanText(*plan));
      const Array volume = Run(*plan, device->get());
      // Where things wait makes no difference; sums in another order are rounded in another way.
      if (plan->pieces.size() == whole->pieces.size() && plan->chunk_views == whole->chunk_views) {
        EXPECT_EQ(volume.values, expected.values);
      }
      EXPECT_LT(Compare(volume, expected).rms, tolerance);
    }
    if (ample->traits().own_memory) {
      EXPECT_GE(ways.size(), 6u);
    }
  }

  const Scan scan_;
};

TEST_P(RefineTest, LittleMemoryMakesNoDifference) { ExpectAgreement(ops::Precision::kExact, 1e-4); }

TEST_P(RefineTest, LittleMemoryMakesLittleDifferenceToFastMethods) {
  ExpectAgreement(ops::Precision::kFast, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Backends, RefineTest,
                         testing::Combine(testing::ValuesIn(ReconstructingBackends()),
                                          testing::Values(Algorithm::kOsSart, Algorithm::kOsSqs,
                                                          Algorithm::kAsdPocs)),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param), "_",
                                               recon::AlgorithmName(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace isocenter::conformance
