// Everything that a scan of a phantom tells of a scanner's image quality.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/phantom_tables/module_table.h"
#include "kernels/quality/detectability.h"
#include "kernels/quality/modulation_transfer.h"
#include "kernels/quality/noise_power.h"
#include "kernels/quality/phantom_placement.h"
#include "kernels/quality/second_scan.h"
#include "kernels/quality/slice_ramp.h"
#include "kernels/quality/sphere_transfer.h"

namespace isocenter::quality {

inline constexpr double kTaskSizes[] = {3, 5, 8, 10};  // of detection tasks, mm

struct InsertFigures {
  std::string name;
  double nominal = 0;  // HU
  RegionFigures figures;
  Vec3 center;           // in the world, as the phantom lies
  double radius_mm = 0;  // of the whole insert
};

struct LowContrastFigures {
  std::string name;
  double nominal = 0, diameter_mm = 0;
  double contrast = 0, cnr = 0;  // HU; in units of the noise beside it
};

struct TaskFigures {
  DetectionTask task;
  Detectability index;
};

/// A curve, and of which module.
template <class Transfer>
struct Of {
  std::string name;
  Transfer transfer;
};

struct PhantomStudy {
  PhantomPlace place;
  std::vector<InsertFigures> inserts;
  std::optional<Linearity> linearity;
  std::optional<RegionFigures> noise;
  std::optional<Uniformity> uniformity;
  std::optional<NoisePower> nps, nps_3d;
  std::optional<SecondScanNoise> second_scan;
  std::optional<Of<EdgeTransfer>> edge, low_edge;  // of the most and the least contrast
  std::optional<WireTransfer> wire;
  std::optional<SphereTransfer> sphere;
  std::vector<Of<RampProfile>> ramps;
  std::optional<double> slice_fwhm_mm, ramp_fwhm_mm;  // of the sphere; the mean of the ramps
  std::optional<double> distance_error_mm;
  std::vector<LowContrastFigures> low_contrasts;
  std::vector<TaskFigures> tasks;
  /// Figures that the phantom defines (MeasuresOf) and curves that the scan does not show well
  /// enough, and why.
  std::vector<std::pair<std::string, std::string>> unmeasured;
};

/// With `again`, a second scan of the phantom on the same grid, the noise power is that of half of
/// their difference squared. A part that cannot be measured is in `unmeasured`. Errors: those of
/// PlacePhantom; INVALID_ARGUMENT for a second scan on another grid; those of CheckSecondScan.
absl::StatusOr<PhantomStudy> StudyPhantom(const VolumeView& volume, const QualityPhantom& phantom,
                                          const VolumeView* again = nullptr);

}  // namespace isocenter::quality
