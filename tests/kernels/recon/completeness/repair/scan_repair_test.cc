#include "kernels/recon/completeness/repair/scan_repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace isocenter::recon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr Detector kDetector{.columns = 10, .rows = 5};
constexpr int kPixels = 50, kViews = 60;

/// Every pixel of a view has the view's number.
std::vector<float> Scan() {
  std::vector<float> frames;
  for (int view = 0; view < kViews; ++view) {
    frames.insert(frames.end(), kPixels, static_cast<float>(view));
  }
  return frames;
}

void Spoil(std::vector<float>& frames, int view) {
  std::fill_n(frames.begin() + view * kPixels, kPixels, kNaN);
}

std::string Refusal(std::vector<float> frames) {
  const auto refused = RepairScan(kDetector, frames);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(refused.status().message());
}

TEST(ScanRepair, LeavesAGoodScanAsItIs) {
  std::vector<float> frames = Scan();
  EXPECT_THAT(*RepairScan(kDetector, frames), IsEmpty());
  EXPECT_EQ(frames, Scan());
}

TEST(ScanRepair, ComputesPixelsFromThoseBeside) {
  std::vector<float> frames = Scan();
  for (int view = 0; view < kViews; ++view) frames[view * kPixels + 23] = 1e30F;
  EXPECT_THAT(*RepairScan(kDetector, frames),
              ElementsAre("in 60 of 60 frames, of which the first is 0: 1 of 50 line integrals are "
                          "not finite, or beyond 100 (column 3 of row 2 is the first); legal are "
                          "finite numbers of at most 100; what is not is computed from the pixels "
                          "beside"));
  EXPECT_EQ(frames, Scan());
}

TEST(ScanRepair, ComputesFramesFromThoseBeside) {
  std::vector<float> frames = Scan();
  Spoil(frames, 20);
  Spoil(frames, 30);
  Spoil(frames, 31);
  EXPECT_THAT(*RepairScan(kDetector, frames),
              ElementsAre(HasSubstr("frame 20 is not used, and computed from the frames beside: 50 "
                                    "of 50 line integrals are not finite"),
                          HasSubstr("frames 30 to 31 are not used")));
  for (size_t i = 0; i < frames.size(); ++i) ASSERT_NEAR(frames[i], Scan()[i], 1e-5) << i;
}

TEST(ScanRepair, RefusesWhatCannotBeComputed) {
  std::vector<float> many = Scan(), edge = Scan();
  for (const int view : {9, 20, 30, 40}) Spoil(many, view);
  EXPECT_THAT(Refusal(many), HasSubstr("frame 9 cannot be used: 50 of 50 line integrals are not "
                                       "finite"));
  EXPECT_THAT(Refusal(many), HasSubstr("4 of 60 frames are like this, 1 in a row; legal are at "
                                       "most 3 and 4"));
  Spoil(edge, 0);
  EXPECT_THAT(Refusal(edge), HasSubstr("legal is one that has a frame before it"));
}

}  // namespace
}  // namespace isocenter::recon
