// What a detector makes of a spectrum behind an object.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/physics/material.h"
#include "kernels/physics/spectrum.h"

namespace isocenter::physics {

/// What a photon gives on average in a screen of caesium iodide (keV); see Beam.
double SignalOfPhoton(double kev, double csi_mm);

/// What reaches a pixel, relative to what reaches it without an object.
struct Reading {
  double signal = 1;  // the mean: Σ nᵢ·sᵢ·aᵢ / Σ nᵢ·sᵢ
  double variance =
      1;  // of the signal, times the photons without an object: Σ nᵢ·sᵢ²·aᵢ / (Σ nᵢ·sᵢ)²
};

/// A spectrum of nᵢ photons of energy Eᵢ in front of materials that let aᵢ of them through, and a
/// screen of caesium iodide that integrates energy: a photon gives sᵢ = Eᵢ·(1 - exp(-μt))·τ/μ on
/// average, its energy where it is absorbed by the photoelectric effect (τ of μ). Fluorescence does
/// not leave the place of absorption, and what is scattered in the screen leaves it.
class Beam {
 public:
  /// Thickness of the screen without its gaps: 0.05 to 5 mm. Errors: INVALID_ARGUMENT (thickness, a
  /// spectrum without photons that the screen sees).
  static absl::StatusOr<Beam> Make(const Spectrum& spectrum, double csi_mm,
                                   std::vector<Material> materials);

  const std::vector<Material>& materials() const { return materials_; }

  /// Behind `mm` of each of the materials, in their order.
  Reading Behind(std::span<const double> mm) const;

  /// The same as part of a wider beam: `photons` for each photon of a `reference`, to which all
  /// readings then relate, those without an object too. The screens are the same.
  Beam Beside(const Beam& reference, double photons) const;

  /// Of the energy that reaches the screen without an object, the share that becomes signal.
  double absorbed_share() const { return absorbed_share_; }

 private:
  std::vector<Material> materials_;
  std::vector<double> signal_;              // nᵢ·sᵢ / Σ
  std::vector<double> variance_;            // nᵢ·sᵢ² / Σ²
  std::vector<double> linear_attenuation_;  // [energy][material], 1/mm
  double absorbed_share_ = 0;
  double mean_signal_ = 0;  // of a photon, keV
};

/// The path in water (mm) that effective energies are stated for: a head.
inline constexpr double kReferenceWaterMm = 200;

/// The energy (keV) at which water attenuates as much as `beam`'s signal is attenuated behind
/// kReferenceWaterMm of it. The beam's first material is water.
double EffectiveKev(const Beam& beam);

}  // namespace isocenter::physics
