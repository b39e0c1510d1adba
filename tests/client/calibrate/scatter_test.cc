// Scatter and glare.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "kernels/backends.h"
#include "kernels/calibrate/scatter/scatter_fit.h"
#include "kernels/calibrate/transmission.h"
#include "kernels/physics/detector_model.h"
#include "kernels/physics/readout.h"
#include "tests/client/calibrate/calibrate_fixture.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;

// What kernels make of the primary of a water cylinder is added to it, and found again.
TEST_F(Calibrate, ScatterIsFittedToAPair) {
  ASSERT_EQ(Detector(50, 51).exit_code, 0);
  Simulate("water", 24, 51, {"--phantom", "cylinder", "--scale-mm", "80"});
  Outcome outcome = RunCommand({"calibrate", "scatter", "--with", Path("water"), "--without",
                                Path("water"), "--into", Path("set")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("does not know water's attenuation"));
  outcome = RunCommand({"calibrate", "beam-hardening", "--scan", Path("water"), "--diameter-mm",
                        "160", "--into", Path("set")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;

  const ops::Calibration set = Corrections();
  const ops::ScatterKernels planted{.groups = {{.amplitude = 0.06,
                                                .alpha = 0.5,
                                                .beta = 1,
                                                .narrow_sigma_mm = 40,
                                                .wide_sigma_mm = 120,
                                                .wide_share = 0.5}},
                                    .mu_water_per_mm = set.mu_water_per_mm,
                                    .gamma_per_mm = 0.001};
  const calibrate::CoarseShape shape(kDetector);
  auto source = *formats::OpenBundle(directory_ / "water");
  auto sink = *formats::CreateBundle(directory_ / "scattered", source->header(), {});
  std::vector<uint16_t> counts(kPixels);
  for (int k = 0; k < 24; ++k) {
    ASSERT_TRUE(source->Read(k, std::as_writable_bytes(std::span(counts))).ok());
    double dose = 0;
    const auto frame =
        *calibrate::Transmission(counts, *set.response, set.defects, kDetector, &dose);
    const std::vector<double> scatter =
        calibrate::PredictScatter(planted, shape, calibrate::BlockMeans(frame, kDetector));
    for (size_t i = 0; i < kPixels; ++i) {
      const double added = scatter[i / 160 / 16 * shape.columns + i % 160 / 16];
      counts[i] = static_cast<uint16_t>(
          std::min(65535.0, counts[i] + added * dose * set.response->air_counts[i]));
    }
    ASSERT_TRUE(sink->Append(std::as_bytes(std::span(counts))).ok());
  }
  ASSERT_TRUE(sink->Finish().ok());

  outcome = RunCommand({"calibrate", "scatter", "--with", Path("scattered"), "--without",
                        Path("water"), "--into", Path("set")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const ops::Calibration found = Corrections();
  ASSERT_TRUE(found.scatter.has_value());
  const v1::CalibrationSet label = Set();
  double missed = 100;
  for (const v1::QualityFigure& figure : label.quality()) {
    if (figure.name() == "scatter: scatter that the kernels miss") missed = figure.value();
  }
  EXPECT_LT(missed, 3);
  outcome = RunCommand({"calibrate", "scatter", "--with", Path("water"), "--without", Path("water"),
                        "--into", Path("set")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("of air; legal is 0.1 % at least"));
}

TEST_F(Calibrate, ScatterMayBeStatedAsAFraction) {
  ASSERT_EQ(Detector(50, 71).exit_code, 0);
  Simulate("water", 24, 71, {"--phantom", "cylinder", "--scale-mm", "80"});
  const std::vector<std::string> command = {"calibrate", "scatter", "--fraction",
                                            "0.4",       "--into",  Path("set")};
  EXPECT_THAT(RunCommand(command).err, HasSubstr("does not know water's attenuation"));
  Outcome outcome = RunCommand({"calibrate", "beam-hardening", "--scan", Path("water"),
                                "--diameter-mm", "160", "--into", Path("set")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  outcome = RunCommand(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("as stated, not measured"));
  const ops::Calibration found = Corrections();
  ASSERT_TRUE(found.scatter.has_value());
  ASSERT_EQ(found.scatter->groups.size(), 2u);
  EXPECT_EQ(found.scatter->groups[0].amplitude, 0);
  EXPECT_EQ(found.scatter->groups[1].amplitude, 0.4);
  EXPECT_EQ(found.scatter->groups[1].beta, 0);
  EXPECT_EQ(found.scatter->groups[1].narrow_sigma_mm, 100);
  EXPECT_EQ(Set().picture_png().substr(1, 3), "PNG");

  outcome = RunCommand({"calibrate", "scatter", "--into", Path("set")});
  EXPECT_THAT(outcome.err, HasSubstr("--fraction not at all; legal is either"));
  std::vector<std::string> both = command;
  both.insert(both.end(), {"--with", Path("water"), "--without", Path("water")});
  EXPECT_THAT(RunCommand(both).err, HasSubstr("--fraction as well; legal is either"));
  EXPECT_THAT(RunCommand({"calibrate", "scatter", "--fraction", "7", "--into", Path("set")}).err,
              HasSubstr("5"));
}

/// The left 75 columns without light, by the detector of the fixture's file.
void WriteEdge(const std::filesystem::path& flat, const std::filesystem::path& out,
               const physics::DetectorModel& model) {
  auto source = *formats::OpenBundle(flat);
  auto sink = *formats::CreateBundle(out, source->header(), {});
  auto readout = *physics::Readout::Make(model, kDetector);
  std::vector<physics::Reading> readings(kPixels);
  for (size_t i = 0; i < kPixels; ++i) {
    if (i % kDetector.columns < 75) readings[i] = {.signal = 0, .variance = 0};
  }
  ThreadPool pool(2);
  std::vector<uint16_t> counts(kPixels);
  for (int k = 0; k < static_cast<int>(source->header().frame_count()); ++k) {
    readout.Expose(readings, 1, pool, counts);
    ASSERT_TRUE(sink->Append(std::as_bytes(std::span(counts))).ok());
  }
  ASSERT_TRUE(sink->Finish().ok());
}

/// Mean of the columns that are 36 to 140 mm in the shadow, relative to the empty beam, after the
/// set's glare.
double InShadow(const ops::Calibration& set, const std::filesystem::path& edge) {
  auto source = *formats::OpenBundle(edge);
  std::vector<uint16_t> counts(kPixels);
  EXPECT_TRUE(source->Read(20, std::as_writable_bytes(std::span(counts))).ok());
  std::vector<float> frame = calibrate::Normalized(counts, *set.response, {});
  const auto device = *Backends().OpenDevice("cpu", {});
  const auto session = *device->NewSession();
  const Shape3 shape{1, kDetector.rows, kDetector.columns};
  const auto stack = *session->NewProjectionStack(shape, ops::StackUse::kLineIntegrals);
  EXPECT_TRUE(stack->Upload(0, {frame.data(), shape}).ok());
  if (!set.glare.empty()) {
    const auto glare = *(*Backends().corrections.glare.Find("cpu"))(*session, set);
    EXPECT_TRUE(glare->Run(1, *stack).ok());
  }
  EXPECT_TRUE(stack->Download(0, {frame.data(), shape}).ok());
  double sum = 0;
  int good = 0;
  auto defect = set.defects.pixels.begin();
  for (size_t i = 0; i < kPixels; ++i) {
    if (defect != set.defects.pixels.end() && *defect == static_cast<int32_t>(i)) {
      ++defect;
      continue;
    }
    if (i % kDetector.columns < 17 || i % kDetector.columns >= 60) continue;
    sum += frame[i];
    ++good;
  }
  return sum / good;
}

TEST_F(Calibrate, GlareIsFittedToAnEdge) {
  std::string room = kPhysics;
  room.insert(room.rfind('}'), "glare_share: 0.09 glare_length_mm: 35 ");
  // Lag would be taken for glare, which is behind it in the chain.
  WriteBytes(directory_ / "room",
             absl::StrReplaceAll(room, {{"lag { share: 0.03 release: 0.4 }", ""},
                                        {"lag { share: 0.01 release: 0.05 }", ""}}));
  ASSERT_EQ(Detector(50, 71).exit_code, 0);
  physics::DetectorModel model = Model(71);
  model.lag.clear();
  model.glare_share = 0.09;
  model.glare_length_mm = 35;
  WriteEdge(directory_ / "flat", directory_ / "edge", model);
  const double before = InShadow(Corrections(), directory_ / "edge");
  Outcome outcome = RunCommand({"calibrate", "glare", "--disk", Path("edge"), "--into", Path("set"),
                                "--picture", Path("glare.png")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("signal in the shadow"));
  EXPECT_EQ(ReadBytes(directory_ / "glare.png"), Set().picture_png());
  const double after = InShadow(Corrections(), directory_ / "edge");
  std::printf("in the shadow: %.3f %% of air, after the correction %.3f %%\n", 100 * before,
              100 * after);
  EXPECT_GT(before, 0.003);
  EXPECT_LT(std::abs(after), 0.2 * before);
  double share = 0;
  for (const ops::SpreadTerm& term : Corrections().glare) share += term.share;
  EXPECT_NEAR(share, 0.09, 0.02);

  outcome = RunCommand({"calibrate", "glare", "--disk", Path("flat"), "--into", Path("set")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("blocks in the shadow is 0; legal is 100 at least"));
}

}  // namespace
}  // namespace isocenter::client_test
