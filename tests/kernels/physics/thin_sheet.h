// What a thin sheet of water scatters, as an integral that shares nothing with the simulation.
#pragma once

#include <xraylib/xraylib.h>

#include <cmath>
#include <utility>
#include <vector>

#include "kernels/geometry/vec3.h"
#include "kernels/physics/beam.h"
#include "kernels/physics/material.h"

namespace isocenter::physics {

inline double WaterDifferential(double kev, double angle,
                                double (*of)(int, double, double, xrl_error**)) {
  return 0.1 * (0.111898 * of(1, kev, angle, nullptr) + 0.888102 * of(8, kev, angle, nullptr));
}

/// A sheet across the beam, thin enough for one interaction: what a point of the detector gets from
/// it by first order, over what it gets without it, as an integral over the sheet.
struct ThinSheet {
  static constexpr double kCsiMm = 0.6;
  static constexpr double kSourceX = 750;  // of the source, on the x axis

  double density, half_mm, half_thickness_mm;

  /// From a point of the sheet to one of the detector or of the source.
  double PathMm(Vec3 from, Vec3 direction) const {
    const double room = half_thickness_mm + (direction.x > 0 ? -from.x : from.x);
    return room / std::abs(direction.x);
  }

  Reading FirstOrder(Vec3 target, const std::vector<std::pair<double, double>>& spectrum) const {
    constexpr int kAcross = 30, kDeep = 2;
    const Vec3 source{kSourceX, 0, 0};
    const double volume = std::pow(2 * half_mm / kAcross, 2) * 2 * half_thickness_mm / kDeep;
    Reading sum{0, 0};
    double mean_signal = 0;
    for (const auto& [kev, photons] : spectrum)
      mean_signal += photons * SignalOfPhoton(kev, kCsiMm);
    for (int i = 0; i < kAcross * kAcross * kDeep; ++i) {
      const Vec3 at{((i % kDeep + 0.5) / kDeep * 2 - 1) * half_thickness_mm,
                    ((i / kDeep % kAcross + 0.5) / kAcross * 2 - 1) * half_mm,
                    ((i / kDeep / kAcross + 0.5) / kAcross * 2 - 1) * half_mm};
      const Vec3 in = at - source, out = target - at, direct = target - source;
      const Vec3 a = (1 / Norm(in)) * in, b = (1 / Norm(out)) * out;
      const double angle = std::acos(Dot(a, b));
      // Fluence there times the solid angle of an area of the detector, over its open fluence.
      const double geometry = 1 / Dot(in, in) * std::abs(b.x) / Dot(out, out) /
                              (std::abs(direct.x) / Norm(direct) / Dot(direct, direct));
      for (const auto& [kev, photons] : spectrum) {
        const auto through = [&](double e, Vec3 direction) {
          return std::exp(-density * LinearAttenuation(KnownMaterial("water"), e) *
                          PathMm(at, direction));
        };
        const double after = kev / (1 + kev / 511 * (1 - std::cos(angle)));
        const auto add = [&](double differential, double to_kev) {
          const double share = volume * geometry * photons * density * through(kev, -a) *
                               differential * through(to_kev, b);
          const double signal = SignalOfPhoton(to_kev, kCsiMm) / mean_signal;
          sum.signal += share * signal;
          sum.variance += share * signal * signal;
        };
        add(WaterDifferential(kev, angle, DCS_Rayl), kev);
        add(WaterDifferential(kev, angle, DCS_Compt), after);
      }
    }
    return sum;
  }

  /// The mean over one of 5 x 4 cells of a detector of 300 mm x 240 mm.
  Reading InCell(int cell, double detector_x,
                 const std::vector<std::pair<double, double>>& spectrum) const {
    constexpr int kPoints = 2;
    Reading mean{0, 0};
    for (int p = 0; p < kPoints * kPoints; ++p) {
      const double du = (p % kPoints + 0.5) / kPoints, dv = (p / kPoints + 0.5) / kPoints;
      const Vec3 target{detector_x, (cell % 5 + du) / 5 * 300 - 150,
                        (cell / 5 + dv) / 4 * 240 - 120};
      const Reading point = FirstOrder(target, spectrum);
      mean.signal += point.signal / (kPoints * kPoints);
      mean.variance += point.variance / (kPoints * kPoints);
    }
    return mean;
  }
};

}  // namespace isocenter::physics
