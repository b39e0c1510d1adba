#include "kernels/recon/gating/gated_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/recon/gating/gating.h"
#include "kernels/recon/line_converter.h"

namespace isocenter::recon {
namespace {

const RefinementBasis* BasisOf(const GatedPlan& plan) {
  return std::get_if<RefinementPlan>(&plan.phase);
}

// Of the phase's own reconstruction, which begins when all frames have become line integrals.
const MemoryParts& DevicePartsOfPhase(const GatedPlan& plan) {
  if (const RefinementBasis* const basis = BasisOf(plan)) return basis->device_parts;
  return std::get<ReconstructionPlan>(plan.phase).device_parts;
}

const MemoryParts& HostPartsOfPhase(const GatedPlan& plan) {
  if (const RefinementBasis* const basis = BasisOf(plan)) return basis->host_parts;
  return std::get<ReconstructionPlan>(plan.phase).host_parts;
}

void TakeIfMore(const MemoryParts& parts, GatedPlan& plan) {
  const int64_t bytes = TotalBytes(parts);
  if (bytes <= plan.peak_bytes) return;
  plan.device_parts = parts;
  plan.peak_bytes = bytes;
}

absl::Status CountDeviceBytes(const ops::Registry& registry, const ops::Device& device,
                              GatedPlan& plan) {
  ISO_ASSIGN_OR_RETURN(
      const int64_t receiving,
      LineConverter::DeviceBytes(plan.acquisition, {0, plan.acquisition.detector.rows},
                                 plan.chunk_views, registry, device));
  const int64_t limit = device.limits().memory_bytes;
  if (receiving > limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat("frames that become line integrals need ", BytesText(receiving),
                     " of memory; the limit is ", BytesText(limit)));
  }
  TakeIfMore({{"a chunk of frames and its corrections", receiving}}, plan);
  TakeIfMore(DevicePartsOfPhase(plan), plan);
  if (plan.warm_start) TakeIfMore(plan.warm_start->device_parts, plan);
  return absl::OkStatus();
}

// The warm start is gone when the phase begins: of the two, what takes more.
MemoryParts HostPartsOf(const GatedPlan& plan) {
  const Detector& detector = plan.acquisition.detector;
  const int64_t frame =
      int64_t{detector.rows} * detector.columns * static_cast<int64_t>(sizeof(float));
  MemoryParts parts = HostPartsOfPhase(plan);
  if (plan.warm_start && TotalBytes(plan.warm_start->host_parts) > TotalBytes(parts)) {
    parts = plan.warm_start->host_parts;
  }
  const MemoryParts beside{
      {"frames of a chunk", MostViewsAtOnce(plan) * FrameBytes(plan.acquisition)},
      {"volume of the phase", VolumeBytes(plan.grid)},
      {"line integrals of a chunk", plan.chunk_views * frame},
      {"line integrals of the phase", static_cast<int64_t>(plan.gate.chosen.views.size()) * frame}};
  parts.insert(parts.end(), beside.begin(), beside.end());
  return parts;
}

}  // namespace

const Acquisition& GatedPlan::chosen() const {
  if (const RefinementBasis* const basis = BasisOf(*this)) return basis->acquisition;
  return std::get<ReconstructionPlan>(phase).acquisition;
}

absl::StatusOr<Gate> GateOf(const Trajectory& scan, std::span<const std::optional<float>> phases,
                            const PhaseWindow& window) {
  if (phases.size() != scan.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are phases of ", phases.size(), " frames; legal is one for each of ",
                     scan.size(), ", or none for a frame that is lost"));
  }
  std::vector<int> views;
  std::vector<float> told;
  for (size_t i = 0; i < phases.size(); ++i) {
    if (!phases[i]) continue;
    views.push_back(static_cast<int>(i));
    told.push_back(*phases[i]);
  }
  Gate gate;
  ISO_ASSIGN_OR_RETURN(gate.chosen, ChooseViews(told, window));
  for (int& view : gate.chosen.views) view = views[view];
  ISO_ASSIGN_OR_RETURN(gate.largest_gap, LargestGap(scan, gate.chosen));
  return gate;
}

absl::StatusOr<GatedPlan> MakeGatedPlan(const Acquisition& acquisition, const VolumeGrid& grid,
                                        const FdkSettings& fdk, const GatedSettings& settings,
                                        const ops::Registry& registry,
                                        std::span<const ops::Device* const> devices,
                                        Arrival arrival) {
  if (devices.empty())
    return absl::InvalidArgumentError("there are no devices; legal is 1 or more");
  ISO_RETURN_IF_ERROR(ValidateAcquisition(acquisition));
  GatedPlan plan;
  plan.acquisition = acquisition;
  plan.grid = grid;
  plan.window = settings.window;
  ISO_ASSIGN_OR_RETURN(plan.gate,
                       GateOf(acquisition.trajectory, acquisition.phases, settings.window));
  ISO_ASSIGN_OR_RETURN(const Acquisition chosen, GatedAcquisition(acquisition, plan.gate.chosen));
  if (settings.iterative) {
    if (settings.iterative->early_passes > 0) {
      return absl::InvalidArgumentError(absl::StrCat("iterative.early_passes is ",
                                                     settings.iterative->early_passes,
                                                     "; legal is 0 for a volume of one phase"));
    }
    IterativeSettings alone = *settings.iterative;
    alone.warm_start = false;  // it begins with that of all frames
    ISO_ASSIGN_OR_RETURN(RefinementPlan phase,
                         MakeRefinementPlan(chosen, grid, fdk, alone, registry, devices));
    if (settings.iterative->warm_start && !phase.limited_arc) {
      ISO_ASSIGN_OR_RETURN(plan.warm_start,
                           MakePlan(acquisition, grid, fdk, registry, devices, arrival));
    }
    plan.methods = phase.methods;
    plan.voxel_updates = alone.iterations * phase.voxel_updates;
    plan.phase = std::move(phase);
  } else {
    ISO_ASSIGN_OR_RETURN(ReconstructionPlan phase,
                         MakePlan(chosen, grid, fdk, registry, devices, Arrival::kComplete));
    plan.methods = phase.methods;
    plan.voxel_updates = phase.voxel_updates;
    plan.phase = std::move(phase);
  }
  plan.chunk_views = std::min(devices[0]->traits().chunk_views, plan.views());
  ISO_RETURN_IF_ERROR(CountDeviceBytes(registry, *devices[0], plan));
  plan.host_parts = HostPartsOf(plan);
  plan.host_bytes = TotalBytes(plan.host_parts);
  return plan;
}

bool HasLargeGap(const Gate& gate) { return RadiansToDegrees(gate.largest_gap) > kLargeGapDeg; }

int SweepsOf(const GatedSettings& settings) {
  return settings.iterative ? 2 * settings.iterative->iterations : 1;
}

std::string GateText(const PhaseWindow& window, const Gate& gate, int views) {
  return absl::StrFormat("phase %g, width %g: %d of %d frames, largest gap of the arc %.1f degrees",
                         window.centre, window.width, gate.chosen.views.size(), views,
                         RadiansToDegrees(gate.largest_gap));
}

}  // namespace isocenter::recon
