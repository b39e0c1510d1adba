#include "kernels/recon/second_pass/findings.h"

#include "absl/strings/str_format.h"

namespace isocenter::recon {
namespace {

constexpr double kMm3PerMl = 1000;

double Millilitres(int64_t voxels, double voxel_mm3) {
  return static_cast<double>(voxels) * voxel_mm3 / kMm3PerMl;
}

}  // namespace

// A pass that did nothing looks like one that did: the volume is the first one.
std::string ToText(const MetalFindings& found, const MetalSettings& settings, double voxel_mm3) {
  if (found.seen_voxels == 0) {
    return absl::StrFormat("metal: no voxel above %g HU in %g mm³ or more: nothing was corrected",
                           settings.metal_hu, settings.least_mm3);
  }
  if (found.voxels == 0) {
    return absl::StrFormat(
        "metal: %d voxels above %g HU, but the rays through them lack nothing: nothing was "
        "corrected",
        found.seen_voxels, settings.metal_hu);
  }
  return absl::StrFormat(
      "metal: %.3g ml in %d piece%s; %.2g %% of the rays were replaced, their line integrals by "
      "%.2f less on average",
      Millilitres(found.voxels, voxel_mm3), found.pieces, found.pieces == 1 ? "" : "s",
      100 * found.replaced.changed_share(), found.replaced.mean_fall());
}

std::string ToText(const BoneFindings& found, const ops::BoneTable& table, double voxel_mm3) {
  if (found.voxels == 0) {
    return absl::StrFormat("bone: no voxel above %g HU: nothing was corrected", table.from_hu);
  }
  return absl::StrFormat(
      "bone: %.3g ml above %g HU; %.2g %% of the rays were corrected, their line integrals by %.3f "
      "more on average",
      Millilitres(found.voxels, voxel_mm3), table.from_hu, 100 * found.hardened.changed_share(),
      -found.hardened.mean_fall());
}

std::string StripesText(const LineChanges& taken_off) {
  return absl::StrFormat("stripes: %.2g of a line integral (RMS) were taken off the rays",
                         taken_off.rms());
}

}  // namespace isocenter::recon
