#include "kernels/recon/rings.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/geometry/orbit_axis.h"
#include "kernels/ops/check.h"
#include "kernels/recon/slabs.h"

namespace isocenter::recon {
namespace {

absl::StatusOr<ops::RingSpec> SpecOf(const Trajectory& trajectory, const VolumeGrid& grid) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  ISO_RETURN_IF_ERROR(CheckRingVoxels(grid));
  ISO_ASSIGN_OR_RETURN(const Vec3 axis, OrbitAxis(trajectory));
  const Vec3 normal{grid.direction[2], grid.direction[5], grid.direction[8]};
  const double along = std::abs(Dot(axis, normal));
  const double tilt_deg = RadiansToDegrees(std::acos(std::min(along, 1.0)));
  if (tilt_deg > kMostRingTiltDeg) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the volume's slices are turned by ", tilt_deg,
        " degrees from the orbit's plane; legal for rings is at most ", kMostRingTiltDeg));
  }
  const Vec3 isocenter = grid.WorldToVoxel({0, 0, 0}), further = grid.WorldToVoxel(axis);
  const double part = (0.5 * (grid.nz - 1) - isocenter.z) / (further.z - isocenter.z);
  return ops::RingSpec{.grid = grid,
                       .axis_i = isocenter.x + part * (further.x - isocenter.x),
                       .axis_j = isocenter.y + part * (further.y - isocenter.y)};
}

absl::StatusOr<int> SlicesAtOnce(const ops::RingSpec& spec, const ops::RemoveRingsFactory& factory,
                                 const ops::Device& device) {
  const int64_t limit = device.limits().memory_bytes;
  for (int slices = spec.grid.nz;; slices = (slices + 1) / 2) {
    const VolumeGrid part = SlicesOf(spec.grid, 0, slices);
    const int64_t bytes = device.VolumeBytes(part) +
                          factory.WorkspaceBytes(device, {.stack = {}, .grid = part}, spec);
    if (bytes <= limit) return slices;
    if (slices == 1) {
      return absl::ResourceExhaustedError(absl::StrCat("rings of a slice need ", BytesText(bytes),
                                                       " of memory; the limit is ",
                                                       BytesText(limit)));
    }
  }
}

double WidestMm(const VolumeGrid& grid) { return std::max(grid.spacing.x, grid.spacing.y); }

}  // namespace

absl::Status CheckRingVoxels(const VolumeGrid& grid) {
  if (WidestMm(grid) <= kMostRingVoxelMm) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the voxels of a slice are ", WidestMm(grid), " mm wide; legal for rings is at most ",
      kMostRingVoxelMm, " mm: in wider ones round bone goes with the rings"));
}

std::optional<std::string> CoarseRingsText(const Acquisition& acquisition, const VolumeGrid& grid) {
  // Pixels for a millimetre at the isocentre, along the row.
  const ProjectionMatrix& p = acquisition.trajectory[acquisition.trajectory.size() / 2];
  const double u = p(0, 3) / p(2, 3);
  const Vec3 by_mm{p(0, 0) - u * p(2, 0), p(0, 1) - u * p(2, 1), p(0, 2) - u * p(2, 2)};
  const double pixel_mm = std::abs(p(2, 3)) / Norm(by_mm), voxel_mm = WidestMm(grid);
  if (voxel_mm <= kMostRingVoxelPixels * pixel_mm) return std::nullopt;
  return absl::StrFormat(
      "the voxels of a slice are %.3g pixels of the detector wide (%.3g mm; a pixel is %.3g mm at "
      "the isocentre): most of the rings that single pixels make stay; legal is at most %g pixels, "
      "%.3g mm",
      voxel_mm / pixel_mm, voxel_mm, pixel_mm, kMostRingVoxelPixels,
      kMostRingVoxelPixels * pixel_mm);
}

std::string ToText(const RingsTakenOff& rings) {
  return absl::StrFormat("rings: %.2g HU (RMS), %.3g HU at most, were taken off the volume",
                         rings.rms_hu, rings.most_hu);
}

absl::StatusOr<RingsTakenOff> RemoveRings(const Trajectory& trajectory, const VolumeGrid& grid,
                                          const ops::Registry& registry, ops::Device& device,
                                          HostView3<float> hounsfield) {
  ISO_ASSIGN_OR_RETURN(const ops::RingSpec spec, SpecOf(trajectory, grid));
  ISO_RETURN_IF_ERROR(ops::CheckRings(spec));
  ISO_RETURN_IF_ERROR(ops::CheckSameShape("the volume", hounsfield.shape(), grid.shape()));
  for (const float value : hounsfield.span()) {
    if (std::isfinite(value)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the volume has a value of ", value, " HU; legal is finite"));
  }
  ISO_ASSIGN_OR_RETURN(const auto factory, registry.rings.Find(device.backend()));
  ISO_ASSIGN_OR_RETURN(const int at_once, SlicesAtOnce(spec, factory, device));
  ISO_ASSIGN_OR_RETURN(const auto session, device.NewSession());
  ISO_ASSIGN_OR_RETURN(const auto volume, session->NewVolume(SlicesOf(grid, 0, at_once)));
  ISO_ASSIGN_OR_RETURN(const auto remove, factory(*session, spec));
  RingsTakenOff rings;
  double squares = 0;
  std::vector<float> before;  // a slice
  for (int first = 0; first < grid.nz; first += at_once) {
    const int slices = std::min(at_once, grid.nz - first);
    ISO_RETURN_IF_ERROR(volume->Reshape(SlicesOf(grid, first, slices)));
    ISO_RETURN_IF_ERROR(volume->Upload(0, hounsfield.slices(first, slices)));
    ISO_RETURN_IF_ERROR(remove->Run(first, *volume));
    for (int z = 0; z < slices; ++z) {
      const HostView3<float> slice = hounsfield.slices(first + z, 1);
      before.assign(slice.span().begin(), slice.span().end());
      ISO_RETURN_IF_ERROR(volume->Download(z, slice));
      for (size_t i = 0; i < before.size(); ++i) {
        const double off = static_cast<double>(before[i]) - slice.span()[i];
        squares += off * off;
        rings.most_hu = std::max(rings.most_hu, std::abs(off));
      }
    }
  }
  rings.rms_hu = std::sqrt(squares / static_cast<double>(grid.voxels()));
  return rings;
}

}  // namespace isocenter::recon
