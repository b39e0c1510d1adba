#include "kernels/quality/phantom_study.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "kernels/base/units.h"
#include "kernels/quality/constancy.h"
#include "tests/kernels/quality/made_phantom.h"

namespace isocenter::quality {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Of a voxel's box and the Gaussian.
double Transfer(const ScanRecipe& recipe, double f) {
  const double x = kPi * f * recipe.voxel_mm;
  return (x == 0 ? 1 : std::sin(x) / x) *
         std::exp(-2 * kPi * kPi * recipe.blur_mm * recipe.blur_mm * f * f);
}
double Noise(const ScanRecipe& recipe, double f) {
  const double s = recipe.noise_blur_mm;
  return recipe.noise * recipe.noise * recipe.voxel_mm * recipe.voxel_mm *
         std::exp(-4 * kPi * kPi * s * s * f * f);
}

double HalfOf(const ScanRecipe& recipe) {
  double f = 0;
  while (Transfer(recipe, f) > 0.5) f += 1e-5;
  return f;
}

double Value(const std::vector<Measure>& measures, const std::string& name) {
  for (const Measure& measure : measures) {
    if (measure.name == name) return measure.value;
  }
  return std::nan("");
}

const ScanRecipe kClean;

const MadeScan& Clean() {
  static const MadeScan scan = MakeScan("quality", 80, kClean);
  return scan;
}

TEST(Study, OfACleanScanHasTheTransferByConstruction) {
  const auto study = StudyPhantom(Clean().view(), QualityTable(80));
  ASSERT_TRUE(study.ok()) << study.status();
  const auto measures = MeasuresOf(*study);
  for (const Measure& measure : measures) printf("%-28s %g\n", measure.name.c_str(), measure.value);
  for (const auto& [name, why] : study->unmeasured)
    printf("not %s: %s\n", name.c_str(), why.c_str());
  const double half = HalfOf(kClean);
  // The wire stands on whole voxels here, which blur nothing then: Wire's own tests have it.
  for (const char* name : {"mtf50_edge_per_mm", "mtf50_sphere_per_mm", "mtf50_axial_per_mm"}) {
    EXPECT_NEAR(Value(measures, name), half, 0.02 * half) << name;
  }
  ASSERT_TRUE(study->low_edge);
  EXPECT_NEAR(study->low_edge->transfer.mtf.FallsTo(0.5).value_or(0), half, 0.02 * half);
  EXPECT_NEAR(Value(measures, "linearity_slope"), 1, 0.002);
  EXPECT_NEAR(Value(measures, "insert_teflon_hu"), 990, 2);
  EXPECT_LT(Value(measures, "distance_error_mm"), 0.1);
  EXPECT_NEAR(Value(measures, "scale"), 1, 0.001);
  EXPECT_LT(study->place.tilt_deg, 0.1);
  EXPECT_TRUE(CheckMeasures(measures).ok()) << CheckMeasures(measures);
}

TEST(Study, OfANoisyScanHasTheNoiseAndTheIndexByConstruction) {
  ScanRecipe recipe;
  recipe.noise = 60;
  MadeScan scan = Clean();
  AddNoise(recipe, scan);
  const auto study = StudyPhantom(scan.view(), QualityTable(80));
  ASSERT_TRUE(study.ok()) << study.status();
  ASSERT_TRUE(study->nps.has_value());
  double variance = 0, index = 0, signal = 0, noisy = 0;
  constexpr double kStep = 0.004, kEnd = 0.555;
  constexpr double kRadius = 2.5;
  for (double x = -kEnd; x <= kEnd; x += kStep) {
    for (double y = -kEnd; y <= kEnd; y += kStep) {
      const double f = std::hypot(x, y), area = kStep * kStep;
      variance += Noise(recipe, f) * area;
      if (f > kEnd || f == 0) continue;
      const double z = 2 * kPi * kRadius * f;
      const double task = 10 * kPi * kRadius * kRadius * 2 * std::cyl_bessel_j(1.0, z) / z;
      const double seen = task * Transfer(recipe, f);
      index += seen * seen / Noise(recipe, f) * area;
      signal += seen * seen * area;
      noisy += seen * seen * Noise(recipe, f) * area;
    }
  }
  printf("variance %.2f of %.2f, integral %.2f\n", study->nps->variance, variance,
         study->nps->integral);
  EXPECT_NEAR(study->nps->integral, study->nps->variance, 0.02 * study->nps->variance);
  EXPECT_NEAR(study->nps->integral, variance, 0.03 * variance);
  for (const TaskFigures& task : study->tasks) {
    if (task.task.size_mm != 5) continue;
    const double plain = signal / std::sqrt(noisy);
    printf("d' %.3f of %.3f, prewhitened %.3f of %.3f\n", task.index.non_prewhitening, plain,
           task.index.prewhitening, std::sqrt(index));
    EXPECT_NEAR(task.index.non_prewhitening, plain, 0.05 * plain);
  }
  EXPECT_EQ(study->tasks.size(), 4u);
}

TEST(Study, FindsAPhantomThatLiesOtherwise) {
  const double c = std::cos(DegreesToRadians(3)), s = std::sin(DegreesToRadians(3));
  // Turned by 180 degrees about y, as feet first; then tilted by 3 degrees about x, and moved.
  ScanRecipe recipe;
  recipe.placement = {{-1, 0, 0, 0, c, s, 0, s, -c}, {4, -6, 3}};
  const MadeScan scan = MakeScan("quality", 80, recipe);
  const auto study = StudyPhantom(scan.view(), QualityTable(80));
  ASSERT_TRUE(study.ok()) << study.status();
  EXPECT_NEAR(study->place.tilt_deg, 3, 0.1);
  EXPECT_LT(Norm(study->place.placement.shift - recipe.placement.shift), 0.1);
  const auto measures = MeasuresOf(*study);
  EXPECT_NEAR(Value(measures, "insert_delrin_hu"), 340, 2);
  EXPECT_NEAR(Value(measures, "mtf50_edge_per_mm"), HalfOf(recipe), 0.02 * HalfOf(recipe));
}

/// The same voxels, the other way round along an axis (0: x, 1: y, 2: z).
MadeScan Mirrored(const MadeScan& scan, int axis) {
  const VolumeGrid& grid = scan.grid;
  MadeScan mirrored = scan;
  for (int k = 0; k < grid.nz; ++k) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) {
        const int x = axis == 0 ? grid.nx - 1 - i : i, y = axis == 1 ? grid.ny - 1 - j : j,
                  z = axis == 2 ? grid.nz - 1 - k : k;
        mirrored.voxels[(int64_t{k} * grid.ny + j) * grid.nx + i] =
            scan.voxels[(int64_t{z} * grid.ny + y) * grid.nx + x];
      }
    }
  }
  return mirrored;
}

TEST(Study, NamesAMirroredVolume) {
  const MadeScan catphan =
      MakeScan("catphan", 100, {.voxel_mm = 1.2, .nx = 184, .nz = 106, .middle = {0.1, 0.3, -20}});
  MadeScan noisy = Clean();
  AddNoise({.noise = 60}, noisy);
  for (const int axis : {0, 1, 2}) {
    for (const MadeScan* scan : {&Clean(), static_cast<const MadeScan*>(&noisy)}) {
      const auto status = StudyPhantom(Mirrored(*scan, axis).view(), QualityTable(80)).status();
      EXPECT_THAT(std::string(status.message()), HasSubstr("the volume is mirrored")) << axis;
    }
    const auto status = StudyPhantom(Mirrored(catphan, axis).view(), CatphanTable(100)).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("the volume is mirrored")) << axis;
  }
  // Turned about an axis it is no mirror image: two mirrors are none.
  for (const int axis : {0, 1}) {
    const MadeScan turned = Mirrored(Mirrored(Clean(), axis), 2);
    const auto study = StudyPhantom(turned.view(), QualityTable(80));
    ASSERT_TRUE(study.ok()) << study.status();
    EXPECT_TRUE(study->sphere.has_value());
  }
}

TEST(Study, SaysWhatIsNotThere) {
  const QualityPhantom table = QualityTable(80);
  const auto refused = [&](const MadeScan& scan) {
    return StudyPhantom(scan.view(), table).status();
  };
  ScanRecipe recipe;
  recipe.voxel_mm = 1.6;
  recipe.nx = 106;
  recipe.nz = 90;
  const MadeScan head = MakeScan("head", 80, recipe);
  EXPECT_THAT(std::string(refused(head).message()), HasSubstr("is it this phantom"));
  const MadeScan small = MakeScan("quality", 80, {.voxel_mm = 1, .nx = 64, .nz = 64, .middle = {}});
  EXPECT_THAT(std::string(refused(small).message()),
              AllOf(HasSubstr("(-42.0, -42.0, -48.0) mm, which is outside of the volume"),
                    HasSubstr("-32.0 to 32.0, -32.0 to 32.0 and -32.0 to 32.0 mm along x, y")));
  MadeScan blank = Clean();
  std::fill_n(blank.voxels.begin() + int64_t{80} * kClean.nx * kClean.nx, kClean.nx * kClean.nx,
              -1000.0f);
  EXPECT_THAT(std::string(refused(blank).message()),
              HasSubstr("slice 81 of 160 is blank: all of its voxels are -1000 HU"));
  MadeScan scaled = Clean();
  for (float& voxel : scaled.voxels) voxel = voxel * 3;
  EXPECT_THAT(std::string(refused(scaled).message()), HasSubstr("Hounsfield units"));
  MadeScan nothing = Clean();
  std::ranges::fill(nothing.voxels, 0.0f);
  EXPECT_EQ(refused(nothing).code(), absl::StatusCode::kNotFound);
  recipe.placement = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
  const double c = std::cos(DegreesToRadians(25)), s = std::sin(DegreesToRadians(25));
  recipe.placement.rotation = {1, 0, 0, 0, c, -s, 0, s, c};
  EXPECT_FALSE(refused(MakeScan("quality", 80, recipe)).ok());
}

// Where analysers of the Catphan 504 look, by their own numbers.
TEST(Catphan, HasItsInsertsWhereAnalysersLook) {
  const auto catphan = *phantom::MakePhantom("catphan", 100, 0.02);
  struct Expected {
    double degrees, hounsfield;
  };
  for (const Expected& each :
       {Expected{-90, -1000}, Expected{-120, -196}, Expected{180, -104}, Expected{120, -47},
        Expected{60, 115}, Expected{0, 365}, Expected{-60, 1000}}) {
    for (const double radius : {54.0, 58.7, 63.4}) {
      const double a = DegreesToRadians(each.degrees);
      const double mu = catphan->Attenuation({radius * std::cos(a), radius * std::sin(a), 0});
      EXPECT_NEAR(1000 * (mu / 0.02 - 1), each.hounsfield, 1e-6) << each.degrees;
    }
  }
  // Bars begin at the left and go below: fractions of the circle at 47 mm, against the clock.
  const double ends[] = {0, 0.107, 0.173, 0.236, 0.286, 0.335, 0.387, 0.434, 0.479};
  const int bars[] = {2, 3, 4, 4, 4, 5, 5, 5};
  for (int group = 0; group < 8; ++group) {
    int rises = 0;
    bool inside = false;
    for (double part = ends[group]; part < ends[group + 1]; part += 1e-5) {
      const double a = kPi - 2 * kPi * part;
      const bool now = catphan->Attenuation({47 * std::cos(a), 47 * std::sin(a), 30}) > 0.04;
      rises += now && !inside;
      inside = now;
    }
    EXPECT_EQ(rises, bars[group]) << group;
  }
}

// Every figure is there or has a reason, once: what the other has not must be in the one.
void ExpectAllFigures(const PhantomStudy& study, const std::vector<std::string>& figures) {
  const auto measures = MeasuresOf(study);
  for (const std::string& name : figures) {
    const auto reasons =
        std::ranges::count(study.unmeasured, name, &std::pair<std::string, std::string>::first);
    EXPECT_EQ(reasons, std::isnan(Value(measures, name)) ? 1 : 0) << name;
  }
}

TEST(Study, SaysWhyAFigureIsNotThere) {
  // Hardly blurred: no curve falls to a tenth below the Nyquist frequency, nor any to a half.
  ScanRecipe recipe{.voxel_mm = 1.4, .nx = 124, .nz = 116, .blur_mm = 0.3};
  const MadeScan scan = MakeScan("quality", 80, recipe);
  const auto study = StudyPhantom(scan.view(), QualityTable(80));
  ASSERT_TRUE(study.ok()) << study.status();
  const auto why = [&](const std::string& name) {
    for (const auto& [figure, reason] : study->unmeasured) {
      if (figure == name) return reason;
    }
    return std::string();
  };
  for (const auto& [name, reason] : study->unmeasured) {
    printf("not %s: %s\n", name.c_str(), reason.c_str());
  }
  EXPECT_THAT(why("mtf50_axial_per_mm"), HasSubstr("Nyquist frequency, 0.357 per mm"));
  EXPECT_THAT(why("mtf50_axial_per_mm"), HasSubstr("does not fall to 0.5"));
  EXPECT_THAT(why("mtf10_axial_per_mm"), HasSubstr("does not fall to 0.1"));
  EXPECT_NE(why("nps_mean_per_mm"), "");
  EXPECT_NE(why("detectability_8mm"), "");
  ExpectAllFigures(*study, {"water_hu",
                            "noise_hu",
                            "non_uniformity_hu",
                            "integral_non_uniformity",
                            "cupping_hu",
                            "gradient_x_hu",
                            "gradient_y_hu",
                            "insert_air_hu",
                            "insert_fat_hu",
                            "linearity_slope",
                            "linearity_intercept_hu",
                            "linearity_deviation_hu",
                            "mtf50_edge_per_mm",
                            "mtf10_edge_per_mm",
                            "mtf50_sphere_per_mm",
                            "mtf10_sphere_per_mm",
                            "mtf50_axial_per_mm",
                            "mtf10_axial_per_mm",
                            "slice_fwhm_mm",
                            "nps_mean_per_mm",
                            "cnr_low-30",
                            "cnr_low-20",
                            "cnr_low-10",
                            "detectability_3mm",
                            "detectability_5mm",
                            "detectability_8mm",
                            "detectability_10mm",
                            "distance_error_mm",
                            "scale"});
  // What is outside of the scan is named by its figures, too.
  const auto cut = StudyPhantom(
      MakeScan("catphan", 100, {.voxel_mm = 1.4, .nx = 150, .nz = 64}).view(), CatphanTable(100));
  ASSERT_TRUE(cut.ok()) << cut.status();
  ExpectAllFigures(*cut, {"water_hu", "noise_hu", "nps_mean_per_mm", "ramp_fwhm_mm", "cnr_low-15mm",
                          "insert_teflon_hu", "distance_error_mm"});
  EXPECT_TRUE(std::isnan(Value(MeasuresOf(*cut), "water_hu")));
}

// Air beyond either end, as every scan of a phantom that is shorter than the grid has it.
TEST(Catphan, IsFoundWhereTheScanGoesBeyondItsEnds) {
  struct Range {
    double low, high;
  };
  for (const Range& range : {Range{-85, 52}, Range{-110, 49}, Range{-130, 130}}) {
    ScanRecipe recipe{.voxel_mm = 1.5, .nx = 146, .blur_mm = 0.9};
    recipe.nz = static_cast<int>((range.high - range.low) / recipe.voxel_mm);
    recipe.middle = {0.1, 0.3, (range.low + range.high) / 2};
    const MadeScan scan = MakeScan("catphan", 100, recipe);
    const auto study = StudyPhantom(scan.view(), CatphanTable(100));
    ASSERT_TRUE(study.ok()) << range.low << " " << range.high << study.status();
    const auto measures = MeasuresOf(*study);
    EXPECT_LT(Norm(study->place.placement.shift), 0.5) << range.low;
    EXPECT_NEAR(Value(measures, "insert_teflon_hu"), 1000, 3) << range.low;
    EXPECT_NEAR(Value(measures, "water_hu"), 0, 1) << range.low;
    EXPECT_LT(Value(measures, "distance_error_mm"), 0.2) << range.low;
  }
  ScanRecipe recipe{.voxel_mm = 1.2, .nx = 180, .nz = 200};
  MadeScan gap = MakeScan("catphan", 100, recipe);
  std::fill_n(gap.voxels.begin() + int64_t{70} * 180 * 180, 180 * 180, -1000.0f);
  EXPECT_THAT(std::string(StudyPhantom(gap.view(), CatphanTable(100)).status().message()),
              HasSubstr("slice 71 of 200 is blank"));
}

TEST(Catphan, IsFoundByItsOutlineAndMeasured) {
  const double c = std::cos(DegreesToRadians(2)), s = std::sin(DegreesToRadians(2));
  ScanRecipe recipe{.voxel_mm = 1.2, .nx = 184, .nz = 106, .blur_mm = 0.9};
  recipe.middle = {0.1, 0.3, -20};
  for (const bool reversed : {false, true}) {
    recipe.placement = {{c, -s, 0, s, c, 0, 0, 0, 1}, {5, -3, 2}};
    if (reversed) recipe.placement = {{c, s, 0, s, -c, 0, 0, 0, -1}, {5, -3, -42}};
    const MadeScan scan = MakeScan("catphan", 100, recipe);
    const auto study = StudyPhantom(scan.view(), CatphanTable(100));
    ASSERT_TRUE(study.ok()) << study.status();
    const auto measures = MeasuresOf(*study);
    for (const Measure& measure : measures)
      printf("%-28s %g\n", measure.name.c_str(), measure.value);
    for (const auto& [name, why] : study->unmeasured)
      printf("not %s: %s\n", name.c_str(), why.c_str());
    EXPECT_LT(Norm(study->place.placement.shift - recipe.placement.shift), 0.5);
    EXPECT_NEAR(Value(measures, "insert_pmp_hu"), -196, 3);
    EXPECT_NEAR(Value(measures, "insert_delrin_hu"), 365, 3);
    EXPECT_LT(Value(measures, "distance_error_mm"), 0.2);
    EXPECT_NEAR(Value(measures, "mtf50_edge_per_mm"), HalfOf(recipe), 0.02 * HalfOf(recipe));
  }
}

}  // namespace
}  // namespace isocenter::quality
