#include "kernels/recon/completeness/whole_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The frames of a scan behind each other.
struct Stack {
  explicit Stack(const EllipseScan& scan) : acquisition(scan.acquisition), views(scan.views()) {
    for (const auto& frame : scan.frames) counts.insert(counts.end(), frame.begin(), frame.end());
  }
  uint16_t* frame(int view) { return counts.data() + view * Pixels(); }
  int64_t Pixels() const {
    return int64_t{acquisition.detector.rows} * acquisition.detector.columns;
  }
  WholeScan whole() const {
    const Detector& detector = acquisition.detector;
    return {acquisition, {.counts = {counts.data(), {views, detector.rows, detector.columns}}}, {}};
  }

  Acquisition acquisition;
  int views;
  std::vector<uint16_t> counts;
};

TEST(WholeScan, AGoodScanHasNoFindings) {
  const Stack stack(EllipseScan(60, 360, {}, 0.003));
  EXPECT_THAT(ScanFindings(stack.whole()).texts, IsEmpty());
  EXPECT_EQ(CutRowsText(stack.whole()), std::nullopt);
}

TEST(WholeScan, FramesThatShowNothingAreToldOfOnce) {
  Stack stack(EllipseScan(60, 360, {}, 0.003));
  // Alike, too: that they repeat is nothing new.
  for (const int view : {7, 8, 9}) std::fill_n(stack.frame(view), stack.Pixels(), uint16_t{3});
  EXPECT_THAT(ScanFindings(stack.whole()).texts,
              ElementsAre("in 3 of 60 frames, of which the first is frame 7, all pixels of the "
                          "detector have the same value"));
  // One pixel that differs is an exposure.
  for (const int view : {7, 8, 9}) stack.frame(view)[stack.Pixels() - 1] = 4;
  EXPECT_EQ(ConstantFramesText(stack.whole().frames), std::nullopt);
}

TEST(WholeScan, FramesThatRepeatAreCounted) {
  Stack stack(EllipseScan(60, 360, {}, 0.003));
  for (const int view : {20, 21, 40}) {
    std::copy_n(stack.frame(view - 1), stack.Pixels(), stack.frame(view));
  }
  EXPECT_THAT(ScanFindings(stack.whole()).texts,
              ElementsAre(HasSubstr("3 of 60 frames, of which the first is frame 20")));
}

TEST(WholeScan, AnObjectThatIsTooWide) {
  const EllipseScan wide(60, 360, {.a_mm = 140, .b_mm = 140, .x_mm = 0, .y_mm = 0}, 0.003);
  const Stack stack(wide);
  EXPECT_THAT(CutRowsText(stack.whole()).value_or(""), HasSubstr("in 60 views"));
  const VolumeGrid grid = CenteredGrid(32, 32, 8, {3.0, 3.0, 3.0});
  EXPECT_THAT(BeyondGridTexts(stack.whole(), grid), Contains(HasSubstr("wider than the grid")));
}

}  // namespace
}  // namespace isocenter::recon
