// Where an earlier volume's patient lies in a scan.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/recon/self_calibration/reference/comparison.h"
#include "kernels/recon/self_calibration/smooth_shifts.h"

namespace isocenter::recon {

/// Pixels whose rays enter and leave the volume in less than this share of water's attenuation know
/// all of the volume that they pass.
inline constexpr double kAirShare = 0.3;

struct PatientPlace {
  std::vector<double> six;  // matrix_model.h: of the volume whose middle was at the isocentre
  double similarity = 0;    // mean gradient correlation of the finest level
};

/// What all searches for a reference work with; it must outlive them.
struct ReferenceScan {
  const Acquisition& acquisition;
  const BinnedLines& lines;
  const ReferenceVolume& reference;
  double mu_water_per_mm;
  const ops::Registry& registry;
  ops::Device& device;
  ThreadPool& threads;
};

/// Edges of frames do not tell places apart whose similarities differ by less.
inline constexpr double kLeastPlaceGain = 0.001;

/// From the volume's own place, and from where the middle of its attenuation is the scan's, turned
/// about each axis by 15 degrees: coarse to fine, with the detector's `moves`. Patients 14 mm and
/// 11 degrees away were found. The volume's own place where no other is better by kLeastPlaceGain.
absl::StatusOr<PatientPlace> FindPatient(const ReferenceScan& scan,
                                         std::span<const DetectorMove> moves, const GoOn& go_on);

}  // namespace isocenter::recon
