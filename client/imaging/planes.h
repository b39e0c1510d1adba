// Orthogonal planes of a volume as grey images at physical aspect ratio.
#pragma once

#include <array>
#include <string>

#include "client/formats/png_image.h"
#include "client/formats/volume.h"

namespace isocenter::imaging {

/// Grey 0 at and below centre - width/2, 255 at and above centre + width/2; HU.
struct Window {
  double center = 40;
  double width = 400;
  uint8_t Gray(float hounsfield) const;
};

enum class Plane { kAxial, kCoronal, kSagittal };
const char* Name(Plane plane);

/// Voxel (i, j, k) through which the three planes go.
using SliceIndex = std::array<int, 3>;
SliceIndex MiddleSlices(const VolumeGrid& grid);

/// Size in millimetres of a plane as it is shown: width, height.
std::array<double, 2> PlaneExtent(const VolumeGrid& grid, Plane plane);

/// What of the patient is at the sides of a plane as RenderPlane shows it: letters of R and L, A
/// and P, H and F of which the direction has more than a quarter, the strongest first, as of
/// DICOM's Patient Orientation and of the page. `grid`: in the axes of the patient.
struct PlaneSides {
  std::string left, right, top, bottom;
};
PlaneSides SidesOf(const VolumeGrid& grid, Plane plane);

/// A plane with square pixels of `pixel_mm`, interpolated linearly; not-a-number is black. As in
/// radiology for a grid along the patient's axes: axial with the back below, coronal and sagittal
/// with the head above.
formats::GrayImage RenderPlane(const formats::Volume& volume, Plane plane, const SliceIndex& at,
                               const Window& window, double pixel_mm);

}  // namespace isocenter::imaging
