#include "kernels/recon/plan.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::recon {
namespace {

// Large enough that reading and writing the volume per chunk costs little beside the updates of its
// views.
constexpr int kChunkViews = 16;
// The end of an acquisition is cut finer: what is left to do after the last frame is the last
// chunk.
constexpr int kLastChunks[] = {8, 4, 4};

std::vector<Chunk> MakeChunks(int views) {
  std::vector<Chunk> chunks;
  int next = 0;
  const auto add = [&](int count) {
    chunks.push_back({next, count});
    next += count;
  };
  while (views - next >= 2 * kChunkViews) add(kChunkViews);
  if (views - next > kChunkViews) add(views - next - kChunkViews);
  for (int last : kLastChunks) {
    if (next < views) add(std::min(last, views - next));
  }
  return chunks;
}

absl::Status OutOfRange(absl::string_view field, double value, absl::string_view legal) {
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, "; legal is ", legal));
}

absl::Status ValidateSettings(const FdkSettings& settings) {
  if (!(settings.cutoff > 0 && settings.cutoff <= 1)) {
    return OutOfRange("filter_cutoff", settings.cutoff, "more than 0, at most 1");
  }
  if (!(settings.mu_water_per_mm >= 0.001 && settings.mu_water_per_mm <= 0.1)) {
    return OutOfRange("mu_water_per_mm", settings.mu_water_per_mm, "0.001 to 0.1");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateAcquisition(const Acquisition& acquisition) {
  const Detector& d = acquisition.detector;
  if (d.columns < 1 || d.columns > 8192)
    return OutOfRange("detector.columns", d.columns, "1 to 8192");
  if (d.rows < 1 || d.rows > 8192) return OutOfRange("detector.rows", d.rows, "1 to 8192");
  if (!(d.pitch_u_mm > 0 && d.pitch_u_mm <= 10)) {
    return OutOfRange("detector.pitch_u_mm", d.pitch_u_mm, "more than 0, at most 10");
  }
  if (!(d.pitch_v_mm > 0 && d.pitch_v_mm <= 10)) {
    return OutOfRange("detector.pitch_v_mm", d.pitch_v_mm, "more than 0, at most 10");
  }
  if (acquisition.pixel_type == PixelType::kUint16Counts &&
      !(acquisition.i0_counts >= 1 && acquisition.i0_counts <= 65535)) {
    return OutOfRange("i0_counts", acquisition.i0_counts, "1 to 65535");
  }
  const auto views = acquisition.trajectory.size();
  if (views < 1 || views > 10000) return OutOfRange("frame_count", views, "1 to 10000");
  for (size_t view = 0; view < views; ++view) {
    const auto normalized = NormalizeMatrix(acquisition.trajectory[view]);
    if (!normalized.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("matrix of frame ", view, ": ", normalized.status().message()));
    }
    if (std::abs(acquisition.trajectory[view](2, 3) - 1) > 1e-9) {
      return absl::InvalidArgumentError(
          absl::StrCat("matrix of frame ", view, " has w = ", acquisition.trajectory[view](2, 3),
                       " at the isocentre; it must be normalised to 1"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ReconstructionPlan> MakePlan(const Acquisition& acquisition, const VolumeGrid& grid,
                                            const FdkSettings& settings,
                                            const ops::Device& device) {
  ISO_RETURN_IF_ERROR(ValidateAcquisition(acquisition));
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  ISO_RETURN_IF_ERROR(ValidateSettings(settings));
  ISO_ASSIGN_OR_RETURN(
      const RedundancyTable redundancy,
      ComputeRedundancy(acquisition.trajectory, acquisition.detector, settings.redundancy));

  ReconstructionPlan plan{.acquisition = acquisition, .grid = grid, .settings = settings};
  plan.arc = redundancy.arc;
  plan.full_scan = redundancy.full_scan;
  plan.chunks = MakeChunks(plan.views());
  plan.voxel_updates = static_cast<double>(grid.voxels()) * plan.views();

  // f = Σ Δβ · redundancy · w⁻² · (filtered row / pixel pitch at the isocentre): the unit-pitch
  // kernel becomes the sampled ramp of the virtual detector through the isocentre (Kak & Slaney
  // 1988, section 3.4).
  const int columns = acquisition.detector.columns;
  plan.column_weight.resize(static_cast<size_t>(plan.views()) * columns);
  for (int view = 0; view < plan.views(); ++view) {
    ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(acquisition.trajectory[view]));
    const double pixels_per_mm = camera.focal_u_px / camera.isocenter_depth_mm;
    const double scale = redundancy.angular_step[view] * pixels_per_mm;
    for (int u = 0; u < columns; ++u) {
      const size_t at = static_cast<size_t>(view) * columns + u;
      plan.column_weight[at] = static_cast<float>(scale * redundancy.weight[at]);
    }
  }

  const auto largest =
      std::max_element(plan.chunks.begin(), plan.chunks.end(),
                       [](const Chunk& a, const Chunk& b) { return a.views < b.views; });
  const Shape3 stack{largest->views, acquisition.detector.rows, columns};
  plan.peak_bytes = device.VolumeBytes(grid) +
                    device.ProjectionStackBytes(stack, ops::StackUse::kLineIntegrals) +
                    device.ProjectionStackBytes(stack, ops::StackUse::kFiltered);
  const int64_t limit = device.limits().memory_bytes;
  if (plan.peak_bytes > limit) {
    return absl::ResourceExhaustedError(absl::StrCat("a volume of ", grid.nx, "x", grid.ny, "x",
                                                     grid.nz, " needs ", plan.peak_bytes,
                                                     " bytes of memory; the limit is ", limit));
  }
  return plan;
}

}  // namespace isocenter::recon
