// The file byte for byte. docs/formats/spool.md shows the same file; both change together.
#include "server/spool/format.h"

#include <cstring>

#include "tests/server/spool/spool_fixture.h"

namespace isocenter::spool {
namespace {

using FormatTest = SpoolTest;

/// Bytes at an offset, as hexdump shows them; what no line shows is zero.
struct Line {
  size_t offset;
  std::string hex;
};

TEST_F(FormatTest, ATinyFileByteForByte) {
  seconds_ = 1'800'000'000;  // 2027-01-15T08:00:00Z
  Start();
  const auto job = spool_->Create("tiny", "acq", 2, 4, 0);
  ASSERT_TRUE(job.ok()) << job.status();
  const std::string pixels = "\x01\x02\x03\x04";
  jobs::SpoolFrame frame;
  frame.index = 0;
  frame.pixels = {std::as_bytes(std::span(pixels))};
  frame.measured_matrix = ProjectionMatrix{{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1}};
  ASSERT_TRUE(AppendNow(**job, frame).ok());
  ASSERT_TRUE((*job)->DeclareGap(1).ok());
  ASSERT_TRUE((*job)->Finish().ok());

  const std::vector<Line> lines = {
      {0x0000, "49 53 4f 53 50 4f 4f 4c 01 00 00 00 00 10 00 00"},
      {0x0010, "00 50 00 00 00 00 00 00 02 00 00 00 00 00 00 00"},
      {0x0020, "04 00 00 00 00 00 00 00 00 10 00 00 00 00 00 00"},
      {0x0030, "00 30 00 00 00 00 00 00 00 20 00 00 00 00 00 00"},
      {0x0040, "03 00 00 00 00 00 00 00 58 10 8c d4 04 00 00 00"},
      {0x0050, "00 80 98 28 17 65 06 00 74 69 6e 79 00 00 00 00"},
      {0x0ff0, "00 00 00 00 00 00 00 00 00 00 00 00 1f b9 f8 42"},
      {0x1000, "46 49 4e 49 53 48 45 44 00 80 98 28 17 65 06 00"},
      {0x1010, "1f b9 f8 42 00 00 00 00 00 00 00 00 32 15 0d 05"},
      {0x2000, "61 63 71 00 00 00 00 00 00 00 00 00 00 00 00 00"},
      {0x3000, "53 4c 4f 54 00 00 00 00 01 00 00 00 01 00 00 00"},
      {0x3010, "04 00 00 00 00 00 00 00 00 80 98 28 17 65 06 00"},
      {0x3020, "f4 8c 30 29 1f b9 f8 42 00 00 00 00 00 00 f0 3f"},
      {0x3050, "00 00 00 00 00 00 f0 3f 00 00 00 00 00 00 00 00"},
      {0x3080, "00 00 00 00 00 00 f0 3f 00 00 00 00 00 00 00 00"},
      {0x30f0, "00 00 00 00 00 00 00 00 00 00 00 00 b3 2b ce 2d"},
      {0x3100, "01 02 03 04 00 00 00 00 00 00 00 00 00 00 00 00"},
      {0x4000, "53 4c 4f 54 01 00 00 00 02 00 00 00 00 00 00 00"},
      {0x4010, "00 00 00 00 00 00 00 00 00 80 98 28 17 65 06 00"},
      {0x4020, "00 00 00 00 1f b9 f8 42 00 00 00 00 00 00 00 00"},
      {0x40f0, "00 00 00 00 00 00 00 00 00 00 00 00 7b 84 da 6d"},
  };
  Bytes expected(5 * kPageBytes);
  for (const Line& line : lines) {
    size_t at = line.offset;
    for (size_t i = 0; i < line.hex.size(); i += 3) {
      expected[at++] = static_cast<std::byte>(std::stoi(line.hex.substr(i, 2), nullptr, 16));
    }
  }
  const Bytes file = ReadFile(PathOf("tiny"));
  ASSERT_EQ(file.size(), expected.size());
  for (size_t i = 0; i < file.size(); ++i) {
    ASSERT_EQ(file[i], expected[i]) << "at " << i;
  }
}

// A frame without a phase is, byte for byte, one of before there were phases (above).
TEST(Format, ASlotTellsItsPhase) {
  const Layout layout = *MakeLayout(1, 4, 0);
  SlotHeader slot{.payload_bytes = 4, .phase = 0.25F};
  const SlotHeaderBytes with = EncodeSlot(slot, 7);
  EXPECT_EQ(with[0x0C], std::byte{4});
  float stored = 0;
  std::memcpy(&stored, with.data() + 0x8C, sizeof(stored));
  EXPECT_EQ(stored, 0.25F);
  ASSERT_TRUE(DecodeSlot(with, 7, 0, layout).has_value());
  EXPECT_EQ(DecodeSlot(with, 7, 0, layout)->phase, 0.25F);
  slot.phase = 0;  // is told, too
  EXPECT_EQ(DecodeSlot(EncodeSlot(slot, 7), 7, 0, layout)->phase, 0.0F);
  slot.phase.reset();
  const SlotHeaderBytes without = EncodeSlot(slot, 7);
  EXPECT_EQ(without[0x0C], std::byte{0});
  EXPECT_EQ(DecodeSlot(without, 7, 0, layout)->phase, std::nullopt);
}

TEST(Format, BoundsOfTheLayout) {
  for (const auto& [frames, frame_bytes, acquisition] : {std::array<int64_t, 3>{0, 1, 0},
                                                         {-1, 1, 0},
                                                         {kMaxFrames + 1, 1, 0},
                                                         {1, 0, 0},
                                                         {1, kMaxFrameBytes + 1, 0},
                                                         {1, 1, -1},
                                                         {1, 1, kMaxAcquisitionBytes + 1}}) {
    EXPECT_EQ(MakeLayout(frames, frame_bytes, acquisition).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  const auto largest = MakeLayout(kMaxFrames, kMaxFrameBytes, kMaxAcquisitionBytes);
  ASSERT_TRUE(largest.ok());
  EXPECT_GT(largest->file_bytes, int64_t{1} << 60);  // and no overflow
  // A slot header and pixels that fill pages exactly, and one byte more.
  EXPECT_EQ(MakeLayout(1, kPageBytes - kSlotHeaderBytes, 0)->slot_stride, kPageBytes);
  EXPECT_EQ(MakeLayout(1, kPageBytes - kSlotHeaderBytes + 1, 0)->slot_stride, 2 * kPageBytes);
}

}  // namespace
}  // namespace isocenter::spool
