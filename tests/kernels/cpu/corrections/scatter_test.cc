// Scatter that is a superposition of known kernels, computed here pixel by pixel from the truth,
// is found again from what arrives.
#include "tests/kernels/cpu/corrections/corrected.h"

namespace isocenter::cpu {
namespace {

constexpr Detector kDetector{.columns = 400, .rows = 320, .pitch_u_mm = 0.8, .pitch_v_mm = 0.8};
constexpr double kMu = 0.02, kGamma = 0.002;

// `strength`: of all amplitudes.
ops::Calibration Kernels(double strength) {
  ops::Calibration calibration;
  calibration.detector = kDetector;
  calibration.scatter =
      ops::ScatterKernels{.groups = {{0, 0.3 * strength, 0.55, 0.9, 22, 60, 0.4},
                                     {50, 0.35 * strength, 0.55, 0.9, 25, 70, 0.5},
                                     {120, 0.4 * strength, 0.55, 0.9, 28, 80, 0.6}},
                          .mu_water_per_mm = kMu,
                          .gamma_per_mm = kGamma};
  EXPECT_TRUE(ops::CheckCalibration(calibration).ok());
  return calibration;
}

// Adds factor · N(sigma) * from: samples of the Gaussian, one axis after the other.
void AddBlurred(const Frame& from, double factor, double sigma_mm, Frame& to) {
  const auto weight = [&](int distance) {
    const double x = distance * kDetector.pitch_u_mm / sigma_mm;
    return std::exp(-x * x / 2) * kDetector.pitch_u_mm / (sigma_mm * std::sqrt(2 * M_PI));
  };
  std::vector<double> weights;
  for (int i = 0; i < kDetector.columns; ++i) weights.push_back(weight(i));
  const int columns = kDetector.columns, rows = kDetector.rows;
  Frame along_rows(from.size(), 0.0);
  for (int v = 0; v < rows; ++v) {
    for (int i = 0; i < columns; ++i) {
      const double x = from[v * columns + i];
      if (x == 0) continue;
      for (int u = 0; u < columns; ++u) along_rows[v * columns + u] += weights[std::abs(u - i)] * x;
    }
  }
  for (int v = 0; v < rows; ++v) {
    for (int i = 0; i < rows; ++i) {
      const double w = factor * weights[std::abs(v - i)];
      for (int u = 0; u < columns; ++u) to[v * columns + u] += w * along_rows[i * columns + u];
    }
  }
}

// Of each pixel's water: what it scatters, and how far that is seen behind water of another
// thickness (Sun, Star-Lack 2010, fast adaptive superposition).
Frame ScatterOf(const Frame& primary, const ops::Calibration& calibration) {
  Frame sum(primary.size(), 0.0), sum_thickness = sum;
  const auto& groups = calibration.scatter->groups;
  for (size_t number = 0; number < groups.size(); ++number) {
    const ops::ScatterKernels::Group& group = groups[number];
    const double end = number + 1 < groups.size() ? groups[number + 1].from_mm : 1e9;
    Frame scattered(primary.size(), 0.0), with_thickness = scattered;
    for (size_t i = 0; i < primary.size(); ++i) {
      const double integral = -std::log(primary[i]), thickness = integral / kMu;
      if (integral <= 0 || thickness < group.from_mm || thickness >= end) continue;
      scattered[i] =
          group.amplitude * std::pow(primary[i], group.alpha) * std::pow(integral, group.beta);
      with_thickness[i] = thickness * scattered[i];
    }
    for (const auto& [share, sigma] : {std::pair{1 - group.wide_share, group.narrow_sigma_mm},
                                       {group.wide_share, group.wide_sigma_mm}}) {
      AddBlurred(scattered, share, sigma, sum);
      AddBlurred(with_thickness, share, sigma, sum_thickness);
    }
  }
  for (size_t i = 0; i < primary.size(); ++i) {
    const double thickness = -std::log(primary[i]) / kMu;
    sum[i] = (1 - kGamma * thickness) * sum[i] + kGamma * sum_thickness[i];
  }
  return sum;
}

struct Case {
  double strength, most;          // scattered for each that was not, at the worst place
  double rms_factor, max_factor;  // by which errors of line integrals become less
};

// What is left of the first is the blocks': edges of the water are not resolved. Eight steps leave
// a share of the second, of which swinging steps would leave a third.
TEST(Scatter, OfKnownKernelsIsTakenOff) {
  const Frame primary = BehindWater(kDetector);
  constexpr double kDose = 1.2;
  for (const Case& c : {Case{0.3, 2, 80, 60}, Case{1, 6.6, 20, 12}}) {
    const ops::Calibration calibration = Kernels(c.strength);
    const Frame scatter = ScatterOf(primary, calibration);
    Frame seen = primary, truth = primary;
    double most = 0;
    for (size_t i = 0; i < primary.size(); ++i) {
      seen[i] = kDose * (primary[i] + scatter[i]);
      truth[i] = kDose * primary[i];
      most = std::max(most, scatter[i] / primary[i]);
    }
    EXPECT_NEAR(most, c.most, 0.1);
    const Frame got =
        Corrected(kDetector, seen, [&](ops::Session& session, ops::ProjectionStack& stack) {
          const auto factory = *Backends().corrections.scatter.Find("cpu");
          const auto operation = factory(session, calibration);
          const auto doses = session.NewProjectionStack({1, 1, 1}, ops::StackUse::kLineIntegrals);
          const float dose = kDose;
          EXPECT_TRUE((*doses)->Upload(0, HostView3<const float>(&dose, {1, 1, 1})).ok());
          return operation.ok() ? (*operation)->Run(1, **doses, stack) : operation.status();
        });
    const LineError before = ErrorOf(seen, truth), after = ErrorOf(got, truth);
    EXPECT_LT(after.rms, before.rms / c.rms_factor) << c.strength;
    EXPECT_LT(after.largest, before.largest / c.max_factor) << c.strength;
  }
}

}  // namespace
}  // namespace isocenter::cpu
