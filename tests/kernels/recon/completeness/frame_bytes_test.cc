#include "kernels/recon/completeness/frame_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace isocenter::recon {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Refusal(int64_t bytes, PixelType type) {
  const absl::Status refused = CheckFrameBytes(7, bytes, {.columns = 20, .rows = 10}, type);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  return std::string(refused.message());
}

TEST(FrameBytes, AreThoseOfTheDetectorAndThePixelType) {
  EXPECT_TRUE(CheckFrameBytes(0, 400, {.columns = 20, .rows = 10}, PixelType::kUint16Counts).ok());
  EXPECT_TRUE(
      CheckFrameBytes(0, 800, {.columns = 20, .rows = 10}, PixelType::kFloat32LineIntegrals).ok());
  EXPECT_THAT(Refusal(398, PixelType::kUint16Counts),
              HasSubstr("frame.pixels of frame 7 has 398 bytes; legal is 400 (10 rows of 20 "
                        "columns of 2 bytes)"));
  EXPECT_THAT(Refusal(398, PixelType::kUint16Counts), Not(HasSubstr("pixel_type")));
}

TEST(FrameBytes, OfAnotherPixelTypeSayWhich) {
  EXPECT_THAT(Refusal(800, PixelType::kUint16Counts),
              HasSubstr("; pixels of 4 bytes, e.g. float32, would have as many: pixel_type says "
                        "uint16 counts"));
  EXPECT_THAT(Refusal(1600, PixelType::kFloat32LineIntegrals),
              HasSubstr("; pixels of 8 bytes, e.g. float64, would have as many: pixel_type says "
                        "float32 line integrals"));
  EXPECT_THAT(Refusal(400, PixelType::kFloat32LineIntegrals), HasSubstr("e.g. uint16"));
  EXPECT_THAT(Refusal(200, PixelType::kUint16Counts), HasSubstr("e.g. uint8"));
}

}  // namespace
}  // namespace isocenter::recon
