#include "kernels/recon/completeness/byte_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;

template <class T>
std::string SaidOf(const std::vector<T>& pixels, PixelType type) {
  constexpr int kRows = 16;  // of EllipseScan
  std::vector<FrameRow> rows;
  for (int v = 0; v < kRows; ++v) rows.push_back(RowOf(std::as_bytes(std::span(pixels)), v, kRows));
  return OtherByteOrderText(rows, type).value_or("");
}

/// Of counts as `change` makes them, and of the same with their bytes swapped.
struct Said {
  std::string as_is, swapped;
};

Said OfCounts(double noise, const std::function<double(double)>& change) {
  std::vector<uint16_t> counts = EllipseScan(1, 200, {}, noise).frames[0];
  for (uint16_t& count : counts) {
    count = static_cast<uint16_t>(std::clamp(std::floor(change(count)), 0.0, 65535.0));
  }
  Said said{.as_is = SaidOf(counts, PixelType::kUint16Counts)};
  for (uint16_t& count : counts) count = __builtin_bswap16(count);
  said.swapped = SaidOf(counts, PixelType::kUint16Counts);
  return said;
}

Said OfLines(const std::function<float(double)>& change) {
  std::vector<float> lines;
  const EllipseScan scan(1, 200, {}, 0.02);
  for (const uint16_t count : scan.frames[0]) {
    lines.push_back(change(std::log(50000.0 / std::max<int>(count, 1))));
  }
  Said said{.as_is = SaidOf(lines, PixelType::kFloat32LineIntegrals)};
  for (float& line : lines) {
    uint32_t bits = 0;
    std::memcpy(&bits, &line, sizeof bits);
    bits = __builtin_bswap32(bits);
    std::memcpy(&line, &bits, sizeof bits);
  }
  said.swapped = SaidOf(lines, PixelType::kFloat32LineIntegrals);
  return said;
}

TEST(ByteOrder, OfCountsIsToldByHowSmoothTheyAre) {
  const std::vector<std::function<double(double)>> detectors = {
      [](double count) { return count; },
      [](double count) { return count / 16; },                   // of 12 bits
      [](double count) { return std::floor(count / 16) * 16; },  // the same, in the upper ones
      [](double count) { return 65535 - count; },
  };
  for (size_t i = 0; i < detectors.size(); ++i) {
    for (const double noise : {0.0, 0.01}) {
      const Said said = OfCounts(noise, detectors[i]);
      EXPECT_EQ(said.as_is, "") << i << " " << noise;
      EXPECT_THAT(said.swapped, HasSubstr("times less; legal is little-endian")) << i << noise;
    }
  }
}

TEST(ByteOrder, OfCountsIsNotToldWhereItCannotBeSeen) {
  // Eight bits, scaled: the low byte is always the same.
  for (const double offset : {0.0, 128.0}) {
    EXPECT_EQ(
        OfCounts(0.02, [&](double count) { return std::floor(count / 256) * 256 + offset; }).as_is,
        "");
  }
  const Said noisy = OfCounts(0.5, [](double count) { return count; });
  EXPECT_EQ(noisy.as_is + noisy.swapped, "");
  EXPECT_EQ(OfCounts(0, [](double) { return 7; }).swapped, "");
}

TEST(ByteOrder, OfLineIntegralsIsToldByNumbersThatNoneIs) {
  const Said said = OfLines([](double line) { return static_cast<float>(line); });
  EXPECT_EQ(said.as_is, "");
  EXPECT_THAT(said.swapped, HasSubstr("the pixels are in the other byte order: "));
  // Not a number in any order, or right but for some.
  const Said none = OfLines([](double) { return std::numeric_limits<float>::quiet_NaN(); });
  EXPECT_EQ(none.as_is, "");
  int pixel = 0;
  EXPECT_EQ(OfLines([&](double line) {
              return pixel++ % 4 == 0 ? std::numeric_limits<float>::infinity()
                                      : static_cast<float>(line);
            }).as_is,
            "");
  EXPECT_EQ(OfLines([](double) { return 0.0F; }).swapped, "");
}

}  // namespace
}  // namespace isocenter::recon
