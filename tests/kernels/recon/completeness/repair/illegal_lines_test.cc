#include "kernels/recon/completeness/repair/illegal_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

namespace isocenter::recon {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr Detector kDetector{.columns = 4, .rows = 3};

IllegalLines Find(const std::vector<float>& frame) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(frame));
  return FindIllegalLines({&bytes, 1});
}

std::vector<float> Repaired(std::vector<float> frame) {
  RepairLineIntegrals(kDetector, frame);
  return frame;
}

TEST(IllegalLines, AreNotFiniteOrBeyondWhatABeamGives) {
  for (const float legal : {0.F, -0.F, 100.F, -100.F, 1e-42F}) {
    EXPECT_FALSE(Find(std::vector<float>(5000, legal)).found()) << legal;
  }
  for (const float illegal : {kNaN, -kNaN, kInfinite, -kInfinite, 1e30F, -1e30F, 100.01F}) {
    std::vector<float> frame(10000, 1);
    frame[4999] = frame[9999] = illegal;
    const IllegalLines found = Find(frame);
    EXPECT_EQ(found.illegal, 2) << illegal;
    EXPECT_EQ(found.pixels, 10000);
    EXPECT_EQ(found.first, 4999);
    EXPECT_FALSE(found.too_many());
    EXPECT_EQ(IllegalLinesText(found, {.columns = 100, .rows = 100}),
              "2 of 10000 line integrals are not finite, or beyond 100 (column 99 of row 49 is the "
              "first); legal are finite numbers of at most 100");
  }
}

TEST(IllegalLines, AreTooManyAboveATenth) {
  std::vector<float> frame(100, 1);
  std::fill_n(frame.begin(), 10, kNaN);
  EXPECT_FALSE(Find(frame).too_many());
  frame[10] = kNaN;
  EXPECT_TRUE(Find(frame).too_many());
}

// As gRPC brings them: pieces end anywhere.
TEST(IllegalLines, AreFoundInPieces) {
  std::vector<float> frame(64, 2);
  frame[5] = kNaN;
  frame[40] = kInfinite;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(frame));
  for (size_t length = 1; length <= bytes.size(); ++length) {
    std::vector<std::span<const std::byte>> pieces;
    for (size_t at = 0; at < bytes.size(); at += length) {
      pieces.push_back(bytes.subspan(at, std::min(length, bytes.size() - at)));
    }
    const IllegalLines found = FindIllegalLines(pieces);
    EXPECT_EQ(found.illegal, 2) << length;
    EXPECT_EQ(found.first, 5) << length;
    EXPECT_EQ(found.pixels, 64) << length;
  }
}

TEST(IllegalLines, AreLinearBetweenTheirNeighboursInTheRow) {
  EXPECT_THAT(Repaired({1, 2, 3, 4,     //
                        1, kNaN, 3, 4,  //
                        7, 7, 7, 7}),
              ElementsAre(1, 2, 3, 4, 1, 2, 3, 4, 7, 7, 7, 7));
}

TEST(IllegalLines, OfADeadRowComeFromTheRowsBeside) {
  EXPECT_THAT(Repaired({1, 2, 3, 4,                           //
                        -kInfinite, 1e30F, -kInfinite, kNaN,  //
                        3, 4, 5, 6}),
              ElementsAre(1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6));
}

TEST(IllegalLines, AtTheEdgeAreLikeTheNearest) {
  EXPECT_THAT(Repaired({kNaN, kNaN, 3, 4,  //
                        kNaN, 2, 3, 4,     //
                        kNaN, 2, 3, 4}),
              ElementsAre(3, 3, 3, 4, 2, 2, 3, 4, 2, 2, 3, 4));
}

TEST(IllegalLines, WhereADeadRowAndADeadColumnCrossAreRepairedLast) {
  EXPECT_THAT(Repaired({1, kNaN, 3, 4,           //
                        kNaN, kNaN, kNaN, kNaN,  //
                        3, kNaN, 5, 6}),
              ElementsAre(1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6));
}

TEST(IllegalLines, NothingIsMadeOfAFrameWithoutALegalPixel) {
  EXPECT_THAT(Repaired(std::vector<float>(12, kNaN)), Each(0));
}

TEST(IllegalLines, LegalPixelsStayAsTheyAre) {
  std::vector<float> frame{-0.F, 1e-42F, 99, -99, 0, 12.5F, 1, 2, 3, 4, 5, 6};
  const std::vector<float> before = frame;
  RepairLineIntegrals(kDetector, frame);
  EXPECT_EQ(std::memcmp(frame.data(), before.data(), 48), 0);
}

}  // namespace
}  // namespace isocenter::recon
