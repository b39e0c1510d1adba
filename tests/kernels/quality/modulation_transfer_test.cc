#include "kernels/quality/modulation_transfer.h"

#include <gmock/gmock.h>

#include <cmath>

#include "kernels/base/units.h"
#include "kernels/phantom/generator.h"
#include "tests/kernels/quality/made_volume.h"

namespace isocenter::quality {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

double GaussianMtf(double sigma, double f) {
  return std::exp(-2 * kPi * kPi * sigma * sigma * f * f);
}

// exp(-x) I0(x), by the integral of its definition.
double ScaledBessel(double x) {
  double sum = 0;
  constexpr int kSteps = 400;
  for (int i = 0; i < kSteps; ++i) sum += std::exp(x * (std::cos(kPi * (i + 0.5) / kSteps) - 1));
  return sum / kSteps;
}

// A disc of radius R blurred by a Gaussian, by distance from its middle, from a table.
class BlurredDisc {
 public:
  BlurredDisc(double radius, double sigma) {
    for (int n = 0; n < kEntries; ++n) {
      const double r = n * kStep;
      double sum = 0;
      const double low = std::max(0.0, r - 8 * sigma), high = std::min(radius, r + 8 * sigma);
      constexpr int kPieces = 150;
      for (int i = 0; i < kPieces && high > low; ++i) {
        const double s = low + (high - low) * (i + 0.5) / kPieces;
        sum += s / (sigma * sigma) * std::exp(-(r - s) * (r - s) / (2 * sigma * sigma)) *
               ScaledBessel(r * s / (sigma * sigma)) * (high - low) / kPieces;
      }
      table_.push_back(sum);
    }
  }
  double At(double r) const {
    const double at = r / kStep;
    const int i = static_cast<int>(at);
    if (i + 1 >= kEntries) return 0;
    return table_[i] + (at - i) * (table_[i + 1] - table_[i]);
  }

 private:
  static constexpr int kEntries = 700;
  static constexpr double kStep = 0.02;
  std::vector<double> table_;
};

constexpr double kRadius = 8;
const VolumeGrid kGrid = CenteredGrid(72, 72, 16, {0.5, 0.5, 0.5});

MadeVolume Disc(double sigma, double contrast, double noise, Vec3 off = {0.13, -0.21, 0},
                uint64_t seed = 5) {
  const BlurredDisc disc(kRadius, sigma);
  phantom::Generator random(seed);
  return {kGrid, [&](Vec3 p) {
            return 20 + contrast * disc.At(std::hypot(p.x - off.x, p.y - off.y)) +
                   noise * random.Normal();
          }};
}
const Rod kRod{.radius_mm = kRadius, .half_height_mm = 3.5};

TEST(Edge, HasTheTransferOfItsBlur) {
  for (double sigma : {0.4, 0.6, 0.9}) {
    const MadeVolume made = Disc(sigma, -900, 0);
    const auto edge = MeasureEdge(made.view(), kRod, 4);
    ASSERT_TRUE(edge.ok()) << edge.status();
    double worst = 0;
    for (size_t i = 0; i < edge->mtf.values.size(); ++i) {
      worst = std::max(
          worst, std::abs(edge->mtf.values[i] - GaussianMtf(sigma, edge->mtf.frequencies[i])));
    }
    printf("sigma %.1f: MTF within %.4f\n", sigma, worst);
    EXPECT_LT(worst, 0.02) << sigma;
    EXPECT_NEAR(edge->contrast, -900, 9);
    EXPECT_NEAR(edge->center_shift_mm, std::hypot(0.13, 0.21), 0.01);
    // Half of it is where the Gaussian says.
    const double half = std::sqrt(std::log(2.0) / (2 * kPi * kPi * sigma * sigma));
    EXPECT_NEAR(edge->mtf.FallsTo(0.5).value(), half, 0.02 * half);
  }
}

// What the test is worth: the next blur is not within its bounds.
TEST(Edge, TellsAWiderBlur) {
  const MadeVolume made = Disc(0.63, 900, 0);
  const auto edge = MeasureEdge(made.view(), kRod, 4);
  ASSERT_TRUE(edge.ok());
  const double half = std::sqrt(std::log(2.0) / (2 * kPi * kPi * 0.36));
  EXPECT_GT(std::abs(edge->mtf.FallsTo(0.5).value() - half), 0.03 * half);
}

TEST(Edge, BearsNoise) {
  const MadeVolume made = Disc(0.6, 900, 20);
  const auto edge = MeasureEdge(made.view(), kRod, 4);
  ASSERT_TRUE(edge.ok()) << edge.status();
  const double half = std::sqrt(std::log(2.0) / (2 * kPi * kPi * 0.36));
  EXPECT_NEAR(edge->mtf.FallsTo(0.5).value(), half, 0.05 * half);
}

// The uncertainty by noise is that of scans that differ in nothing else.
TEST(Edge, KnowsHowFarNoiseMovesItsHalf) {
  const double half = std::sqrt(std::log(2.0) / (2 * kPi * kPi * 0.36));
  double squares = 0, told = 0;
  constexpr int kScans = 10;
  for (int scan = 0; scan < kScans; ++scan) {
    const MadeVolume made = Disc(0.6, 300, 20, {0.13, -0.21, 0}, 50 + scan);
    const auto edge = MeasureEdge(made.view(), kRod, 4);
    ASSERT_TRUE(edge.ok()) << edge.status();
    const double off = edge->mtf.FallsTo(0.5).value() - half;
    squares += off * off / kScans;
    told += edge->half_sigma_per_mm.value() / kScans;
  }
  printf("50 %% of the MTF is off by %.4f per mm (RMS), told is %.4f\n", std::sqrt(squares), told);
  EXPECT_LT(std::sqrt(squares), 2 * told);
  EXPECT_GT(std::sqrt(squares), told / 2);
  const auto hidden = MeasureEdge(Disc(0.6, 100, 80).view(), kRod, 4);
  EXPECT_THAT(std::string(hidden.status().message()),
              AllOf(HasSubstr("noise moves the transfer function of an edge of 1"),
                    HasSubstr("legal is 0.05 at most")));
}

TEST(Edge, SaysWhatIsWrong) {
  const auto message = [](const MadeVolume& made, const Rod& rod, double reach) {
    return std::string(MeasureEdge(made.view(), rod, reach).status().message());
  };
  const MadeVolume faint = Disc(0.6, 0.5, 20), good = Disc(0.6, 900, 0);
  EXPECT_THAT(message(faint, kRod, 4), HasSubstr("20 times it or more"));
  EXPECT_THAT(message(good, kRod, 1), HasSubstr("4 voxels of 0.5 mm or more"));
  EXPECT_THAT(message(good, kRod, 9), HasSubstr("radius of 8 mm or less"));
  EXPECT_THAT(message(good, {.center = {9, 0, 0}, .radius_mm = 8, .half_height_mm = 3}, 4),
              HasSubstr("inside the volume"));
  const MadeVolume oblong(CenteredGrid(72, 60, 8, {0.5, 0.6, 1}), [](Vec3) { return 0; });
  EXPECT_THAT(message(oblong, kRod, 4), HasSubstr("square ones"));
}

TEST(Wire, HasTheTransferOfItsBlur) {
  const double sigma = 0.5;
  for (double tilt_deg : {0.0, 3.0}) {
    const double slope = std::tan(DegreesToRadians(tilt_deg));
    const MadeVolume made(CenteredGrid(64, 64, 32, {0.5, 0.5, 0.5}), [&](Vec3 p) {
      const double x = p.x - 0.2 - slope * p.z, y = p.y + 0.1;
      return 15 + 800 * std::exp(-(x * x + y * y) / (2 * sigma * sigma));
    });
    const auto wire = MeasureWire(made.view(), {.radius_mm = 1e-4, .half_height_mm = 6}, 4);
    ASSERT_TRUE(wire.ok()) << wire.status();
    EXPECT_EQ(wire->slices, 24);
    for (size_t i = 0; i < wire->mtf.values.size(); ++i) {
      EXPECT_NEAR(wire->mtf.values[i], GaussianMtf(sigma, wire->mtf.frequencies[i]), 0.01)
          << wire->mtf.frequencies[i] << "/mm, tilted by " << tilt_deg;
    }
  }
}

// A disc as wide as the blur: its own transfer is divided out.
TEST(Wire, IsCorrectedForItsThickness) {
  const BlurredDisc disc(0.6, 0.5);
  const MadeVolume made(CenteredGrid(64, 64, 16, {0.5, 0.5, 0.5}),
                        [&](Vec3 p) { return 800 * disc.At(std::hypot(p.x, p.y)); });
  const auto wire = MeasureWire(made.view(), {.radius_mm = 0.6, .half_height_mm = 3}, 4);
  ASSERT_TRUE(wire.ok()) << wire.status();
  EXPECT_NEAR(wire->mtf.At(0.4), GaussianMtf(0.5, 0.4), 0.01);
  const auto thin = MeasureWire(made.view(), {.radius_mm = 1e-4, .half_height_mm = 3}, 4);
  EXPECT_LT(thin->mtf.At(0.4), GaussianMtf(0.5, 0.4) - 0.05);
}

// Noise that moves the centroid of a single slice by 0.34 mm, which would read as 0.32 at 0.4/mm.
TEST(Wire, BearsNoise) {
  const double sigma = 0.5, slope = std::tan(DegreesToRadians(2.0));
  for (uint64_t seed : {1, 2, 3}) {
    phantom::Generator random(seed);
    const MadeVolume made(CenteredGrid(64, 64, 64, {0.5, 0.5, 0.5}), [&](Vec3 p) {
      const double x = p.x - 0.3 - slope * p.z, y = p.y + 0.2;
      return 15 + 800 * std::exp(-(x * x + y * y) / (2 * sigma * sigma)) + 60 * random.Normal();
    });
    const auto wire = MeasureWire(made.view(), {.radius_mm = 1e-4, .half_height_mm = 15}, 4);
    ASSERT_TRUE(wire.ok()) << wire.status();
    printf("seed %d: MTF at 0.4/mm %.3f, true %.3f\n", static_cast<int>(seed), wire->mtf.At(0.4),
           GaussianMtf(sigma, 0.4));
    EXPECT_NEAR(wire->mtf.At(0.4), GaussianMtf(sigma, 0.4), 0.035);
  }
}

TEST(Wire, SaysWhatIsWrong) {
  const MadeVolume flat(CenteredGrid(64, 64, 16, {0.5, 0.5, 0.5}), [](Vec3) { return 3; });
  EXPECT_THAT(
      std::string(
          MeasureWire(flat.view(), {.radius_mm = 0.1, .half_height_mm = 3}, 4).status().message()),
      HasSubstr("legal is more than 0"));
  EXPECT_THAT(
      std::string(
          MeasureWire(
              flat.view(),
              {.radius_mm = 0.1, .half_height_mm = 3, .axis = {1, 0, 0}, .across = {0, 1, 0}}, 4)
              .status()
              .message()),
      HasSubstr("20 or less"));
}

}  // namespace
}  // namespace isocenter::quality
