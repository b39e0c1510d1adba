// How well model observers see a round object of low contrast, from sharpness and noise.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/quality/transfer_curve.h"

namespace isocenter::quality {

/// The object that is there or not, and how its slice is looked at.
struct DetectionTask {
  enum class Profile { kDisc, kGaussian } profile = Profile::kDisc;
  double contrast = 10;        // HU, of the disc or in the Gaussian's middle
  double size_mm = 5;          // the disc's diameter; the Gaussian's standard deviation
  double viewing_mm = 475;     // from eye to display
  double magnification = 1.5;  // mm on the display for 1 mm of the patient
};

/// Indices d' (AAPM TG-233, 2019; ICRU Report 87, 2012), with W the task's transform, T the
/// transfer function, N the noise power, E the eye's filter, integrals over the plane of
/// frequencies:
struct Detectability {
  double prewhitening = 0;      // d'² = ∫ W²T²/N: the ideal observer of Gaussian noise
  double non_prewhitening = 0;  // d'² = (∫ W²T²)² / ∫ W²T²N
  double with_eye = 0;          // d'² = (∫ W²T²E²)² / ∫ W²T²E⁴N; no internal noise
};

/// E = |ρ^1.5 exp(-0.98 ρ^0.68)|², ρ in cycles per degree of the eye (Saunders, Samei, Med. Phys.
/// 33 (2006) 308).
double EyeFilter(double cycles_per_degree);

/// `transfer` is 1 at frequency 0; `noise` is the radial NPS of slices in HU² mm². Integrated to
/// where the shorter of the two curves ends. Errors: INVALID_ARGUMENT with the value and what is
/// legal: the task's, empty curves, noise power that is not positive and finite.
absl::StatusOr<Detectability> MeasureDetectability(const DetectionTask& task,
                                                   const FrequencyCurve& transfer,
                                                   const FrequencyCurve& noise);

}  // namespace isocenter::quality
