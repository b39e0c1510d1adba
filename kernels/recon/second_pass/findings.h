// What a second pass says that it found, and what it did about it: a sentence with figures each.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/ops/calibration.h"
#include "kernels/recon/second_pass/line_changes.h"
#include "kernels/recon/second_pass/settings.h"

namespace isocenter::recon {

struct MetalFindings {
  int64_t seen_voxels = 0;  // that look like metal
  int64_t voxels = 0;       // that rays say are
  int64_t pieces = 0;       // that hang together
  LineChanges replaced;     // by the first interpolation; kViewsAsked views at most
};
/// `voxel_mm3`: of one voxel.
std::string ToText(const MetalFindings& found, const MetalSettings& settings, double voxel_mm3);

struct BoneFindings {
  int64_t voxels = 0;    // above the table's from_hu
  LineChanges hardened;  // kViewsAsked views at most
};
std::string ToText(const BoneFindings& found, const ops::BoneTable& table, double voxel_mm3);

/// `taken_off`: of stripes, from kViewsAsked views at most.
std::string StripesText(const LineChanges& taken_off);

}  // namespace isocenter::recon
