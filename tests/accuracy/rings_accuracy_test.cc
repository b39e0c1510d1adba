// What a detector that has drifted since its calibration leaves in a volume, in Hounsfield units
// against the same scan without the drift, and what corrections of rings leave of that; and what
// they do to edges and to vessels of 2 mm. The cpu backend computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/phantom/composite_phantom.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/rings.h"
#include "kernels/recon/second_pass/second_pass.h"

namespace isocenter {
namespace {

using Shape = phantom::Body::Shape;
using Volume = std::vector<float>;

constexpr double kMuWater = 0.02;  // 1/mm
const Detector kDetector{.columns = 420, .rows = 24, .pitch_u_mm = 0.8, .pitch_v_mm = 0.8};
const VolumeGrid kGrid = CenteredGrid(400, 400, 6, {0.5, 0.5, 0.5});
const CircularOrbit kFullTurn{.views = 360,
                              .source_to_isocenter_mm = 750,
                              .source_to_detector_mm = 1200,
                              .start_angle = 0.3,
                              .arc = DegreesToRadians(359)};
constexpr CircularOrbit kShortScan{.views = 300,
                                   .source_to_isocenter_mm = 750,
                                   .source_to_detector_mm = 1200,
                                   .start_angle = -2.4,
                                   .arc = -3.6};

struct Vessel {
  double radius_mm, angle, hu;  // around the axis; above its surroundings
};
constexpr Vessel kVessels[] = {{8, 2, 300},    {25, 0, 300}, {25, 2, 50},  {50, 1.5, 300},
                               {50, 3.2, 100}, {50, 5, 50},  {62, 1.5, 50}};

phantom::CompositePhantom Head() {
  std::vector<phantom::Part> parts;
  const auto add = [&](Vec3 center, Vec3 half_axes, double hu) {
    parts.push_back(
        {phantom::Body(Shape::kCylinder, center, half_axes), (1 + hu / 1000) * kMuWater});
  };
  add({2, 3, 0}, {78, 92, 40}, 40);
  add({2, 3, 0}, {74, 88, 40}, 1000);
  add({2, 3, 0}, {68, 82, 40}, 35);
  add({-28, -30, 0}, {12, 9, 40}, 8);
  add({30, -24, 0}, {10, 15, 40}, 70);
  for (const Vessel& vessel : kVessels) {
    add({vessel.radius_mm * std::cos(vessel.angle), vessel.radius_mm * std::sin(vessel.angle), 0},
        {1, 1, 40}, 35 + vessel.hu);
  }
  return {parts, phantom::CompositePhantom::Overlap::kReplace};
}

/// Relative gains: 1 % of scatter in a third of the pixels, and four columns by 2 %.
std::vector<double> DriftedGains() {
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  std::vector<double> gains(size_t(kDetector.rows) * kDetector.columns, 1);
  for (double& gain : gains) {
    if (random() % 3 == 0) gain += 0.01 * normal(random);
  }
  for (const int column : {120, 199, 260, 261}) {
    for (int v = 0; v < kDetector.rows; ++v) gains[size_t(v) * kDetector.columns + column] += 0.02;
  }
  return gains;
}

class Scan {
 public:
  explicit Scan(Trajectory trajectory)
      : acquisition_{.detector = kDetector,
                     .pixel_type = recon::PixelType::kFloat32LineIntegrals,
                     .trajectory = std::move(trajectory)} {
    const phantom::CompositePhantom head = Head();
    ThreadPool pool(UsableCores());
    lines_.resize(views() * pixels());
    for (size_t view = 0; view < views(); ++view) {
      phantom::ProjectView(head, acquisition_.trajectory[view], kDetector, 2, pool,
                           {&lines_[view * pixels()], {1, kDetector.rows, kDetector.columns}});
    }
  }
  size_t views() const { return acquisition_.trajectory.size(); }
  static size_t pixels() { return size_t(kDetector.rows) * kDetector.columns; }
  const recon::Acquisition& acquisition() const { return acquisition_; }
  const std::vector<float>& lines() const { return lines_; }

  std::vector<float> DriftedLines() const {
    const std::vector<double> gains = DriftedGains();
    std::vector<float> drifted = lines_;
    for (size_t i = 0; i < drifted.size(); ++i) {
      drifted[i] -= static_cast<float>(std::log(gains[i % pixels()]));
    }
    return drifted;
  }
  ops::RawFrames FramesOf(const std::vector<float>& lines) const {
    return {
        .line_integrals = {lines.data(), {int64_t(views()), kDetector.rows, kDetector.columns}}};
  }
  Volume Reconstructed(const std::vector<float>& lines) const {
    const auto device = *Backends().OpenDevice("cpu", {});
    const auto plan = recon::MakePlan(acquisition_, kGrid, {.mu_water_per_mm = kMuWater},
                                      Backends(), *device, recon::Arrival::kComplete);
    EXPECT_TRUE(plan.ok()) << plan.status();
    Volume volume(kGrid.voxels());
    const auto done = recon::ReconstructAll(*plan, Backends(), *device, FramesOf(lines),
                                            {volume.data(), kGrid.shape()});
    EXPECT_TRUE(done.ok()) << done.status();
    return volume;
  }
  Volume WithoutRings(Volume volume) const {
    const auto device = *Backends().OpenDevice("cpu", {});
    const auto removed = recon::RemoveRings(acquisition_.trajectory, kGrid, Backends(), *device,
                                            {volume.data(), kGrid.shape()});
    EXPECT_TRUE(removed.ok()) << removed.status();
    return volume;
  }

  Volume WithoutStripes(const std::vector<float>& lines) const {
    const auto device = *Backends().OpenDevice("cpu", {});
    ops::Device* const devices[] = {device.get()};
    const auto plan = recon::MakeSecondPassPlan(acquisition_, kGrid, {.mu_water_per_mm = kMuWater},
                                                {.stripes = true}, Backends(), devices);
    EXPECT_TRUE(plan.ok()) << plan.status();
    Volume volume(kGrid.voxels());
    const absl::Status status = recon::ReconstructTwice(*plan, Backends(), devices, FramesOf(lines),
                                                        {volume.data(), kGrid.shape()});
    EXPECT_TRUE(status.ok()) << status;
    return volume;
  }

 private:
  recon::Acquisition acquisition_;
  std::vector<float> lines_;
};

double At(const Volume& volume, double x, double y) {
  const Vec3 at = kGrid.WorldToVoxel({x, y, 0.25});
  const auto i = static_cast<int64_t>(at.x), j = static_cast<int64_t>(at.y);
  const double di = at.x - double(i), dj = at.y - double(j);
  const float* const v = &volume[(int64_t{kGrid.nz / 2} * kGrid.ny + j) * kGrid.nx + i];
  return (1 - dj) * ((1 - di) * v[0] + di * v[1]) +
         dj * ((1 - di) * v[kGrid.nx] + di * v[kGrid.nx + 1]);
}

/// Root of the mean square of what arcs of 30° differ from those a millimetre inside and outside,
/// from 6 to 60 mm around the axis, in `volume` - `clean`.
double RingAmplitude(const Volume& volume, const Volume& clean) {
  const auto arc = [&](double radius, int sector) {
    double sum = 0;
    for (int a = 0; a < 60; ++a) {
      const double angle = DegreesToRadians(30 * sector + 0.5 * a);
      const double x = radius * std::cos(angle), y = radius * std::sin(angle);
      sum += At(volume, x, y) - At(clean, x, y);
    }
    return sum / 60;
  };
  double squares = 0;
  int count = 0;
  for (int sector = 0; sector < 12; ++sector) {
    for (double radius = 6; radius < 60; radius += 0.25, ++count) {
      const double ring =
          arc(radius, sector) - (arc(radius - 1, sector) + arc(radius + 1, sector)) / 2;
      squares += ring * ring;
    }
  }
  return std::sqrt(squares / count);
}

/// Width of the skin's edge to air, of the skull's to the brain: their height by the steepest slope
/// along radii, the mean of 72 directions, in mm.
struct EdgeWidths {
  double skin = 0, skull = 0;
};
EdgeWidths WidthsOf(const Volume& volume) {
  const auto width = [&](double a, double b, double height) {
    constexpr double kStep = 0.25;
    double sum = 0;
    for (int n = 0; n < 72; ++n) {
      const double angle = DegreesToRadians(5 * n + 1), c = std::cos(angle), s = std::sin(angle);
      const double edge = 1 / std::hypot(c / a, s / b);
      double slope = 0;
      for (double r = edge - 2; r < edge + 2; r += kStep) {
        const auto at = [&](double radius) { return At(volume, 2 + radius * c, 3 + radius * s); };
        slope = std::max(slope, std::abs(at(r + kStep) - at(r - kStep)) / (2 * kStep));
      }
      sum += height / slope;
    }
    return sum / 72;
  };
  return {.skin = width(78, 92, 1040), .skull = width(68, 82, 965)};
}

/// Of each vessel, what its middle has more than its surroundings (HU).
std::vector<double> Contrasts(const Volume& volume) {
  std::vector<double> contrasts;
  for (const Vessel& vessel : kVessels) {
    const double x = vessel.radius_mm * std::cos(vessel.angle);
    const double y = vessel.radius_mm * std::sin(vessel.angle);
    double inside = 0, outside = 0;
    for (int n = 0; n < 24; ++n) {
      const double c = std::cos(kPi * n / 12), s = std::sin(kPi * n / 12);
      inside += At(volume, x + 0.4 * c, y + 0.4 * s) / 24;
      outside += At(volume, x + 3.5 * c, y + 3.5 * s) / 24;
    }
    contrasts.push_back(inside - outside);
  }
  return contrasts;
}

double LargestLoss(const std::vector<double>& got, const std::vector<double>& expected) {
  double largest = 0;
  for (size_t n = 0; n < got.size(); ++n) {
    largest = std::max(largest, std::abs(got[n] - expected[n]) / kVessels[n].hu);
  }
  return largest;
}

/// Root of the mean square of `volume` - `clean` within 60 mm of the axis.
double Change(const Volume& volume, const Volume& clean) {
  double squares = 0;
  int64_t count = 0;
  for (size_t i = 0; i < volume.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const Vec3 p = kGrid.VoxelToWorld(double(at % kGrid.nx), double(at / kGrid.nx % kGrid.ny), 0);
    if (std::hypot(p.x, p.y) > 60) continue;
    squares += (double{volume[i]} - clean[i]) * (double{volume[i]} - clean[i]);
    ++count;
  }
  return std::sqrt(squares / static_cast<double>(count));
}

struct Figures {
  double ring = 0;           // HU
  double change = 0;         // HU
  EdgeWidths widths;         // mm
  double contrast_loss = 0;  // the largest, relative, against the clean volume
};
Figures FiguresOf(const char* what, const Volume& volume, const Volume& clean) {
  const Figures figures{.ring = RingAmplitude(volume, clean),
                        .change = Change(volume, clean),
                        .widths = WidthsOf(volume),
                        .contrast_loss = LargestLoss(Contrasts(volume), Contrasts(clean))};
  std::printf(
      "%-34s rings %6.2f HU, all %6.2f HU, skin %.3f mm, skull %.3f mm, contrast off by %.1f %%\n",
      what, figures.ring, figures.change, figures.widths.skin, figures.widths.skull,
      100 * figures.contrast_loss);
  return figures;
}

TEST(Rings, OfAFullTurnAreTakenOffTheVolume) {
  const Scan scan(*MakeCircularOrbit(kFullTurn, kDetector));
  const Volume clean = scan.Reconstructed(scan.lines());
  const Volume drifted = scan.Reconstructed(scan.DriftedLines());
  const Figures ideal = FiguresOf("circle, clean", clean, clean);
  const Figures before = FiguresOf("circle, drifted", drifted, clean);
  const Figures after = FiguresOf("circle, drifted, volume", scan.WithoutRings(drifted), clean);
  const Figures idle = FiguresOf("circle, clean, volume", scan.WithoutRings(clean), clean);
  EXPECT_GT(before.ring, 10);
  EXPECT_LT(after.ring, 0.3 * before.ring);
  EXPECT_LT(idle.ring, 0.5);
  EXPECT_LT(idle.change, 2);
  for (const Figures& corrected : {after, idle}) {
    EXPECT_NEAR(corrected.widths.skin / ideal.widths.skin, 1, 0.02);
    EXPECT_NEAR(corrected.widths.skull / ideal.widths.skull, 1, 0.02);
  }
  EXPECT_LT(idle.contrast_loss, 0.05);
}

// The ring of a pixel is a spiral then: little of it is at one radius in half of a sector.
TEST(Rings, OfAWobblingArmAreNoRings) {
  const Scan scan(*MakeWobblingOrbit(kShortScan, kDetector, 1, 3));
  const Volume clean = scan.Reconstructed(scan.lines());
  const Volume drifted = scan.Reconstructed(scan.DriftedLines());
  const Figures ideal = FiguresOf("arm, clean", clean, clean);
  const Figures before = FiguresOf("arm, drifted", drifted, clean);
  const Figures after = FiguresOf("arm, drifted, volume", scan.WithoutRings(drifted), clean);
  EXPECT_GT(before.ring, 3);
  EXPECT_LT(after.ring, before.ring);
  EXPECT_NEAR(after.widths.skin / ideal.widths.skin, 1, 0.02);
  EXPECT_NEAR(after.widths.skull / ideal.widths.skull, 1, 0.02);
  EXPECT_LT(after.contrast_loss, 1.2 * before.contrast_loss + 0.05);
}

// In line integrals it does not matter how the arm moves.
void ExpectNoStripes(const char* arm, const Scan& scan) {
  const Volume clean = scan.Reconstructed(scan.lines());
  const auto figures = [&](const char* what, const Volume& volume) {
    return FiguresOf((std::string(arm) + what).c_str(), volume, clean);
  };
  const Figures ideal = figures(", clean", clean);
  const Figures before = figures(", drifted", scan.Reconstructed(scan.DriftedLines()));
  const Volume without = scan.WithoutStripes(scan.DriftedLines());
  const Figures after = figures(", drifted, lines", without);
  const Figures idle = figures(", clean, lines", scan.WithoutStripes(scan.lines()));
  figures(", drifted, lines and volume", scan.WithoutRings(without));
  EXPECT_LT(after.ring, 0.3 * before.ring);
  EXPECT_LT(after.change, 0.5 * before.change);
  EXPECT_LT(idle.change, 0.5);
  for (const Figures& corrected : {after, idle}) {
    EXPECT_NEAR(corrected.widths.skin / ideal.widths.skin, 1, 0.02);
    EXPECT_NEAR(corrected.widths.skull / ideal.widths.skull, 1, 0.02);
  }
  EXPECT_LT(after.contrast_loss, 0.5 * before.contrast_loss);
  EXPECT_LT(idle.contrast_loss, 0.01);
}

TEST(Stripes, OfAFullTurnAreTakenOffLineIntegrals) {
  ExpectNoStripes("circle", Scan(*MakeCircularOrbit(kFullTurn, kDetector)));
}

TEST(Stripes, OfAWobblingArmAreTakenOffLineIntegrals) {
  ExpectNoStripes("arm", Scan(*MakeWobblingOrbit(kShortScan, kDetector, 1, 3)));
}

}  // namespace
}  // namespace isocenter
