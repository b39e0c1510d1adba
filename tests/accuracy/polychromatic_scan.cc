#include "tests/accuracy/polychromatic_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kernels/base/units.h"
#include "kernels/calibrate/bone_fit.h"
#include "kernels/physics/row_beams.h"
#include "kernels/physics/tissue.h"
#include "kernels/physics/tungsten.h"
#include "kernels/physics/view.h"

namespace isocenter {
namespace {

constexpr double kI0 = 60000;
constexpr int kTerms = 6;

// The solution of the symmetric, positive definite a·x = b.
std::vector<double> Solved(std::array<std::array<double, kTerms>, kTerms> a,
                           std::array<double, kTerms> b) {
  for (int i = 0; i < kTerms; ++i) {
    for (int k = i + 1; k < kTerms; ++k) {
      const double factor = a[k][i] / a[i][i];
      for (int j = i; j < kTerms; ++j) a[k][j] -= factor * a[i][j];
      b[k] -= factor * b[i];
    }
  }
  std::vector<double> x(kTerms);
  for (int i = kTerms - 1; i >= 0; --i) {
    double rest = b[i];
    for (int j = i + 1; j < kTerms; ++j) rest -= a[i][j] * x[j];
    x[i] = rest / a[i][i];
  }
  return x;
}

double OfWater(const std::vector<double>& coefficient, double p) {
  double value = 0;
  for (size_t n = coefficient.size(); n > 0; --n) value = (value + coefficient[n - 1]) * p;
  return value;
}

}  // namespace

PolychromaticScan::PolychromaticScan(const Detector& detector, int views, double kv,
                                     const std::string& metal)
    : detector_(detector), views_(views) {
  std::vector<physics::Material> materials = physics::TissueMaterials();
  const physics::Material titanium = materials[2];
  materials[2] = *physics::FindMaterial(metal);
  beam_ = std::make_unique<physics::Beam>(*physics::Beam::Make(
      *physics::TungstenSpectrum({.kv = kv, .copper_mm = 0.2}), 0.6, std::move(materials)));
  kev_ = physics::EffectiveKev(*beam_);
  mu_water_ = physics::LinearAttenuation(beam_->materials()[0], kev_);
  mu_bone_ = physics::LinearAttenuation(beam_->materials()[1], kev_);
  // TissueMap makes titanium of its own density of this, whose paths the beam takes for the metal.
  metal_relative_ = physics::LinearAttenuation(titanium, kev_) / mu_water_;
  auto known = std::make_shared<ops::Calibration>();
  known->name = "perfect";
  known->detector = detector_;
  known->mu_water_per_mm = mu_water_;
  FitWater(*known);
  FillBoneTable(*known);
  calibration_ = std::move(known);
}

double PolychromaticScan::LineIntegral(double water_mm, double bone_mm) const {
  return -std::log(beam_->Behind(std::array{water_mm, bone_mm, 0.0}).signal);
}

void PolychromaticScan::FitWater(ops::Calibration& known) const {
  // Least squares of p over powers of the polychromatic one, up to what counts are trusted to.
  std::array<std::array<double, kTerms>, kTerms> a{};
  std::array<double, kTerms> b{};
  constexpr double kScale = ops::kLongestLineIntegral;
  for (double mm = 2;; mm += 2) {
    const double p = LineIntegral(mm, 0) / kScale;
    if (p > 1) break;
    for (int i = 0; i < kTerms; ++i) {
      for (int j = 0; j < kTerms; ++j) a[i][j] += std::pow(p, i + j + 2);
      b[i] += std::pow(p, i + 1) * mm * mu_water_;
    }
  }
  known.water.coefficient = Solved(a, b);
  for (int i = 0; i < kTerms; ++i) known.water.coefficient[i] /= std::pow(kScale, i + 1);
}

void PolychromaticScan::FillBoneTable(ops::Calibration& known) const {
  ops::BoneTable& table = known.bone.emplace();
  table.line_integrals = 41;
  table.bones = 25;
  table.most_line_integral = 10;
  table.most_bone_mm = 120;
  table.from_hu = 100;
  table.full_hu = 1000 * (mu_bone_ / mu_water_ - 1);
  const auto corrected = [&](double water_mm, double bone_mm) {
    return OfWater(known.water.coefficient, LineIntegral(water_mm, bone_mm));
  };
  for (int j = 0; j < table.bones; ++j) {
    const double bone_mm = table.most_bone_mm * j / (table.bones - 1);
    for (int i = 0; i < table.line_integrals; ++i) {
      const double p = table.most_line_integral * i / (table.line_integrals - 1);
      double low = 0, high = 700;
      for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2;
        (corrected(middle, bone_mm) < p ? low : high) = middle;
      }
      const double seen = std::max(p, corrected(0, bone_mm));
      table.added.push_back(j == 0 ? 0 : mu_water_ * low + mu_bone_ * bone_mm - seen);
    }
  }
}

void PolychromaticScan::MeasureBone() {
  std::vector<calibrate::BoneStep> steps;
  for (const double water : {20, 60, 100, 150, 200}) {
    for (const double bone : {0, 5, 10, 20, 40, 60, 80, 100}) {
      const double p = LineIntegral(water, bone);
      // Of more than that counts tell little.
      if (p < 8) steps.push_back({water, bone, p});
    }
  }
  auto known = std::make_shared<ops::Calibration>(*calibration_);
  const auto fit = calibrate::FitBone(steps, known->water, mu_water_);
  EXPECT_TRUE(fit.ok()) << fit.status();
  if (fit.ok()) known->bone = fit->table;
  known->name = "measured";
  calibration_ = std::move(known);
}

recon::Acquisition PolychromaticScan::acquisition() const {
  recon::Acquisition acquisition{.detector = detector_, .i0_counts = kI0};
  acquisition.calibration = calibration_;
  acquisition.trajectory =
      *MakeCircularOrbit({.views = views_,
                          .source_to_isocenter_mm = 750,
                          .source_to_detector_mm = 1200,
                          .start_angle = 0.3,
                          .arc = DegreesToRadians(360.0 * (views_ - 1) / views_)},
                         detector_);
  return acquisition;
}

std::vector<uint16_t> PolychromaticScan::Counts(const std::vector<HuBody>& bodies) const {
  std::vector<phantom::Part> parts;
  for (const HuBody& part : bodies) {
    const double relative = part.hu == kMetalHu ? metal_relative_ : 1 + part.hu / 1000;
    parts.push_back({part.body, relative * mu_water_});
  }
  const phantom::CompositePhantom object(std::move(parts),
                                         phantom::CompositePhantom::Overlap::kReplace);
  const physics::TissueObject tissue(object, mu_water_, physics::TissueMap(kev_, true));
  const physics::RowBeams beams(*beam_);
  const recon::Acquisition scan = acquisition();
  ThreadPool pool(UsableCores());
  std::vector<physics::Reading> readings(size_t(detector_.rows) * detector_.columns);
  std::vector<uint16_t> counts;
  for (const ProjectionMatrix& matrix : scan.trajectory) {
    physics::ReadView(tissue, beams, {&matrix, 1}, detector_, 1, pool, readings);
    for (const physics::Reading& reading : readings) {
      counts.push_back(static_cast<uint16_t>(std::lround(kI0 * reading.signal)));
    }
  }
  return counts;
}

}  // namespace isocenter
