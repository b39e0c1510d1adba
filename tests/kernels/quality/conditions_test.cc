#include "kernels/quality/conditions.h"

#include <gmock/gmock.h>

namespace isocenter::quality {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Conditions kBaseline{.phantom = "quality",
                           .station = "room1",
                           .voxel_mm = {1, 1, 1},
                           .frames = "pixels 00000001",
                           .protocol = "head",
                           .filter = "hann 0.70",
                           .calibration = "room1-a",
                           .tube_voltage_kv = 90};

std::vector<Verdict> Judged(const Conditions& now) {
  std::vector<Verdict> verdicts;
  for (const char* name : {"noise_hu", "water_hu", "mtf50_edge_per_mm", "scale"}) {
    verdicts.push_back({.name = name, .value = 1, .baseline = 1, .tolerance = 1});
  }
  MarkNotComparable(Changes(kBaseline, now), verdicts);
  return verdicts;
}

std::vector<std::string> Comparable(const Conditions& now) {
  std::vector<std::string> names;
  for (const Verdict& verdict : Judged(now)) {
    if (verdict.not_comparable.empty()) names.push_back(verdict.name);
  }
  return names;
}

TEST(Conditions, WhatDependsOnAChangeIsNotComparable) {
  const auto with = [](auto change) {
    Conditions now = kBaseline;
    change(now);
    return Comparable(now);
  };
  EXPECT_THAT(with([](Conditions&) {}),
              ElementsAre("noise_hu", "water_hu", "mtf50_edge_per_mm", "scale"));
  EXPECT_THAT(with([](Conditions& now) { now.voxel_mm.z = 1.02; }),
              ElementsAre("water_hu", "scale"));
  EXPECT_THAT(with([](Conditions& now) { now.filter = "ram-lak 1.00"; }),
              ElementsAre("water_hu", "scale"));
  EXPECT_THAT(with([](Conditions& now) { now.tube_voltage_kv = 92; }),
              ElementsAre("mtf50_edge_per_mm", "scale"));
  EXPECT_THAT(with([](Conditions& now) { now.protocol = "body"; }), ElementsAre("scale"));
  EXPECT_THAT(with([](Conditions& now) { now.calibration = kUncorrectedScan; }),
              ElementsAre("scale"));
  EXPECT_THAT(with([](Conditions& now) { now.station = "room2"; }), IsEmpty());
  // A set that is renewed is a part of what is tested.
  EXPECT_THAT(with([](Conditions& now) { now.calibration = "room1-b"; }),
              ElementsAre("noise_hu", "water_hu", "mtf50_edge_per_mm", "scale"));
  // What one of both does not tell is not compared, and is named.
  EXPECT_THAT(with([](Conditions& now) { now.filter.clear(); }),
              ElementsAre("noise_hu", "water_hu", "mtf50_edge_per_mm", "scale"));
  Conditions silent = kBaseline;
  silent.filter.clear();
  silent.tube_voltage_kv = 0;
  EXPECT_THAT(Untold(kBaseline, silent), ElementsAre("tube voltage", "filter"));
}

TEST(Conditions, TheBaselinesOwnScanIsNoTest) {
  std::vector<Measure> figures;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}) {
    figures.push_back({name, 10.0 + static_cast<double>(figures.size()), 1});
  }
  std::vector<Measure> others = figures;
  for (Measure& measure : others) measure.value *= 1.01;
  Conditions now = kBaseline;
  const auto said = [&](const std::vector<Measure>& measures) {
    return std::string(CheckIsATest("q1", kBaseline, figures, now, measures).message());
  };
  EXPECT_THAT(said(others), HasSubstr("it is of the same frames"));
  now.frames = "pixels 00000002";
  EXPECT_EQ(said(others), "");
  // As a file that was rounded, which tells no frames: by nine of ten figures.
  std::vector<Measure> rounded = figures;
  rounded.front().value *= 1.01;
  EXPECT_THAT(said(rounded), HasSubstr("nearly all 10 figures are the same"));
  rounded.back().value *= 1.01;
  EXPECT_EQ(said(rounded), "");
  now.phantom = "catphan";
  EXPECT_THAT(said(others), HasSubstr("the phantom is 'catphan', that of the baseline q1 'qual"));
}

TEST(Conditions, FramesOfJobsHaveASpaceOfTheirOwn) {
  EXPECT_EQ(FramesOfJob("a"), FramesOf("job", "a"));
  EXPECT_NE(FramesOfJob("a"), FramesOfJob("b"));
  EXPECT_THAT(UncorrectedText({.calibration = kUncorrectedScan}), HasSubstr("raw counts"));
  EXPECT_EQ(UncorrectedText(kBaseline), "");
}

}  // namespace
}  // namespace isocenter::quality
