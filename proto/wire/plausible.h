// What a header may say, and hardly means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "isocenter/v1/acquisition.pb.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::wire {

/// A sentence for a grid whose corner is at the isocentre: what a grid says of whom nobody has told
/// where it lies. `field`: of the grid, "grid".
std::optional<std::string> CornerAtIsocenter(absl::string_view field, const v1::VolumeGrid& grid);

/// What a legal grid hardly means: voxels that are not 0.01 to 10 mm long (along an axis with more
/// than one), and a longest side below 2 % or beyond 4 times what the detector sees around the
/// isocentre. `field`: of the grid, "grid". `trajectory`: in millimetres; where it does not tell
/// what is seen (it is empty, or the isocentre falls beside the detector), only voxels are judged.
std::vector<std::string> ImplausibleGrid(absl::string_view field, const VolumeGrid& grid,
                                         const Trajectory& trajectory, const Detector& detector);

/// What matrices themselves tell: frames of which views are missing in between, an axis of rotation
/// that is more than 60 degrees from z, and pixels whose sides have another ratio than the pitches.
/// No frame tells whether both pitches are wrong alike, and no volume depends on it. `trajectory`:
/// in millimetres.
std::vector<std::string> ImplausibleMatrices(const Trajectory& trajectory, double pitch_u_mm,
                                             double pitch_v_mm);

/// A sentence for each field of a legal header whose value no C-arm has, with the value and what is
/// plausible: a detector that is not 20 to 1000 mm wide and 5 to 1000 mm high, a tube voltage
/// beyond 40 to 150 kV, a source beyond 300 to 2000 mm from the isocentre, more than 500 frames in
/// a second, a study before 1990 or after tomorrow, a patient born before 1900 or after tomorrow,
/// frames that are more than 60 degrees of the arc apart, or more than 3.5 of the usual steps and 5
/// degrees, sources that turn about another axis than z, and matrices whose pixels have sides in
/// another ratio than pitch_u_mm to pitch_v_mm, by more than 0.5 % (root mean square), and a grid
/// of which CornerAtIsocenter or ImplausibleGrid has something to say. What is not given (0, or
/// empty) is not judged. `trajectory`: that of the header, in millimetres.
std::vector<std::string> ImplausibleFields(const v1::AcquisitionHeader& header,
                                           const Trajectory& trajectory, absl::Time now);

}  // namespace isocenter::wire
