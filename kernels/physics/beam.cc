#include "kernels/physics/beam.h"

#include <cassert>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace isocenter::physics {

double SignalOfPhoton(double kev, double csi_mm) {
  const Material& csi = KnownMaterial("csi");
  const double photo_share = MassPhotoAbsorption(csi, kev) / MassAttenuation(csi, kev);
  return -std::expm1(-LinearAttenuation(csi, kev) * csi_mm) * photo_share * kev;
}

absl::StatusOr<Beam> Beam::Make(const Spectrum& spectrum, double csi_mm,
                                std::vector<Material> materials) {
  if (!(csi_mm >= 0.05 && csi_mm <= 5)) {
    return absl::InvalidArgumentError(absl::StrCat("csi_mm is ", csi_mm, "; legal is 0.05 to 5"));
  }
  Beam beam;
  beam.materials_ = std::move(materials);
  double sum = 0, energy = 0;
  for (size_t i = 0; i < spectrum.kev.size(); ++i) {
    if (spectrum.photons[i] == 0) continue;
    const double kev = spectrum.kev[i];
    const double of_photon = SignalOfPhoton(kev, csi_mm);
    const double signal = spectrum.photons[i] * of_photon;
    sum += signal;
    energy += spectrum.photons[i] * kev;
    beam.signal_.push_back(signal);
    beam.variance_.push_back(signal * of_photon);
    for (const Material& material : beam.materials_) {
      beam.linear_attenuation_.push_back(LinearAttenuation(material, kev));
    }
  }
  if (!(sum > 0)) return absl::InvalidArgumentError("the screen sees no photon of the spectrum");
  for (double& signal : beam.signal_) signal /= sum;
  for (double& variance : beam.variance_) variance /= sum * sum;
  beam.absorbed_share_ = sum / energy;
  beam.mean_signal_ = sum;
  return beam;
}

Beam Beam::Beside(const Beam& reference, double photons) const {
  Beam beam = *this;
  const double ratio = mean_signal_ / reference.mean_signal_;
  for (double& signal : beam.signal_) signal *= photons * ratio;
  for (double& variance : beam.variance_) variance *= photons * ratio * ratio;
  return beam;
}

Reading Beam::Behind(std::span<const double> mm) const {
  assert(mm.size() == materials_.size());
  Reading reading{0, 0};
  const double* attenuation = linear_attenuation_.data();
  for (size_t i = 0; i < signal_.size(); ++i) {
    double line_integral = 0;
    for (double length : mm) line_integral += length * *attenuation++;
    const double through = std::exp(-line_integral);
    reading.signal += signal_[i] * through;
    reading.variance += variance_[i] * through;
  }
  return reading;
}

double EffectiveKev(const Beam& beam) {
  assert(!beam.materials().empty() && beam.materials()[0].name == "water");
  std::vector<double> mm(beam.materials().size());
  mm[0] = kReferenceWaterMm;
  const double mean = -std::log(beam.Behind(mm).signal) / kReferenceWaterMm;
  double low = kLeastKev, high = kMostKev;  // water attenuates less at every higher energy
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (LinearAttenuation(beam.materials()[0], middle) > mean ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace isocenter::physics
