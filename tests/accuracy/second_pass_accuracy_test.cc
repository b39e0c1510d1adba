// What metal and bone leave in a volume, and what a second pass leaves of that, in Hounsfield
// units: against the same polychromatic scan without the metal, or the bodies themselves. The cpu
// backend computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "kernels/backends.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/second_pass/second_pass.h"
#include "tests/accuracy/polychromatic_scan.h"

namespace isocenter {
namespace {

using Shape = phantom::Body::Shape;
using Volume = std::vector<float>;

constexpr int kViews = 240;
const Detector kDetector{.columns = 288, .rows = 16, .pitch_u_mm = 1.5, .pitch_v_mm = 1.5};
const VolumeGrid kGrid = CenteredGrid(160, 160, 5, {1.6, 1.6, 1.6});

ops::RawFrames FramesOf(const std::vector<uint16_t>& counts) {
  return {.counts = {counts.data(), {kViews, kDetector.rows, kDetector.columns}}};
}

Volume FirstPass(const PolychromaticScan& scan, const std::vector<uint16_t>& counts) {
  const auto device = *Backends().OpenDevice("cpu", {});
  const auto plan = recon::MakePlan(scan.acquisition(), kGrid, {}, Backends(), *device,
                                    recon::Arrival::kComplete);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Volume volume(kGrid.voxels());
  const auto done = recon::ReconstructAll(*plan, Backends(), *device, FramesOf(counts),
                                          {volume.data(), kGrid.shape()});
  EXPECT_TRUE(done.ok()) << done.status();
  return volume;
}

Volume SecondPass(const PolychromaticScan& scan, const std::vector<uint16_t>& counts,
                  const recon::SecondPassSettings& settings) {
  const auto device = *Backends().OpenDevice("cpu", {});
  ops::Device* const devices[] = {device.get()};
  const auto plan =
      recon::MakeSecondPassPlan(scan.acquisition(), kGrid, {}, settings, Backends(), devices);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Volume volume(kGrid.voxels());
  const absl::Status status = recon::ReconstructTwice(*plan, Backends(), devices, FramesOf(counts),
                                                      {volume.data(), kGrid.shape()});
  EXPECT_TRUE(status.ok()) << status;
  return volume;
}

Vec3 CenterOf(int64_t voxel) {
  return kGrid.VoxelToWorld(double(voxel % kGrid.nx), double(voxel / kGrid.nx % kGrid.ny),
                            double(voxel / (int64_t{kGrid.nx} * kGrid.ny)));
}

// Voxels that are 3 or more from metal and inside of what all views see.
std::vector<bool> Compared(const std::vector<HuBody>& metal) {
  std::vector<bool> compared(kGrid.voxels());
  for (int64_t i = 0; i < kGrid.voxels(); ++i) {
    const Vec3 at = CenterOf(i);
    compared[i] = std::hypot(at.x, at.y) < 120;
    constexpr int kReach = 3;
    for (int z = -kReach; z <= kReach && compared[i]; ++z) {
      for (int y = -kReach; y <= kReach; ++y) {
        for (int x = -kReach; x <= kReach; ++x) {
          if (x * x + y * y + z * z > kReach * kReach) continue;
          const Vec3 near = at + 1.6 * Vec3{double(x), double(y), double(z)};
          for (const HuBody& part : metal) compared[i] = compared[i] && !part.body.Contains(near);
        }
      }
    }
  }
  return compared;
}

struct Figures {
  double rms_before = 0, rms_after = 0;
  double worst_before = 0, worst_after = 0;
  // Where there was less than 30 HU before: the largest error, and of all voxels the share with
  // more than 30 HU now, and that with more before and less now.
  double new_worst = 0, new_share = 0, gone_share = 0;
};

Figures Compare(const Volume& before, const Volume& after, const Volume& truth,
                const std::vector<bool>& compared) {
  Figures figures;
  double count = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    if (!compared[i]) continue;
    const double was = before[i] - double{truth[i]}, is = after[i] - double{truth[i]};
    figures.rms_before += was * was;
    figures.rms_after += is * is;
    figures.worst_before = std::max(figures.worst_before, std::abs(was));
    figures.worst_after = std::max(figures.worst_after, std::abs(is));
    if (std::abs(was) < 30) figures.new_worst = std::max(figures.new_worst, std::abs(is));
    if (std::abs(was) < 30 && std::abs(is) > 30) ++figures.new_share;
    if (std::abs(was) > 30 && std::abs(is) < 30) ++figures.gone_share;
    ++count;
  }
  figures.rms_before = std::sqrt(figures.rms_before / count);
  figures.rms_after = std::sqrt(figures.rms_after / count);
  figures.new_share /= count;
  figures.gone_share /= count;
  return figures;
}

Figures MetalFigures(const char* what, const PolychromaticScan& scan,
                     const std::vector<HuBody>& body, const std::vector<HuBody>& metal) {
  std::vector<HuBody> with = body;
  with.insert(with.end(), metal.begin(), metal.end());
  const std::vector<uint16_t> counts = scan.Counts(with);
  const Volume truth = FirstPass(scan, scan.Counts(body));
  const Figures figures =
      Compare(FirstPass(scan, counts), SecondPass(scan, counts, {.metal = recon::MetalSettings()}),
              truth, Compared(metal));
  std::printf(
      "%s: rms %.1f HU -> %.1f, worst %.0f -> %.0f; of the voxels %.2f %% have got more "
      "than 30 HU (worst %.0f), %.1f %% less\n",
      what, figures.rms_before, figures.rms_after, figures.worst_before, figures.worst_after,
      100 * figures.new_share, figures.new_worst, 100 * figures.gone_share);
  return figures;
}

// 70 % of the error removed, and of the voxels that were right few are wrong by 30 HU.
void ExpectGoal(const Figures& figures) {
  EXPECT_LT(figures.rms_after, 0.3 * figures.rms_before);
  EXPECT_LT(figures.new_share, 0.03);
  EXPECT_GT(figures.gone_share, 10 * figures.new_share);
}

HuBody Ball(Vec3 center, double radius, double hu) {
  return {phantom::Body(Shape::kEllipsoid, center, {radius, radius, radius}), hu};
}
HuBody Rod(Vec3 center, double x, double y, double hu) {
  return {phantom::Body(Shape::kCylinder, center, {x, y, 100}), hu};
}

// Soft tissue of an ellipse with muscle, fat and the bones beside two hip heads.
std::vector<HuBody> Pelvis() {
  return {Rod({0, 0, 0}, 112, 78, 0),      Rod({0, 30, 0}, 30, 20, 50),
          Rod({-10, -40, 0}, 18, 12, -90), Rod({60, 0, 0}, 24, 26, 500),
          Rod({-60, 0, 0}, 24, 26, 500),   Rod({0, 62, 0}, 14, 8, 700)};
}

TEST(SecondPassMetal, TwoHipHeadsOfTitanium) {
  const PolychromaticScan scan(kDetector, kViews, 110, "titanium");
  const Figures figures =
      MetalFigures("titanium hips", scan, Pelvis(),
                   {Ball({60, 0, 0}, 14, kMetalHu), Ball({-60, 0, 0}, 14, kMetalHu)});
  ExpectGoal(figures);
}

TEST(SecondPassMetal, TwoHipHeadsOfSteel) {
  const PolychromaticScan scan(kDetector, kViews, 120, "steel");
  const Figures figures =
      MetalFigures("steel hips", scan, Pelvis(),
                   {Ball({60, 0, 0}, 12, kMetalHu), Ball({-60, 0, 0}, 12, kMetalHu)});
  ExpectGoal(figures);
}

TEST(SecondPassMetal, DentalFillings) {
  const PolychromaticScan scan(kDetector, kViews, 100, "gold");
  std::vector<HuBody> jaw = {Rod({0, 0, 0}, 75, 90, 30), Rod({0, 60, 0}, 22, 20, 700),
                             Rod({0, -45, 0}, 12, 30, -1000)};
  std::vector<HuBody> fillings;
  for (int tooth = -4; tooth <= 4; ++tooth) {
    const double angle = 0.3 * tooth - 1.5708;
    const Vec3 at{50 * std::cos(angle), 55 * std::sin(angle), 0};
    jaw.push_back(Rod(at, 5, 5, 1500));
    if (tooth == -3 || tooth == 1 || tooth == 2) fillings.push_back(Ball(at, 3, kMetalHu));
  }
  const Figures figures = MetalFigures("fillings", scan, jaw, fillings);
  ExpectGoal(figures);
}

// In another jaw, smaller, and one more. Streaks between the two beside each other are most of what
// hangs together with them.
TEST(SecondPassMetal, FourSmallFillings) {
  const PolychromaticScan scan(kDetector, kViews, 90, "gold");
  std::vector<HuBody> jaw = {Rod({-3, 2, 0}, 70, 85, 40), Rod({0, 55, 0}, 20, 18, 600),
                             Rod({0, -40, 0}, 14, 26, -1000)};
  std::vector<HuBody> fillings;
  for (int tooth = -4; tooth <= 4; ++tooth) {
    const double angle = 0.32 * tooth - 1.5;
    const Vec3 at{47 * std::cos(angle), 52 * std::sin(angle), 0};
    jaw.push_back(Rod(at, 4.5, 5.5, 1700));
    if (tooth == -2 || tooth == 0 || tooth > 2) fillings.push_back(Ball(at, 2.5, kMetalHu));
  }
  const Figures figures = MetalFigures("four small fillings", scan, jaw, fillings);
  ExpectGoal(figures);
}

TEST(SecondPassMetal, Coil) {
  const PolychromaticScan scan(kDetector, kViews, 80, "tungsten");
  const Figures figures = MetalFigures("coil", scan,
                                       {Rod({0, 0, 0}, 75, 92, 1000), Rod({0, 0, 0}, 68, 85, 35),
                                        Rod({12, 10, 0}, 6, 20, 8), Rod({-12, 10, 0}, 6, 20, 8)},
                                       {Ball({15, -30, 0}, 4, kMetalHu)});
  ExpectGoal(figures);
  EXPECT_LT(figures.new_share, 0.001);
}

HuBody Screw(Vec3 center, double radius, double half_length, double turn) {
  return {phantom::Body(Shape::kEllipsoid, center, {radius, half_length, radius}, turn), kMetalHu};
}

// The bone around long screws is in their shadow. Light through them says where it is.
TEST(SecondPassMetal, PedicleScrews) {
  const PolychromaticScan scan(kDetector, kViews, 115, "titanium");
  const Figures figures = MetalFigures(
      "screws", scan,
      {Rod({0, 0, 0}, 100, 80, 20), Rod({0, 15, 0}, 22, 17, 350), Rod({0, 45, 0}, 24, 9, 600),
       Rod({-45, -20, 0}, 30, 25, 60), Rod({50, -25, 0}, 14, 12, -900)},
      {Screw({14, 28, 0}, 3, 22, 0.3), Screw({-14, 28, 0}, 3, 22, -0.3)});
  EXPECT_LT(figures.rms_after, 0.3 * figures.rms_before);
  EXPECT_LT(figures.new_share, 0.04);
}

// Thinner ones in another patient, which no threshold was chosen on.
TEST(SecondPassMetal, ThinScrewsAtLowAndHighVoltage) {
  for (const double kv : {95, 120}) {
    const PolychromaticScan scan(kDetector, kViews, kv, "titanium");
    const Figures figures = MetalFigures(
        kv < 100 ? "thin screws, 95 kV" : "thin screws, 120 kV", scan,
        {Rod({0, 0, 0}, 110, 84, 10), Rod({3, 12, 0}, 21, 16, 300), Rod({3, 42, 0}, 22, 10, 650),
         Rod({-50, -15, 0}, 28, 27, 55), Rod({45, -30, 0}, 16, 10, -950)},
        {Screw({16, 26, 0}, 2.5, 20, 0.35), Screw({-12, 27, 0}, 2.5, 20, -0.2)});
    EXPECT_LT(figures.rms_after, 0.3 * figures.rms_before);
    EXPECT_LT(figures.new_share, 0.05);
  }
}

// No threshold was chosen on this one: a stem of steel in the shaft of a femur, beside the other
// leg.
TEST(SecondPassMetal, StemInAFemur) {
  const PolychromaticScan scan(kDetector, kViews, 115, "steel");
  const Figures figures = MetalFigures(
      "stem", scan,
      {Rod({-55, 0, 0}, 50, 60, 40), Rod({55, 0, 0}, 50, 60, 40), Rod({-55, -35, 0}, 20, 12, -90),
       Rod({-50, 5, 0}, 15, 15, 1200), Rod({-50, 5, 0}, 9, 9, 100), Rod({52, 2, 0}, 15, 15, 1200),
       Rod({52, 2, 0}, 9, 9, 100)},
      {Rod({-50, 5, 0}, 7, 7, kMetalHu)});
  EXPECT_LT(figures.rms_after, 0.5 * figures.rms_before);
}

TEST(SecondPassMetal, WithoutMetalIsTheFirstPass) {
  const PolychromaticScan scan(kDetector, kViews, 100, "titanium");
  const std::vector<uint16_t> counts = scan.Counts(Pelvis());
  EXPECT_EQ(SecondPass(scan, counts, {.metal = recon::MetalSettings()}), FirstPass(scan, counts));
}

// Mean over a disc around a point of the middle slices.
double MeanAround(const Volume& volume, Vec3 center, double radius) {
  double sum = 0, count = 0;
  for (int64_t i = 0; i < kGrid.voxels(); ++i) {
    const Vec3 at = CenterOf(i);
    if (std::hypot(at.x - center.x, at.y - center.y) > radius || std::abs(at.z) > 3) continue;
    sum += volume[i];
    ++count;
  }
  return sum / count;
}

// Of two petrous bones, before and after: prints it, and expects a fifth at most to be left.
void ExpectBandIsGone(const char* what, const PolychromaticScan& scan) {
  const std::vector<HuBody> head = {Rod({0, 0, 0}, 72, 90, 1000), Rod({0, 0, 0}, 65, 82, 35),
                                    Rod({36, 12, 0}, 20, 9, 1300), Rod({-36, 12, 0}, 20, 9, 1300)};
  const std::vector<uint16_t> counts = scan.Counts(head);
  const Volume before = FirstPass(scan, counts);
  const Volume after = SecondPass(scan, counts, {.bone = true});
  const auto band = [](const Volume& volume) { return MeanAround(volume, {0, 12, 0}, 7) - 35; };
  std::printf(
      "band between petrous bones, %s table: %.1f HU -> %.1f; brain %.1f -> %.1f, bone %.0f -> "
      "%.0f\n",
      what, band(before), band(after), MeanAround(before, {0, -50, 0}, 10) - 35,
      MeanAround(after, {0, -50, 0}, 10) - 35, MeanAround(before, {36, 12, 0}, 5) - 1300,
      MeanAround(after, {36, 12, 0}, 5) - 1300);
  EXPECT_LT(std::abs(band(after)), 0.2 * std::abs(band(before)));
}

TEST(SecondPassBone, BandBetweenPetrousBones) {
  PolychromaticScan scan(kDetector, kViews, 90, "titanium");
  ExpectBandIsGone("perfect", scan);
  scan.MeasureBone();
  ExpectBandIsGone("measured", scan);
}

TEST(SecondPassBone, BandAtAnotherVoltage) {
  PolychromaticScan scan(kDetector, kViews, 120, "titanium");
  scan.MeasureBone();
  ExpectBandIsGone("measured, 120 kV,", scan);
}

}  // namespace
}  // namespace isocenter
