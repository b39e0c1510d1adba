#include "kernels/recon/plan_text.h"

#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "kernels/base/units.h"
#include "kernels/recon/iterative/method.h"

namespace isocenter::recon {
namespace {

// "8, 2 x 16, 4": runs of equal numbers.
std::string Runs(const std::vector<int>& numbers) {
  std::vector<std::string> runs;
  for (size_t first = 0, end = 0; first < numbers.size(); first = end) {
    while (end < numbers.size() && numbers[end] == numbers[first]) ++end;
    runs.push_back(end - first > 1 ? absl::StrCat(end - first, " x ", numbers[first])
                                   : absl::StrCat(numbers[first]));
  }
  return absl::StrJoin(runs, ", ");
}

// "set 'room3-2026-11', response, 1243 defects, lag of 3 terms, doses, scatter".
std::string Corrections(const Acquisition& acquisition) {
  if (acquisition.calibration == nullptr) return "none";
  const ops::Calibration& known = *acquisition.calibration;
  std::vector<std::string> parts = {absl::StrCat("set '", known.name, "'")};
  if (known.response) parts.emplace_back("response");
  if (!known.defects.pixels.empty()) {
    parts.push_back(absl::StrCat(known.defects.pixels.size(), " defects"));
  }
  if (!known.lag.empty()) parts.push_back(absl::StrCat("lag of ", known.lag.size(), " terms"));
  if (known.response && known.response->full_scale_counts > 0) {
    parts.push_back(
        absl::StrCat("overexposure from ", known.response->full_scale_counts, " counts"));
  }
  if (!known.air_sweep.angles.empty()) {
    parts.push_back(absl::StrCat("air at ", known.air_sweep.angles.size(), " angles"));
  }
  if (known.air.columns > 0) {
    parts.push_back(absl::StrCat("doses from ", known.air.columns, " columns at each side"));
  }
  if (!known.glare.empty()) {
    parts.push_back(absl::StrCat("glare of ", known.glare.size(), " terms"));
  }
  if (known.scatter) {
    parts.push_back(absl::StrCat("scatter of ", known.scatter->groups.size(), " groups"));
  }
  if (!known.water.coefficient.empty()) {
    parts.emplace_back(known.water.hardness.empty() ? "beam hardening of water"
                                                    : "beam hardening of water by column");
  }
  if (!known.hounsfield.points.empty()) parts.emplace_back("HU table");
  return absl::StrJoin(parts, ", ");
}

std::string Grid(const VolumeGrid& grid) {
  return absl::StrFormat("%dx%dx%d voxels of %gx%gx%g mm", grid.nx, grid.ny, grid.nz,
                         grid.spacing.x, grid.spacing.y, grid.spacing.z);
}

std::string Frames(const Acquisition& acquisition) {
  const Detector& d = acquisition.detector;
  return absl::StrFormat(
      "%d of %dx%d pixels of %gx%g mm, %s", acquisition.trajectory.size(), d.columns, d.rows,
      d.pitch_u_mm, d.pitch_v_mm,
      acquisition.pixel_type == PixelType::kUint16Counts
          ? absl::StrFormat("16-bit counts, %g unattenuated", acquisition.i0_counts)
          : "line integrals");
}

absl::string_view Window(ops::FilterWindow window) {
  switch (window) {
    case ops::FilterWindow::kRamLak:
      return "ram-lak";
    case ops::FilterWindow::kSheppLogan:
      return "shepp-logan";
    case ops::FilterWindow::kCosine:
      return "cosine";
    case ops::FilterWindow::kHamming:
      return "hamming";
    case ops::FilterWindow::kHann:
      return "hann";
  }
  return "";
}

absl::string_view CutRows(ops::Truncation truncation) {
  switch (truncation) {
    case ops::Truncation::kNone:
      return "";
    case ops::Truncation::kMirror:
      return ", cut rows go on mirrored";
    case ops::Truncation::kCylinder:
      return ", cut rows go on as cylinders";
    case ops::Truncation::kAtract:
      return ", cut rows by ATRACT";
  }
  return "";
}

std::string Weights(const ReconstructionPlan& plan) {
  const double sum = std::accumulate(plan.column_weight.begin(), plan.column_weight.end(), 0.0);
  std::string displaced;
  if (plan.filtered_detector.columns > plan.acquisition.detector.columns) {
    displaced = absl::StrFormat(", displaced detector widened to %d columns",
                                plan.filtered_detector.columns);
  }
  return absl::StrFormat("%s over %.2f degrees, fan of %.2f degrees, mean %.6g%s",
                         plan.full_scan ? "full scan" : "short scan",
                         plan.arc / DegreesToRadians(1), plan.fan_angle / DegreesToRadians(1),
                         sum / static_cast<double>(plan.column_weight.size()), displaced);
}

absl::string_view OrderText(const ReconstructionPlan& plan) {
  if (plan.order == Order::kChunksFirst) return "each chunk into all slabs";
  return plan.keep_projections ? "slab after slab, filtered projections stay"
                               : "slab after slab, frames are filtered again for each";
}

std::string Memory(absl::string_view name, const MemoryParts& parts) {
  std::string text = absl::StrCat(name, ": ", TotalBytes(parts), " bytes\n");
  for (const MemoryPart& part : parts) {
    if (part.bytes > 0) absl::StrAppend(&text, "  ", part.what, ": ", part.bytes, "\n");
  }
  return text;
}

// "device 0: 4 x 64; device 1: 3 x 64, 10".
template <class Item, class Slices>
std::string ByDevice(const std::vector<Item>& items, const Slices& slices) {
  std::vector<std::string> devices;
  for (size_t first = 0, end = 0; first < items.size(); first = end) {
    std::vector<int> numbers;
    for (; end < items.size() && items[end].device == items[first].device; ++end) {
      numbers.push_back(slices(items[end]));
    }
    devices.push_back(absl::StrCat("device ", items[first].device, ": ", Runs(numbers)));
  }
  return absl::StrJoin(devices, "; ");
}

std::string Views(const std::vector<Chunk>& chunks) {
  std::vector<int> views;
  for (const Chunk& chunk : chunks) views.push_back(chunk.views);
  return Runs(views);
}

std::string Subsets(const RefinementPlan& plan) {
  std::vector<int> views;
  for (const std::vector<int>& subset : plan.subsets) {
    views.push_back(static_cast<int>(subset.size()));
  }
  return Runs(views);
}

std::string RowsText(const std::vector<DeviceRows>& rows) {
  return absl::StrJoin(rows, "; ", [&](std::string* out, const DeviceRows& device) {
    absl::StrAppend(out, "device ", &device - rows.data(), ": ", device.seen.first, " to ",
                    device.seen.end() - 1);
  });
}

// Of the algorithms that have any.
std::string ColumnSumsText(const RefinementPlan& plan) {
  if (!NeedsOf(plan).column_sums) return "";
  return absl::StrCat("\ncolumn sums that stay in memory: ", plan.kept_column_sums, " of ",
                      plan.subsets.size());
}

}  // namespace

std::string PlanText(const ReconstructionPlan& plan) {
  const FdkSettings& settings = plan.settings;
  return absl::StrCat(
      "filtered back-projection\n", "grid: ", Grid(plan.grid),
      "\nframes: ", Frames(plan.acquisition), "\ncorrections: ", Corrections(plan.acquisition),
      "\nmethods: ", plan.methods,
      "\nprecision: ", settings.precision == ops::Precision::kFast ? "fast" : "exact",
      "\nfilter: ", Window(settings.window), " to ", settings.cutoff, " of Nyquist",
      CutRows(settings.truncation), "\nweights: ", Weights(plan),
      "\nwater: ", plan.hounsfield.mu_water_per_mm, " /mm\nviews of chunks: ", Views(plan.chunks),
      "\norder: ", OrderText(plan),
      "\nslices of slabs: ", ByDevice(plan.slabs, [](const Slab& slab) { return slab.slices; }),
      "\n", absl::StrFormat("voxel updates: %.6g\n", plan.voxel_updates),
      Memory("memory of a device", plan.device_parts), Memory("host memory", plan.host_parts));
}

std::string PlanText(const RefinementPlan& plan) {
  const IterativeSettings& settings = plan.settings;
  std::string text = absl::StrCat(
      AlgorithmName(settings.algorithm), ", ", settings.iterations, " iterations\n",
      "grid: ", Grid(plan.grid), "\nframes: ", Frames(plan.acquisition),
      "\ncorrections: ", Corrections(plan.acquisition),
      "\nprojector: ", ops::ProjectorName(settings.projector), "\nmethods: ", plan.methods,
      "\nviews of subsets: ", Subsets(plan), "\nviews at once: ", plan.chunk_views,
      "\nslices of pieces: ",
      ByDevice(plan.pieces, [](const Piece& piece) { return piece.grid.nz; }),
      "\nrows: ", RowsText(plan.rows),
      "\nwaits in host memory: ", plan.pieces_in_host ? "volumes" : "no volumes", ", ",
      plan.projections_in_host ? "projections" : "no projections", ColumnSumsText(plan), "\n",
      absl::StrFormat("voxel updates of a pass: %.6g\n", plan.voxel_updates),
      Memory("memory of a device", plan.device_parts), Memory("host memory", plan.host_parts));
  if (!plan.early_frames.empty()) {
    absl::StrAppend(&text, "early passes over the first ", absl::StrJoin(plan.early_frames, ", "),
                    " frames\n");
  }
  if (plan.warm_start) absl::StrAppend(&text, "begins with: ", PlanText(*plan.warm_start));
  if (plan.limited_arc) absl::StrAppend(&text, LimitedArcText(*plan.limited_arc), "\n");
  return text;
}

std::string PlanText(const SecondPassPlan& plan) {
  std::vector<absl::string_view> against;
  if (plan.settings.stripes) against.push_back("stripes");
  if (plan.settings.scatter) against.push_back("scatter");
  if (plan.settings.metal) against.push_back("metal");
  if (plan.settings.bone) against.push_back("hardening by bone");
  if (plan.settings.cone_beam) against.push_back("the cone-beam artefact");
  if (plan.settings.motion) against.push_back("motion");
  if (plan.settings.self_calibrate) {
    against.push_back(plan.settings.reference ? "a detector elsewhere, by an earlier volume, too"
                                              : "a detector elsewhere");
  }
  return absl::StrCat("second pass against ", absl::StrJoin(against, " and "),
                      "\ngrid: ", Grid(plan.grid), "\nmethods: ", plan.methods,
                      "\nviews at once: ", plan.chunk_views, "\nslices at once: ", plan.slab_slices,
                      absl::StrFormat("\nvoxel updates: %.6g\n", plan.voxel_updates),
                      Memory("memory of a device", plan.device_parts),
                      Memory("host memory", plan.host_parts),
                      "begins with: ", PlanText(*plan.warm_start));
}

std::string PlanText(const DetruncationPlan& plan) {
  return absl::StrCat("rows completed by ", plan.more_columns,
                      " columns on either side\nmodel: ", Grid(plan.model.grid),
                      "\npixels of the model's frames: ", plan.bins.bin, "x", plan.bins.bin,
                      "\ngrid: ", Grid(plan.grid), "\nmethods: ", plan.methods,
                      absl::StrFormat("\nvoxel updates: %.6g\n", plan.voxel_updates),
                      Memory("memory of a device", plan.device_parts),
                      Memory("host memory", plan.host_parts),
                      "begins with: ", PlanText(*plan.warm_start));
}

std::string PlanText(const GatedPlan& plan) {
  const std::string phase = std::visit([](const auto& made) { return PlanText(made); }, plan.phase);
  return absl::StrCat(
      GateText(plan.window, plan.gate, plan.views()), "\ngrid: ", Grid(plan.grid),
      "\nmethods: ", plan.methods, "\nviews at once: ", plan.chunk_views,
      absl::StrFormat("\nvoxel updates: %.6g\n", plan.voxel_updates),
      Memory("memory of a device", plan.device_parts), Memory("host memory", plan.host_parts),
      "of the phase: ", phase,
      plan.warm_start ? absl::StrCat("begins with: ", PlanText(*plan.warm_start)) : std::string());
}

}  // namespace isocenter::recon
