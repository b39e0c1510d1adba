#include "kernels/recon/second_pass/plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/line_converter.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_on_device.h"
#include "kernels/recon/second_pass/metal_evidence.h"
#include "kernels/recon/second_pass/metal_light.h"
#include "kernels/recon/second_pass/motion_pass.h"
#include "kernels/recon/second_pass/scatter_removal.h"
#include "kernels/recon/second_pass/segment.h"
#include "kernels/recon/self_calibration/calibration_pass.h"

namespace isocenter::recon {
namespace {

absl::Status CheckBone(const Acquisition& acquisition) {
  if (acquisition.calibration == nullptr) {
    return absl::InvalidArgumentError(
        "the acquisition has no calibration; legal for a correction of bone's hardening is one "
        "that has a bone table");
  }
  return ops::CheckHasBone(*acquisition.calibration);
}

// Of a prior's volume, a share of the Nyquist frequency: streaks of metal's edges and of too few
// views are finer than this, what a prior is made of is not.
constexpr double kPriorCutoff = 0.5;

// The corrected line integrals to the HU that the frames themselves are reconstructed to.
absl::StatusOr<ReconstructionPlan> PlanAgain(const ReconstructionPlan& first,
                                             const FdkSettings& fdk, const ops::Registry& registry,
                                             std::span<const ops::Device* const> devices) {
  return MakePlan(AsLineIntegrals(first.acquisition), first.grid, fdk, registry, devices,
                  Arrival::kComplete);
}

// The same for a prior.
absl::StatusOr<ReconstructionPlan> PlanSmooth(const ReconstructionPlan& first,
                                              const ops::Registry& registry,
                                              std::span<const ops::Device* const> devices) {
  FdkSettings fdk = first.settings;
  fdk.window = ops::FilterWindow::kHann;
  fdk.cutoff = std::min(fdk.cutoff, kPriorCutoff);
  return PlanAgain(first, fdk, registry, devices);
}

// Of the first device while lines are projected: metal and prior, or bone.
absl::StatusOr<MemoryParts> ProjectingParts(const SecondPassPlan& plan,
                                            const ops::Registry& registry,
                                            const ops::Device& device) {
  ISO_ASSIGN_OR_RETURN(const SecondPassMethods methods,
                       SecondPassMethods::Find(registry, device.backend()));
  const Detector& detector = plan.acquisition.detector;
  const Shape3 stack{plan.chunk_views, detector.rows, detector.columns};
  const ops::Extents extents{.stack = stack, .grid = SlicesOf(plan.grid, 0, plan.slab_slices)};
  int64_t operations = methods.project.WorkspaceBytes(device, extents) +
                       methods.arithmetic.WorkspaceBytes(device, extents) +
                       methods.trace.WorkspaceBytes(device, extents);
  if (plan.settings.bone) {
    operations += methods.bone.WorkspaceBytes(device, extents, *plan.acquisition.calibration);
  }
  return MemoryParts{{"volume to project", device.VolumeBytes(extents.grid)},
                     {"projections of a chunk",
                      device.ProjectionStackBytes(stack, ops::StackUse::kProjections) +
                          3 * device.ProjectionStackBytes(stack, ops::StackUse::kLineIntegrals)},
                     {"projector and operations", operations}};
}

// As many slices at once as there is room for.
absl::Status ChooseSlabs(const ops::Registry& registry, const ops::Device& device,
                         SecondPassPlan& plan) {
  const int64_t limit = device.limits().memory_bytes;
  for (plan.slab_slices = plan.grid.nz;; plan.slab_slices = (plan.slab_slices + 1) / 2) {
    ISO_ASSIGN_OR_RETURN(plan.device_parts, ProjectingParts(plan, registry, device));
    plan.peak_bytes = TotalBytes(plan.device_parts);
    if (plan.peak_bytes <= limit) return absl::OkStatus();
    if (plan.slab_slices > 1) continue;
    return absl::ResourceExhaustedError(
        absl::StrCat("a second pass needs ", BytesText(plan.peak_bytes),
                     " of memory; the limit is ", BytesText(limit)));
  }
}

// About as many pixels as a chunk has, of all views.
absl::Status ChooseStripeRows(const ops::Registry& registry, const ops::Device& device,
                              SecondPassPlan& plan) {
  ISO_ASSIGN_OR_RETURN(const SecondPassMethods methods,
                       SecondPassMethods::Find(registry, device.backend()));
  const Detector& detector = plan.acquisition.detector;
  const int64_t limit = device.limits().memory_bytes;
  plan.stripe_rows = static_cast<int>(
      (int64_t{plan.chunk_views} * detector.rows + plan.views() - 1) / plan.views());
  for (;; plan.stripe_rows = (plan.stripe_rows + 1) / 2) {
    const Shape3 rows{plan.views(), plan.stripe_rows, detector.columns};
    const MemoryParts parts{
        {"rows of all views", device.ProjectionStackBytes(rows, ops::StackUse::kLineIntegrals)},
        {"stripes", methods.stripes.WorkspaceBytes(device, {.stack = rows, .grid = plan.grid})}};
    const int64_t bytes = TotalBytes(parts);
    if (bytes > limit) {
      if (plan.stripe_rows > 1) continue;
      return absl::ResourceExhaustedError(absl::StrCat("stripes of a row need ", BytesText(bytes),
                                                       " of memory; the limit is ",
                                                       BytesText(limit)));
    }
    if (bytes > plan.peak_bytes) {
      plan.device_parts = parts;
      plan.peak_bytes = bytes;
    }
    return absl::OkStatus();
  }
}

absl::Status CountScatterBytes(const ops::Registry& registry, const ops::Device& device,
                               SecondPassPlan& plan) {
  ISO_ASSIGN_OR_RETURN(const int64_t removing, ScatterRemoval::DeviceBytes(plan, registry, device));
  if (removing > device.limits().memory_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("frames that lose their scatter need ", BytesText(removing),
                     " of memory; the limit is ", BytesText(device.limits().memory_bytes)));
  }
  const ReconstructionPlan& coarse = plan.scatter->coarse;
  if (coarse.peak_bytes > plan.peak_bytes) {
    plan.device_parts = coarse.device_parts;
    plan.peak_bytes = coarse.peak_bytes;
  }
  if (removing > plan.peak_bytes) {
    plan.device_parts = {{"a chunk of frames and its scatter", removing}};
    plan.peak_bytes = removing;
  }
  return absl::OkStatus();
}

// The model's projections go straight to its reconstruction.
absl::Status CountConeBeamBytes(const ops::Registry& registry, const ops::Device& device,
                                SecondPassPlan& plan) {
  ISO_ASSIGN_OR_RETURN(const SecondPassMethods methods,
                       SecondPassMethods::Find(registry, device.backend()));
  ConeBeamPlan& cone_beam = *plan.cone_beam;
  const Detector& detector = cone_beam.model.acquisition.detector;
  const Shape3 stack{cone_beam.chunk_views, detector.rows, detector.columns};
  const ops::Extents extents{.stack = stack, .grid = cone_beam.model.grid};
  MemoryParts parts = cone_beam.model.device_parts;
  parts.push_back({"model", device.VolumeBytes(extents.grid)});
  parts.push_back(
      {"model's projections", device.ProjectionStackBytes(stack, ops::StackUse::kProjections)});
  parts.push_back({"model's projector", methods.project.WorkspaceBytes(device, extents) +
                                            methods.arithmetic.WorkspaceBytes(device, extents)});
  if (const auto more = ConeBeamOnDeviceParts(cone_beam, plan.grid, registry, device)) {
    cone_beam.on_device = TotalBytes(parts) + TotalBytes(*more) <= device.limits().memory_bytes;
    if (cone_beam.on_device) parts.insert(parts.end(), more->begin(), more->end());
  }
  const int64_t bytes = TotalBytes(parts);
  if (bytes > device.limits().memory_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a correction of the cone-beam artefact needs ", BytesText(bytes),
                     " of memory; the limit is ", BytesText(device.limits().memory_bytes)));
  }
  if (bytes > plan.peak_bytes) {
    plan.device_parts = std::move(parts);
    plan.peak_bytes = bytes;
  }
  return absl::OkStatus();
}

// Of the device: the projections, the frames that come, stripes, or a reconstruction.
absl::Status CountDeviceBytes(const ops::Registry& registry, const ops::Device& device,
                              SecondPassPlan& plan) {
  ISO_RETURN_IF_ERROR(ChooseSlabs(registry, device, plan));
  ISO_ASSIGN_OR_RETURN(
      const int64_t receiving,
      LineConverter::DeviceBytes(plan.stored(), {0, plan.acquisition.detector.rows},
                                 plan.chunk_views, registry, device));
  if (receiving > device.limits().memory_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("frames of a second pass need ", BytesText(receiving),
                     " of memory; the limit is ", BytesText(device.limits().memory_bytes)));
  }
  if (receiving > plan.peak_bytes) {
    plan.device_parts = {{"a chunk of frames and its corrections", receiving}};
    plan.peak_bytes = receiving;
  }
  if (plan.settings.stripes) ISO_RETURN_IF_ERROR(ChooseStripeRows(registry, device, plan));
  if (plan.scatter) ISO_RETURN_IF_ERROR(CountScatterBytes(registry, device, plan));
  if (plan.cone_beam) ISO_RETURN_IF_ERROR(CountConeBeamBytes(registry, device, plan));
  const ReconstructionPlan& smooth = plan.smooth ? *plan.smooth : plan.again;
  for (const ReconstructionPlan* pass :
       std::initializer_list<const ReconstructionPlan*>{&*plan.warm_start, &plan.again, &smooth}) {
    if (pass->peak_bytes <= plan.peak_bytes) continue;
    plan.device_parts = pass->device_parts;
    plan.peak_bytes = pass->peak_bytes;
  }
  return absl::OkStatus();
}

MemoryParts HostPartsOf(const SecondPassPlan& plan) {
  const Detector& detector = plan.acquisition.detector;
  const int64_t lines = NeedsLines(plan.settings)
                            ? int64_t{detector.rows} * detector.columns * plan.views() *
                                  static_cast<int64_t>(sizeof(float))
                            : 0;
  const int64_t weights =
      static_cast<int64_t>((plan.smooth ? 2 : 1) * plan.again.column_weight.size() * sizeof(float));
  const auto most_metal =
      static_cast<int64_t>(kMostMetalShare * static_cast<double>(plan.grid.voxels()));
  // Voxels are looked for first, then asked for with a chunk of lines.
  const int64_t asking = MetalEvidence::Bytes(most_metal) + lines / plan.views() * plan.chunk_views;
  // Then lines are kept as they were, with paths of a chunk.
  const int64_t light =
      MetalLight::Bytes(plan.acquisition) + lines / plan.views() * plan.chunk_views;
  // A chunk of lines is kept while it is corrected; for metal it is smaller than what asks.
  const int64_t bone =
      plan.settings.bone && !plan.settings.metal ? lines / plan.views() * plan.chunk_views : 0;
  const int64_t metal =
      plan.settings.metal
          ? VolumeBytes(plan.grid) + std::max({FindMetalBytes(plan.grid), asking, light})
          : 0;
  const int64_t more_frames =
      (MostViewsAtOnce(plan) - LargestChunk(*plan.warm_start)) * FrameBytes(plan.acquisition);
  const MemoryParts beside{
      {"line integrals", lines},
      {"larger chunks of frames", more_frames},
      {"volume that is corrected", KeepsVolume(plan) ? VolumeBytes(plan.grid) : 0},
      {"metal", metal},
      {"bone", bone},
      {"scatter", plan.scatter ? ScatterBytes(*plan.scatter) : 0},
      {"cone-beam artefact", plan.cone_beam ? ConeBeamHostBytes(*plan.cone_beam, plan.grid) : 0},
      {"search for motion", plan.motion_bytes},
      {"self-calibration", plan.calibration_bytes},
      {"weights of the second pass", weights}};
  MemoryParts parts = plan.warm_start->host_parts;
  parts.insert(parts.end(), beside.begin(), beside.end());
  return parts;
}

}  // namespace

int SweepsOf(const SecondPassSettings& settings) {
  // Metal is projected six times at most, its priors twice and what it explains once, for four
  // reconstructions; bone once, for one;
  // stripes are reconstructed without, and so is scatter, whose own volumes are coarse. The
  // cone-beam artefact's is projected and reconstructed, on a coarse grid. Motion and the
  // detector's place are looked for by the host, and reconstructed once; so are completed rows,
  // whose model is coarse.
  return (settings.stripes ? 1 : 0) + (settings.scatter ? 1 : 0) + (settings.metal ? 13 : 0) +
         (settings.bone ? 2 : 0) + (settings.cone_beam ? 1 : 0) + (settings.motion ? 1 : 0) +
         (settings.self_calibrate ? 1 : 0) + (settings.complete_rows ? 1 : 0);
}

absl::StatusOr<SecondPassMethods> SecondPassMethods::Find(const ops::Registry& registry,
                                                          absl::string_view backend) {
  const auto projector = registry.projectors.find(kSecondPassProjector);
  if (projector == registry.projectors.end()) {
    return absl::NotFoundError(absl::StrCat("no backend has the projector '",
                                            ops::ProjectorName(kSecondPassProjector), "'"));
  }
  ISO_ASSIGN_OR_RETURN(const auto project, projector->second.forward.FindEntry(backend));
  ISO_ASSIGN_OR_RETURN(auto arithmetic, registry.arithmetic.Find(backend));
  ISO_ASSIGN_OR_RETURN(auto trace, registry.trace.Find(backend));
  ISO_ASSIGN_OR_RETURN(auto bone, registry.bone.Find(backend));
  ISO_ASSIGN_OR_RETURN(auto stripes, registry.stripes.Find(backend));
  return SecondPassMethods{
      .project = project->factory,
      .arithmetic = std::move(arithmetic),
      .trace = std::move(trace),
      .bone = std::move(bone),
      .stripes = std::move(stripes),
      .description = absl::StrCat(backend, ": forward projection ", project->method)};
}

absl::StatusOr<SecondPassPlan> MakeSecondPassPlan(const Acquisition& acquisition,
                                                  const VolumeGrid& grid, const FdkSettings& fdk,
                                                  const SecondPassSettings& settings,
                                                  const ops::Registry& registry,
                                                  std::span<const ops::Device* const> devices,
                                                  Arrival arrival) {
  if (devices.empty())
    return absl::InvalidArgumentError("there are no devices; legal is 1 or more");
  ISO_RETURN_IF_ERROR(ValidateSecondPassSettings(settings));
  if (settings.complete_rows) {
    return absl::InvalidArgumentError("complete_rows is set; legal is MakeDetruncationPlan for it");
  }
  if (settings.bone) ISO_RETURN_IF_ERROR(CheckBone(acquisition));
  SecondPassPlan plan;
  plan.acquisition = acquisition;
  plan.grid = grid;
  plan.settings = settings;
  ISO_ASSIGN_OR_RETURN(plan.warm_start,
                       MakePlan(acquisition, grid, fdk, registry, devices, arrival));
  ISO_ASSIGN_OR_RETURN(plan.again,
                       PlanAgain(*plan.warm_start, plan.warm_start->settings, registry, devices));
  if (settings.metal) {
    ISO_ASSIGN_OR_RETURN(plan.smooth, PlanSmooth(*plan.warm_start, registry, devices));
  }
  if (settings.scatter) {
    ISO_ASSIGN_OR_RETURN(plan.scatter, MakeScatterPlan(*plan.warm_start, registry, devices));
  }
  if (settings.cone_beam) {
    ISO_ASSIGN_OR_RETURN(plan.cone_beam, MakeConeBeamPlan(*plan.warm_start, registry, devices));
  }
  if (settings.motion) {
    ISO_ASSIGN_OR_RETURN(plan.motion_bytes, MotionPassBytes(plan.again, registry));
  }
  if (settings.self_calibrate) {
    ISO_ASSIGN_OR_RETURN(plan.calibration_bytes, CalibrationPassBytes(plan, registry));
  }
  plan.chunk_views = std::min(devices[0]->traits().chunk_views, plan.views());
  ISO_ASSIGN_OR_RETURN(const SecondPassMethods methods,
                       SecondPassMethods::Find(registry, devices[0]->backend()));
  plan.methods = methods.description;
  ISO_RETURN_IF_ERROR(CountDeviceBytes(registry, *devices[0], plan));
  plan.host_parts = HostPartsOf(plan);
  plan.host_bytes = TotalBytes(plan.host_parts);
  plan.voxel_updates = SweepsOf(settings) * plan.warm_start->voxel_updates;
  return plan;
}

}  // namespace isocenter::recon
