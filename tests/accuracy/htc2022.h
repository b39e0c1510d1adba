// Fan-beam scans of the Helsinki Tomography Challenge 2022 (Zenodo 6984868, CC BY 4.0), which are
// not part of this project: without them there is nothing to test.
#pragma once

#include <string>
#include <vector>

#include "kernels/geometry/fan_beam.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::htc2022 {

inline constexpr int kViews = 720, kChannels = 560;  // the file's last view repeats the first
inline constexpr int kPixels = 512;
inline constexpr double kPixelMm = 0.148322;

FanBeamGeometry Geometry();
VolumeGrid Grid();
/// Named by ISOCENTER_HTC2022, or where they lie beside the project.
std::string Directory();
/// Line integrals [view][channel] of "solid_disc" or "ta". Empty where there is no such file.
std::vector<float> LineIntegrals(const std::string& scan);
/// What the organizers reconstructed from it, 1/mm, [y][x] of Grid(). Empty likewise.
std::vector<float> TheirReconstruction(const std::string& scan);

}  // namespace isocenter::htc2022
