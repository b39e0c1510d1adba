#include "server/pipeline/frames/frame_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::pipeline {
namespace {

using jobs::WarningKind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr double kSourceToIsocenter = 750, kSourceToDetector = 1200;

recon::Acquisition TestAcquisition(int views, double arc_deg, recon::PixelType type, double i0) {
  recon::Acquisition acquisition{
      .detector = {.columns = 160, .rows = 24, .pitch_u_mm = 2.4, .pitch_v_mm = 2.4},
      .pixel_type = type,
      .i0_counts = i0};
  acquisition.trajectory = *MakeCircularOrbit({.views = views,
                                               .source_to_isocenter_mm = kSourceToIsocenter,
                                               .source_to_detector_mm = kSourceToDetector,
                                               .arc = DegreesToRadians(arc_deg)},
                                              acquisition.detector);
  return acquisition;
}

/// An elliptical cylinder of water along z, off the isocentre.
struct Body {
  double a_mm = 0, b_mm = 0;
  double x_mm = 10;
};

/// The line integral that a view's column sees.
double LineIntegral(const Body& body, double angle, double u_mm) {
  const double magnified = u_mm / kSourceToDetector;
  const Vec3 source{kSourceToIsocenter * std::cos(angle), kSourceToIsocenter * std::sin(angle), 0};
  Vec3 ray{-std::cos(angle) - magnified * std::sin(angle),
           -std::sin(angle) + magnified * std::cos(angle), 0};
  ray = (1 / Norm(ray)) * ray;
  // In the coordinates in which the ellipse is the unit circle.
  const double px = (source.x - body.x_mm) / body.a_mm, py = source.y / body.b_mm;
  const double dx = ray.x / body.a_mm, dy = ray.y / body.b_mm;
  const double a = dx * dx + dy * dy, b = px * dx + py * dy, c = px * px + py * py - 1;
  const double discriminant = b * b - a * c;
  return discriminant <= 0 ? 0 : 0.02 * 2 * std::sqrt(discriminant) / a;
}

/// A scan whose frames a test may spoil.
class Scan {
 public:
  Scan(recon::Acquisition acquisition, Body body,
       ops::Truncation truncation = ops::Truncation::kCylinder)
      : acquisition_(std::move(acquisition)),
        body_(body),
        angles_(*SourceAngles(acquisition_.trajectory)),
        monitor_(acquisition_, truncation) {}

  /// The frame at full dose times `dose`, with noise of 2 %.
  std::string Frame(int index, double dose = 1) {
    const Detector& detector = acquisition_.detector;
    std::normal_distribution<double> noise(1, 0.02);
    std::string bytes;
    for (int v = 0; v < detector.rows; ++v) {
      for (int u = 0; u < detector.columns; ++u) {
        const double u_mm = (u - 0.5 * (detector.columns - 1)) * detector.pitch_u_mm;
        const double intensity =
            dose * noise(random_) * std::exp(-LineIntegral(body_, angles_[index], u_mm));
        if (acquisition_.pixel_type == recon::PixelType::kUint16Counts) {
          Append(bytes, static_cast<uint16_t>(std::lround(
                            std::clamp(acquisition_.i0_counts * intensity, 0.0, 65535.0))));
        } else {
          Append(bytes, static_cast<float>(-std::log(intensity)));
        }
      }
    }
    return bytes;
  }

  /// Gives a frame to the monitor and notes what it says.
  void Give(int index, const std::string& bytes,
            const std::optional<ProjectionMatrix>& measured = std::nullopt, double dose = 0) {
    const std::span<const std::byte> all = std::as_bytes(std::span(bytes));
    // Pieces of odd lengths, as a network gives them.
    std::vector<std::span<const std::byte>> pieces;
    for (size_t at = 0; at < all.size(); at += 1021) {
      pieces.push_back(all.subspan(at, std::min<size_t>(1021, all.size() - at)));
    }
    const recon::IllegalLines illegal =
        acquisition_.pixel_type == recon::PixelType::kFloat32LineIntegrals
            ? recon::FindIllegalLines(pieces)
            : recon::IllegalLines();
    for (const jobs::JobWarning& warning :
         monitor_.OnFrame(index, pieces, illegal, measured, dose)) {
      EXPECT_EQ(warning.frame, index);
      warnings_.push_back(warning);
    }
  }
  std::string WhyUnusable(int index, const std::string& bytes) {
    const std::span<const std::byte> all = std::as_bytes(std::span(bytes));
    return monitor_.WhyUnusable(index, {&all, 1}, recon::FindIllegalLines({&all, 1}));
  }
  void GiveAll() {
    for (int i = 0; i < views(); ++i) Give(i, Frame(i));
  }

  std::vector<jobs::JobWarning> End() const { return monitor_.OnEnd().warnings; }
  std::vector<std::string> Findings() const { return monitor_.OnEnd().findings; }

  /// Kind and frame of all warnings so far.
  std::vector<std::pair<WarningKind, int>> warnings() const {
    std::vector<std::pair<WarningKind, int>> found;
    for (const auto& warning : warnings_) found.emplace_back(warning.kind, *warning.frame);
    return found;
  }
  const std::string& text(int warning) const { return warnings_[warning].text; }
  int views() const { return static_cast<int>(acquisition_.trajectory.size()); }
  const Trajectory& trajectory() const { return acquisition_.trajectory; }
  size_t pixels() const {
    return static_cast<size_t>(acquisition_.detector.rows) * acquisition_.detector.columns;
  }

 private:
  template <class T>
  static void Append(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  const recon::Acquisition acquisition_;
  const Body body_;
  const std::vector<double> angles_;
  FrameMonitor monitor_;
  std::mt19937 random_{7};
  std::vector<jobs::JobWarning> warnings_;
};

Scan CountScan(Body body = {.a_mm = 80, .b_mm = 100}, int views = 60, double arc_deg = 30,
               double i0 = 50000) {
  return Scan(TestAcquisition(views, arc_deg, recon::PixelType::kUint16Counts, i0), body);
}

/// Every pixel's bytes in the other order.
std::string Swapped(std::string bytes, size_t pixel) {
  for (size_t at = 0; at < bytes.size(); at += pixel) {
    std::reverse(&bytes[at], &bytes[at] + pixel);
  }
  return bytes;
}

Scan FloatScan(Body body = {.a_mm = 80, .b_mm = 100}) {
  return Scan(TestAcquisition(60, 30, recon::PixelType::kFloat32LineIntegrals, 0), body);
}

std::string Constant(const Scan& scan, uint16_t count) {
  std::string bytes;
  for (size_t i = 0; i < scan.pixels(); ++i) {
    bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  }
  return bytes;
}

TEST(FrameMonitor, HasNothingToSayOfAPatientWhoTurns) {
  for (const Body body : {Body{80, 100}, Body{110, 190}, Body{140, 260, 0}}) {
    for (const int views : {500, 250, 100, 40}) {
      Scan scan = CountScan(body, views, 200);
      scan.GiveAll();
      EXPECT_THAT(scan.warnings(), IsEmpty()) << body.b_mm << " mm, " << views << " views";
    }
  }
}

TEST(FrameMonitor, FindsEachDipOfTheDoseOnce) {
  for (const bool counts : {true, false}) {
    Scan scan = counts ? CountScan() : FloatScan();
    for (int i = 0; i < scan.views(); ++i) {
      const bool dip = (i >= 20 && i < 23) || i == 40;
      scan.Give(i, scan.Frame(i, dip ? 0.6 : 1));
    }
    EXPECT_THAT(scan.warnings(),
                ElementsAre(Pair(WarningKind::kDoseDip, 20), Pair(WarningKind::kDoseDip, 40)));
    EXPECT_THAT(scan.text(0), HasSubstr("% of the dose of the frames before"));
  }
}

TEST(FrameMonitor, ASmallDipIsNone) {
  Scan scan = CountScan();
  for (int i = 0; i < scan.views(); ++i) scan.Give(i, scan.Frame(i, i == 20 ? 0.75 : 1));
  EXPECT_THAT(scan.warnings(), IsEmpty());
}

TEST(FrameMonitor, ADoseThatStaysLowIsReportedOnceAndThenNormal) {
  Scan scan = CountScan();
  for (int i = 0; i < scan.views(); ++i) {
    scan.Give(i, scan.Frame(i, i < 20 ? 1 : i == 50 ? 0.25 : 0.5));
  }
  EXPECT_THAT(scan.warnings(),
              ElementsAre(Pair(WarningKind::kDoseDip, 20), Pair(WarningKind::kDoseDip, 50),
                          Pair(WarningKind::kAirLevel, 50)));
}

TEST(FrameMonitor, AnyOrderWillDo) {
  Scan scan = CountScan({.a_mm = 110, .b_mm = 190}, 250, 200);
  for (int i = 0; i < scan.views(); ++i) {
    const int index = 97 * i % scan.views();
    scan.Give(index, scan.Frame(index), scan.trajectory()[index]);
  }
  EXPECT_THAT(scan.warnings(), IsEmpty());
}

/// 240 mm are seen at the axis.
recon::Acquisition WideScan(recon::PixelType type) {
  return TestAcquisition(250, 200, type, 50000);
}

TEST(FrameMonitor, SaysOnceThatThePatientIsWiderThanTheDetector) {
  for (const auto type :
       {recon::PixelType::kUint16Counts, recon::PixelType::kFloat32LineIntegrals}) {
    for (const Body body : {Body{110, 190}, Body{140, 120}}) {
      Scan scan(WideScan(type), body, ops::Truncation::kNone);
      scan.GiveAll();
      ASSERT_THAT(scan.warnings(), ElementsAre(Pair(WarningKind::kCutObject, ::testing::Ge(25))));
      EXPECT_THAT(scan.text(0), HasSubstr("in 26 views more than 25 % of the rows end with line "
                                          "integrals of up to "));
      EXPECT_THAT(scan.text(0), HasSubstr("as fdk_truncated does"));
    }
  }
}

TEST(FrameMonitor, WhoFitsIsNotCutAtAnyDoseThatIsTold) {
  for (const double dose : {0.2, 1.0, 1.2}) {
    Scan scan(WideScan(recon::PixelType::kUint16Counts), {80, 90, 0}, ops::Truncation::kNone);
    for (int i = 0; i < scan.views(); ++i) scan.Give(i, scan.Frame(i, dose), std::nullopt, dose);
    EXPECT_THAT(scan.warnings(), IsEmpty()) << dose;
  }
}

TEST(FrameMonitor, FindsSaturationAtTheTopOfAnyDetector) {
  for (const uint16_t top : {uint16_t{65535}, uint16_t{16383}}) {
    Scan scan = CountScan({80, 100}, 60, 30, /*i0=*/top / 1.5);
    for (int i = 0; i < scan.views(); ++i) {
      std::string bytes = scan.Frame(i, i < 10 ? 1 : 2);
      std::vector<uint16_t> counts(scan.pixels());
      std::memcpy(counts.data(), bytes.data(), bytes.size());
      for (uint16_t& count : counts) count = std::min(count, top);
      std::memcpy(bytes.data(), counts.data(), bytes.size());
      scan.Give(i, bytes);
    }
    EXPECT_THAT(scan.warnings(), ElementsAre(Pair(WarningKind::kSaturatedDetector, 10),
                                             Pair(WarningKind::kAirLevel, 40)));
    EXPECT_THAT(scan.text(0), HasSubstr(absl::StrCat("saturated at ", top, " counts")));
  }
}

// With a calibration that knows where the detector ends, what can be recovered is no reason to
// warn.
TEST(FrameMonitor, WarnsOfOverexposureThatIsNotRecovered) {
  recon::Acquisition acquisition =
      TestAcquisition(60, 30, recon::PixelType::kUint16Counts, /*i0=*/50000);
  auto calibration = std::make_shared<ops::Calibration>();
  const size_t pixels = size_t(acquisition.detector.rows) * acquisition.detector.columns;
  calibration->response = ops::PixelResponse{.offset_counts = std::vector<float>(pixels, 0.f),
                                             .air_counts = std::vector<float>(pixels, 50000.f),
                                             .full_scale_counts = 60000};
  acquisition.calibration = calibration;
  FrameMonitor monitor(acquisition, ops::Truncation::kNone);
  std::vector<uint16_t> counts(pixels, 20000);
  for (size_t i = 0; i < pixels; ++i) {
    if (i % 160 < 16) counts[i] = 60000;  // a tenth of each row
  }
  const std::span<const std::byte> bytes = std::as_bytes(std::span(counts));
  const auto said = [&](int index, double dose) {
    const auto warnings = monitor.OnFrame(index, {&bytes, 1}, {}, std::nullopt, dose);
    return warnings.empty() ? std::string() : warnings[0].text;
  };
  EXPECT_EQ(said(0, 2), "");
  EXPECT_THAT(said(1, 0),
              HasSubstr("10.0 % of the detector's pixels are saturated at 60000 counts, "
                        "and the frame does not tell its dose"));
  EXPECT_EQ(said(2, 2), "");
  EXPECT_THAT(said(3, 6),
              HasSubstr("a dose of 6.00 hides line integrals of up to 1.61; expected to "
                        "be recovered are those of at most 0.9"));
}

// Of a set that was made with a full scale below its own offsets there is no dose at which the
// detector ends.
TEST(FrameMonitor, WarnsOfAFullScaleBelowTheDark) {
  recon::Acquisition acquisition =
      TestAcquisition(60, 30, recon::PixelType::kUint16Counts, /*i0=*/50000);
  auto calibration = std::make_shared<ops::Calibration>();
  const size_t pixels = size_t(acquisition.detector.rows) * acquisition.detector.columns;
  calibration->response = ops::PixelResponse{.offset_counts = std::vector<float>(pixels, 200.f),
                                             .air_counts = std::vector<float>(pixels, 50000.f),
                                             .full_scale_counts = 100};
  acquisition.calibration = calibration;
  FrameMonitor monitor(acquisition, ops::Truncation::kNone);
  const std::vector<uint16_t> counts(pixels, 20000);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(counts));
  const auto warnings = monitor.OnFrame(0, {&bytes, 1}, {}, std::nullopt, 1);
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(
      warnings[0].text,
      testing::AllOf(HasSubstr("beyond the calibration's full scale of 100 counts, which is "
                               "below what the detector shows in the dark"),
                     testing::Not(HasSubstr("nan"))));
}

TEST(FrameMonitor, WaterBeyondTheCalibrationIsToldOfAtTheEnd) {
  recon::Acquisition acquisition =
      TestAcquisition(60, 30, recon::PixelType::kUint16Counts, /*i0=*/50000);
  auto calibration = std::make_shared<ops::Calibration>(
      ops::Calibration{.name = "monthly", .detector = acquisition.detector});
  const size_t pixels = size_t(acquisition.detector.rows) * acquisition.detector.columns;
  calibration->response = ops::PixelResponse{.offset_counts = std::vector<float>(pixels, 0.f),
                                             .air_counts = std::vector<float>(pixels, 50000.f)};
  calibration->water = {.coefficient = {1}, .thickest_mm = 100};
  calibration->mu_water_per_mm = 0.02;  // as that of Body
  acquisition.calibration = calibration;
  Scan scan(acquisition, {.a_mm = 80, .b_mm = 80, .x_mm = 0});
  for (int i = 0; i < scan.views(); ++i) scan.Give(i, scan.Frame(i), std::nullopt, /*dose=*/1);
  EXPECT_THAT(scan.warnings(), IsEmpty());
  const std::vector<jobs::JobWarning> at_end = scan.End();
  ASSERT_EQ(at_end.size(), 1);
  EXPECT_EQ(at_end[0].kind, WarningKind::kBeyondCalibration);
  EXPECT_EQ(at_end[0].frame, std::nullopt);
  EXPECT_THAT(at_end[0].text, HasSubstr("than calibration 'monthly' was measured with"));
}

TEST(FrameMonitor, AirAtTheTopOfTheRangeIsNotSaturation) {
  Scan scan = CountScan({80, 100}, 60, 30, /*i0=*/65535);
  scan.GiveAll();  // half of the air's pixels are at 65535
  EXPECT_THAT(scan.warnings(), IsEmpty());
}

TEST(FrameMonitor, FindsDeadPixels) {
  Scan scan = CountScan();
  for (int i = 0; i < scan.views(); ++i) {
    std::string bytes = scan.Frame(i);
    const size_t dead = i < 10 ? 0 : i < 20 ? 4 : i < 30 ? 3 : i < 55 ? 0 : 2;  // columns of 160
    for (size_t row = 0; row < bytes.size(); row += 320) std::memset(&bytes[row], 0, 2 * dead);
    if (i >= 40 && i < 50) std::memset(bytes.data(), 0, 2);  // one pixel is no loss
    scan.Give(i, bytes);
  }
  EXPECT_THAT(scan.warnings(), ElementsAre(Pair(WarningKind::kDeadDetector, 10),
                                           Pair(WarningKind::kDeadDetector, 55)));
  EXPECT_THAT(scan.text(0), HasSubstr("2.5 % of the detector's pixels show nothing"));
}

TEST(FrameMonitor, ADeadRowIsToldAlsoWhereNoOtherCheckLooks) {
  Scan scan = CountScan();
  for (int i = 0; i < scan.views(); ++i) {
    std::string bytes = scan.Frame(i);
    std::memset(&bytes[320], 0, 320);  // row 1
    scan.Give(i, bytes);
  }
  EXPECT_THAT(scan.End(), Contains(Field(&jobs::JobWarning::text,
                                         HasSubstr("rows counts nothing in any frame that was "
                                                   "looked at (row 1)"))));
}

TEST(FrameMonitor, LineIntegralsThatNoBeamGivesAreToldOfOnceAndThenInHowManyFrames) {
  for (const float value :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e30F}) {
    Scan scan = FloatScan();
    for (int i = 0; i < scan.views(); ++i) {
      std::string bytes = scan.Frame(i);
      // At another place in each, as of damage, and not always there.
      if (i % 3 == 1) std::memcpy(&bytes[4 * (160 + i)], &value, sizeof value);
      scan.Give(i, bytes);
    }
    EXPECT_THAT(scan.warnings(), ElementsAre(Pair(WarningKind::kDeadDetector, 1))) << value;
    EXPECT_THAT(scan.text(0), StartsWith("1 of "));
    EXPECT_THAT(scan.text(0), HasSubstr("line integrals are not finite, or beyond 100 (column 1 of "
                                        "row 1 is the first)"));
    const std::vector<jobs::JobWarning> at_end = scan.End();
    ASSERT_FALSE(at_end.empty());
    EXPECT_EQ(at_end[0].kind, WarningKind::kDeadDetector);
    EXPECT_THAT(at_end[0].text,
                absl::StrCat("in ", (scan.views() + 1) / 3, " of ", scan.views(),
                             " frames, of which the first is 1, line integrals that no beam gives "
                             "are computed from the pixels beside"));
  }
}

TEST(FrameMonitor, FramesInTheOtherByteOrderAreToldAsThatAlone) {
  Scan scan = CountScan();
  for (int i = 0; i < scan.views(); ++i) {
    const std::string bytes = scan.Frame(i);
    scan.Give(i, i >= 20 && i < 25 ? Swapped(bytes, 2) : bytes);
  }
  EXPECT_THAT(scan.warnings(), ElementsAre(Pair(WarningKind::kDeadDetector, 20)));
  EXPECT_THAT(scan.text(0), HasSubstr("the pixels are in the other byte order"));
}

TEST(FrameMonitor, WhyAFrameCannotBeUsed) {
  Scan scan = FloatScan();
  EXPECT_THAT(scan.WhyUnusable(20, Swapped(scan.Frame(20), 4)),
              HasSubstr("the pixels are in the other byte order"));
  EXPECT_THAT(scan.WhyUnusable(21, std::string(scan.Frame(21).size(), '\xff')),  // quiet NaN
              HasSubstr("line integrals are not finite, or beyond 100 (column 0 of row 0"));
}

TEST(FrameMonitor, AConstantFrameIsDead) {
  Scan scan = CountScan();
  scan.Give(0, Constant(scan, 30000));
  EXPECT_THAT(scan.warnings(), ElementsAre(Pair(WarningKind::kDeadDetector, 0)));
  EXPECT_THAT(scan.text(0), HasSubstr("the same value"));
}

TEST(FrameMonitor, FindsFramesThatRepeat) {
  Scan scan(TestAcquisition(40, 200, recon::PixelType::kUint16Counts, 50000), {90, 70});
  std::string frame;
  for (int i = 0; i < 40; ++i) {
    if (i < 10 || i > 15) frame = scan.Frame(i);
    scan.Give(i, frame);
  }
  EXPECT_THAT(scan.warnings(), ElementsAre(Pair(WarningKind::kRepeatedFrames, 10)));
  EXPECT_THAT(scan.text(0), HasSubstr("frame 10 has the pixels of frame 9,"));
  // How many there are is known at the end.
  const std::vector<jobs::JobWarning> at_end = scan.End();
  ASSERT_FALSE(at_end.empty());
  EXPECT_EQ(at_end[0].kind, WarningKind::kRepeatedFrames);
  EXPECT_THAT(at_end[0].text, HasSubstr("6 of 40 frames, of which the first is frame 10,"));
}

TEST(FrameMonitor, AFrameThatRepeatsOnceIsToldOfOnce) {
  Scan scan(TestAcquisition(40, 200, recon::PixelType::kUint16Counts, 50000), {90, 70});
  std::string frame;
  for (int i = 0; i < 40; ++i) {
    if (i != 10) frame = scan.Frame(i);
    scan.Give(i, frame);
  }
  EXPECT_THAT(scan.warnings(), ElementsAre(Pair(WarningKind::kRepeatedFrames, 10)));
  for (const jobs::JobWarning& warning : scan.End()) {
    EXPECT_NE(warning.kind, WarningKind::kRepeatedFrames) << warning.text;
  }
}

TEST(FrameMonitor, FindsAirThatIsNotWhereI0Is) {
  Scan scan(TestAcquisition(40, 200, recon::PixelType::kUint16Counts, 50000), {90, 70});
  for (int i = 0; i < 40; ++i) scan.Give(i, scan.Frame(i, 0.8));
  EXPECT_THAT(scan.warnings(), ElementsAre(Pair(WarningKind::kAirLevel, 20)));
  EXPECT_THAT(scan.text(0), HasSubstr("where i0_counts is 50000"));
}

TEST(FrameMonitor, FindsFramesThatDoNotFitTheirMatrices) {
  for (const bool reversed : {false, true}) {
    Scan scan(TestAcquisition(120, 357, recon::PixelType::kUint16Counts, 50000), {90, 60, 20});
    for (int i = 0; i < 120; ++i) scan.Give(i, scan.Frame(reversed ? 119 - i : i));
    const std::vector<jobs::JobWarning> warnings = scan.End();
    ASSERT_EQ(warnings.size(), reversed ? 1u : 0u);
    EXPECT_THAT(scan.Findings(), ElementsAre());
    if (!reversed) continue;
    EXPECT_EQ(warnings[0].kind, WarningKind::kMatricesMisfit);
    EXPECT_THAT(warnings[0].text, HasSubstr("with the frames in reversed order"));
  }
}

TEST(FrameMonitor, SaysWhereReversedFramesWouldNotBeSeen) {
  for (const bool round : {true, false}) {
    Scan scan(TestAcquisition(120, round ? 357 : 170, recon::PixelType::kUint16Counts, 50000),
              round ? Body{80, 80, 0} : Body{90, 60, 20});
    scan.GiveAll();
    EXPECT_THAT(scan.End(), ElementsAre());
    EXPECT_THAT(scan.Findings(),
                ElementsAre(HasSubstr("not checked: whether the frames are in the order")));
  }
}

TEST(FrameMonitor, FindsAMatrixThatJumps) {
  // The arm sags by more and more; at one frame the tracker is wrong, later it stops measuring.
  Scan scan = CountScan({80, 100}, 200, 200);
  for (int i = 0; i < scan.views(); ++i) {
    Camera camera = *Decompose(scan.trajectory()[i]);
    camera.source.z += 0.05 * i + (i == 50 ? 2.5 : 0);
    const std::optional<ProjectionMatrix> measured = Compose(camera);
    scan.Give(i, scan.Frame(i), i < 150 ? measured : std::nullopt);
  }
  EXPECT_THAT(scan.warnings(),
              ElementsAre(Pair(WarningKind::kMatrixJump, 50), Pair(WarningKind::kMatrixJump, 150)));
  EXPECT_THAT(scan.text(0), HasSubstr("the source by 2.5 mm"));
}

TEST(FrameMonitor, FindsAnImageThatJumps) {
  Scan scan = CountScan();
  for (int i = 0; i < scan.views(); ++i) {
    Camera camera = *Decompose(scan.trajectory()[i]);
    camera.principal_u_px += i < 30 ? 0 : 2.5;
    scan.Give(i, scan.Frame(i), Compose(camera));
  }
  EXPECT_THAT(scan.warnings(), ElementsAre(Pair(WarningKind::kMatrixJump, 30)));
  EXPECT_THAT(scan.text(0), HasSubstr("by 2.5 pixels"));
}

TEST(FrameMonitor, ARealArmDoesNotJump) {
  Scan scan = CountScan({80, 100}, 200, 200);
  const CircularOrbit orbit{.views = 200,
                            .source_to_isocenter_mm = kSourceToIsocenter,
                            .source_to_detector_mm = kSourceToDetector,
                            .arc = DegreesToRadians(200)};
  const Detector detector{.columns = 160, .rows = 24, .pitch_u_mm = 2.4, .pitch_v_mm = 2.4};
  const Trajectory measured = *MakeWobblingOrbit(orbit, detector, 3, 11);
  for (int i = 0; i < scan.views(); ++i) scan.Give(i, scan.Frame(i), measured[i]);
  EXPECT_THAT(scan.warnings(), IsEmpty());
}

recon::ReconstructionPlan PlanWithArc(double arc_deg) {
  const recon::Acquisition acquisition =
      TestAcquisition(200, arc_deg * 199 / 200, recon::PixelType::kUint16Counts, 50000);
  const auto device = Backends().OpenDevice("reference", {.memory_bytes = 64 << 20, .threads = 1});
  return *recon::MakePlan(acquisition, CenteredGrid(8, 8, 8, {1, 1, 1}), {}, Backends(), **device);
}

TEST(ShortArcWarning, TellsWhatIsThereAndWhatIsNeeded) {
  // The fan of 160 columns of 2.4 mm, to the outermost pixels' centres.
  const double fan = 2 * std::atan(79.5 * 2.4 / kSourceToDetector);
  const double needed = 180 + RadiansToDegrees(fan);
  const auto warning = ShortArcWarning(PlanWithArc(needed - 1));
  ASSERT_TRUE(warning.has_value());
  EXPECT_EQ(warning->kind, WarningKind::kShortArc);
  EXPECT_EQ(warning->frame, std::nullopt);
  EXPECT_THAT(warning->text, HasSubstr("the arc is 197.1 degrees; 198.1 are needed"));
  EXPECT_EQ(ShortArcWarning(PlanWithArc(needed)), std::nullopt);
  EXPECT_EQ(ShortArcWarning(PlanWithArc(needed + 1)), std::nullopt);
}

TEST(ShortArcWarning, AFullTurnIsNeverShort) {
  recon::ReconstructionPlan plan = PlanWithArc(360);
  plan.full_scan = true;
  EXPECT_EQ(ShortArcWarning(plan), std::nullopt);
}

// All alike, so that nothing jumps.
TEST(FrameMonitor, MeasuredMatricesOfAnotherDistanceAreToldAtTheEnd) {
  const recon::Acquisition acquisition =
      TestAcquisition(60, 200, recon::PixelType::kUint16Counts, 50000);
  const auto told = [&](double source_to_detector_mm) {
    const Trajectory measured = *MakeCircularOrbit({.views = 60,
                                                    .source_to_isocenter_mm = kSourceToIsocenter,
                                                    .source_to_detector_mm = source_to_detector_mm,
                                                    .arc = DegreesToRadians(200)},
                                                   acquisition.detector);
    FrameMonitor monitor(acquisition, ops::Truncation::kCylinder);
    std::string pixels(size_t{160} * 24 * 2, '\x42');
    const std::span<const std::byte> piece = std::as_bytes(std::span<const char>(pixels));
    for (int view = 0; view < 60; ++view) {
      for (const jobs::JobWarning& warning :
           monitor.OnFrame(view, std::span(&piece, 1), {}, measured[view], 0)) {
        EXPECT_NE(warning.kind, WarningKind::kMatrixJump);
      }
    }
    std::string texts;
    for (const jobs::JobWarning& warning : monitor.OnEnd().warnings) {
      if (warning.kind == WarningKind::kMatricesMisfit) texts += warning.text;
    }
    return texts;
  };
  EXPECT_THAT(told(1260), HasSubstr("the measured matrices have a source that is 5.00 % further"));
  EXPECT_THAT(told(kSourceToDetector), IsEmpty());
}

}  // namespace
}  // namespace isocenter::pipeline
