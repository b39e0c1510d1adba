// What a second pass of a reconstruction is to correct for.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/projector.h"

namespace isocenter::recon {

/// How metal is found in the first volume and taken out of the line integrals.
struct MetalSettings {
  double metal_hu = 3000;       // a voxel of at least so much is metal; 1000 to 30000
  double metal_edge_hu = 2500;  // its neighbours, too, from here on; 500 to metal_hu
  double least_mm3 = 3;         // smaller pieces are none; 0 to 1000
  int trace_margin_px = 2;      // around what sees metal; 0 to ops::kMostTraceMargin
  /// Of the prior: what is below the first is air, -1000 to tissue_hu; what is between the other
  /// two is water, -500 to 0 and 100 to 2000; the rest, edges to air and bone, is as it is.
  double air_hu = -700;
  double tissue_hu = -200;
  double bone_hu = 250;
};

/// The one that is exact over slabs.
inline constexpr ops::ProjectorModel kSecondPassProjector = ops::ProjectorModel::kJoseph;

struct SecondPassSettings {
  std::optional<MetalSettings> metal;
  bool stripes = false;         // what pixels have too much in all views (ops::RemoveStripes)
  bool scatter = false;         // with the scatter model of the acquisition's calibration
  bool bone = false;            // with the bone table of the acquisition's calibration
  bool cone_beam = false;       // what orbits in a plane leave of bone and air in the volume
  bool motion = false;          // of the object as a whole; alone: it begins with the frames
  bool self_calibrate = false;  // where the detector was; alone, as motion
  bool complete_rows = false;   // that the detector cuts; alone, as motion
  /// With self_calibrate: an earlier volume of the same patient is held beside the frames, of this
  /// grid in axes of the scan's world; its voxels are given by Refinement::SetReference.
  std::optional<VolumeGrid> reference;
};

/// Whether frames are needed beside the first volume.
inline bool NeedsLines(const SecondPassSettings& settings) {
  return settings.metal || settings.stripes || settings.scatter || settings.bone ||
         settings.motion || settings.self_calibrate || settings.complete_rows;
}

/// Errors: INVALID_ARGUMENT naming the field, its value and what is legal; also when there is
/// nothing to correct for, another one beside motion, self_calibrate or
/// complete_rows, or a reference without
/// self_calibrate.
absl::Status ValidateSecondPassSettings(const SecondPassSettings& settings);

}  // namespace isocenter::recon
