#include "kernels/geometry/phases/phase_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/geometry/phases/phase_curve.h"

namespace isocenter {
namespace {

using testing::HasSubstr;

using Phases = std::vector<std::optional<float>>;

Phases Of(const PhaseCurve& curve, int frames) {
  const std::vector<float> phases = *PhasesOfFrames(curve, frames);
  return {phases.begin(), phases.end()};
}

std::string Said(const Phases& phases) { return PhaseOrderText(phases).value_or(""); }

// From many frames to a beat to more than two beats for three frames, in steady and irregular
// beats.
TEST(PhaseOrder, HasNothingToSayOfPhasesThatRise) {
  for (const double cycles : {1.0, 5.0, 15.0, 60.0, 100.0, 120.0, 140.0, 160.0}) {
    for (const double irregular : {0.0, 0.1, 0.3}) {
      for (const uint64_t seed : {1, 2, 3}) {
        EXPECT_EQ(Said(Of({.cycles = cycles, .irregular = irregular, .seed = seed}, 240)), "")
            << cycles << " " << irregular;
      }
    }
  }
  EXPECT_EQ(Said(Phases(100, 0.7F)), "") << "one frame for each beat";
}

TEST(PhaseOrder, RipplesAndLostFramesAreNoDisorder) {
  Phases phases = Of({.cycles = 4, .irregular = 0.1}, 240);
  std::mt19937 random(3);
  std::normal_distribution<float> ripple(0, 0.03F);
  for (auto& phase : phases) {
    const float there = *phase + ripple(random);
    phase = there - std::floor(there);
  }
  for (size_t i = 0; i < phases.size(); i += 7) phases[i] = std::nullopt;
  EXPECT_EQ(Said(phases), "");
}

TEST(PhaseOrder, SeesPhasesInReversedOrder) {
  for (const double cycles : {3.0, 15.0, 40.0}) {
    Phases phases = Of({.cycles = cycles, .irregular = 0.1}, 240);
    std::ranges::reverse(phases);
    EXPECT_THAT(Said(phases), HasSubstr("reversed order")) << cycles;
  }
}

TEST(PhaseOrder, SeesPhasesWithoutOrder) {
  for (const uint32_t seed : {1, 2, 3, 4}) {
    Phases phases = Of({.cycles = 15}, 100);
    std::mt19937 random(seed);
    std::shuffle(phases.begin(), phases.end(), random);
    EXPECT_THAT(Said(phases), HasSubstr("of other frames or of another scan")) << seed;
  }
}

TEST(PhaseOrder, FewFramesTellNothing) {
  EXPECT_EQ(Said({0.9F, 0.7F, 0.5F, 0.3F, 0.1F}), "");
  EXPECT_EQ(Said({}), "");
}

}  // namespace
}  // namespace isocenter
