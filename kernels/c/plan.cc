// Plans and their runs.
#include "kernels/c/plan.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/c/arguments.h"
#include "kernels/c/control.h"
#include "kernels/c/status.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/plan_text.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter::c {
namespace {

using recon::ReconstructionPlan;
using recon::RefinementPlan;

// Passes over the views that a pass of iterations is worth: forward and back.
constexpr double kSweepsOfAPass = 2;

absl::Status CheckMemoryOf(const isocenter_plan& plan) {
  return std::visit(
      [&](const auto& made) {
        const VolumeGrid& grid = made.grid;
        return CheckMemory(absl::StrCat("a volume of ", grid.nx, "x", grid.ny, "x", grid.nz,
                                        " voxels from ", made.views(), " views"),
                           **plan.device, made.peak_bytes, made.host_bytes);
      },
      plan.plan);
}

// What a plan is made from, but for iterations.
struct Wanted {
  std::shared_ptr<const OpenDevice> device;
  recon::Acquisition acquisition;
  VolumeGrid grid;
  recon::FdkSettings fdk;
};

absl::StatusOr<Wanted> WantedOf(isocenter_device* device, const isocenter_scan* scan,
                                int32_t pixel_type, double i0_counts, const isocenter_grid* grid,
                                const isocenter_fdk* fdk) {
  ISO_RETURN_IF_ERROR(CheckPointer("device", device));
  ISO_RETURN_IF_ERROR(device->open->CheckOwn());
  Wanted wanted{.device = device->open};
  ISO_ASSIGN_OR_RETURN(wanted.grid, GridOf(grid));
  ISO_ASSIGN_OR_RETURN(wanted.fdk, FdkSettingsOf(fdk));
  ISO_ASSIGN_OR_RETURN(wanted.acquisition, AcquisitionOf(scan, pixel_type, i0_counts));
  return wanted;
}

absl::Status Keep(const Wanted& wanted, auto made, isocenter_plan** plan) {
  ISO_RETURN_IF_ERROR(CheckPointer("plan", plan));
  auto kept = std::make_unique<isocenter_plan>(isocenter_plan{.device = wanted.device});
  kept->text = PlanText(made);
  kept->plan = std::move(made);
  ISO_RETURN_IF_ERROR(CheckMemoryOf(*kept));
  *plan = kept.release();
  return absl::OkStatus();
}

// Frames and volume of one run, checked.
struct Arrays {
  ops::RawFrames frames;
  HostView3<const float> start;
  HostView3<float> volume;
};

absl::StatusOr<Arrays> ArraysOf(const recon::Acquisition& acquisition, const VolumeGrid& grid,
                                const void* frames, int64_t pixels, const float* start,
                                float* volume, int64_t voxels) {
  Arrays arrays;
  ISO_ASSIGN_OR_RETURN(arrays.volume, ArrayOf("volume", volume, voxels, grid.shape()));
  ISO_ASSIGN_OR_RETURN(arrays.frames, FramesOf(acquisition, frames, pixels));
  const auto bytes = static_cast<size_t>(pixels * PixelBytes(acquisition.pixel_type));
  ISO_RETURN_IF_ERROR(CheckApart("frames", {static_cast<const std::byte*>(frames), bytes}, "volume",
                                 std::as_bytes(arrays.volume.span())));
  if (start == nullptr) return arrays;
  ISO_ASSIGN_OR_RETURN(arrays.start, ArrayOf("start", start, voxels, grid.shape()));
  ISO_RETURN_IF_ERROR(CheckFinite("start", arrays.start));
  return arrays;
}

// Filtered back-projection, which is the first `share` of the whole.
absl::Status RunFdk(const ReconstructionPlan& plan, ops::Device& device, const Arrays& arrays,
                    const Control& control, double share) {
  ISO_ASSIGN_OR_RETURN(const auto reconstructor,
                       recon::Reconstructor::Create(plan, Backends(), device));
  return reconstructor->Run(arrays.frames, arrays.volume, {},
                            [&](double done) { return control.Advance(share * done); });
}

absl::Status Run(const ReconstructionPlan& plan, ops::Device& device, const Arrays& arrays,
                 const Control& control) {
  if (arrays.start.data() != nullptr) {
    return absl::InvalidArgumentError("start is given; legal is NULL: FDK begins with nothing");
  }
  return RunFdk(plan, device, arrays, control, 1);
}

absl::Status Run(const RefinementPlan& plan, ops::Device& device, const Arrays& arrays,
                 const Control& control) {
  HostView3<const float> start = arrays.start;
  double before = 0;
  if (plan.warm_start) {
    if (start.data() != nullptr) {
      return absl::InvalidArgumentError(
          "start is given; legal with warm_start is NULL: FDK's volume is where it begins");
    }
    before = 1 / (1 + kSweepsOfAPass * plan.settings.iterations);
    ISO_RETURN_IF_ERROR(RunFdk(*plan.warm_start, device, arrays, control, before));
    start = arrays.volume;
  }
  ops::Device* const devices[] = {&device};
  ISO_ASSIGN_OR_RETURN(const auto refinement, recon::Refinement::Create(plan, Backends(), devices));
  for (int view = 0; view < plan.views(); view += plan.chunk_views) {
    const int count = std::min(plan.chunk_views, plan.views() - view);
    ISO_RETURN_IF_ERROR(refinement->Push(arrays.frames.views(view, count)));
    ISO_RETURN_IF_ERROR(control.Advance(before));
  }
  ISO_RETURN_IF_ERROR(refinement->Start(start));
  for (bool done = false; !done;) {
    const size_t passes = refinement->reports().size();
    ISO_ASSIGN_OR_RETURN(done, refinement->Step());
    if (refinement->reports().size() > passes) control.Add(refinement->reports().back());
    ISO_RETURN_IF_ERROR(control.Advance(before + (1 - before) * refinement->progress()));
  }
  return refinement->Read(arrays.volume);
}

absl::Status Run(const isocenter_plan* plan, const void* frames, int64_t pixels, const float* start,
                 float* volume, int64_t voxels, isocenter_control* control) {
  ISO_RETURN_IF_ERROR(CheckPointer("plan", plan));
  ISO_RETURN_IF_ERROR(plan->device->CheckOwn());
  ISO_ASSIGN_OR_RETURN(const Arrays arrays, ArraysOf(plan->acquisition(), plan->grid(), frames,
                                                     pixels, start, volume, voxels));
  ISO_RETURN_IF_ERROR(CheckMemoryOf(*plan));
  const Control said(control);
  ISO_RETURN_IF_ERROR(std::visit(
      [&](const auto& made) { return Run(made, **plan->device, arrays, said); }, plan->plan));
  return said.Advance(1);
}

}  // namespace
}  // namespace isocenter::c

using isocenter::c::Call;

void isocenter_fdk_defaults(isocenter_fdk* fdk) {
  const isocenter::recon::FdkSettings settings;
  *fdk = {.window = "ram-lak",
          .redundancy = "auto",
          .truncation = "none",
          .precision = "exact",
          .cutoff = settings.cutoff,
          .mu_water_per_mm = settings.mu_water_per_mm};
}

void isocenter_iterative_defaults(isocenter_iterative* iterative) {
  const isocenter::recon::IterativeSettings settings;
  // Both names are of literals, which end with a zero.
  *iterative = {.algorithm = isocenter::recon::AlgorithmName(settings.algorithm).data(),
                .projector = isocenter::ops::ProjectorName(settings.projector).data(),
                .precision = "exact",
                .iterations = settings.iterations,
                .subsets = settings.subsets,
                .tv_steps = settings.tv_steps,
                .surroundings_factor = settings.surroundings_factor,
                .matched = settings.matched,
                .non_negative = settings.non_negative,
                .warm_start = settings.warm_start,
                .statistical_weights = settings.statistical_weights,
                .relaxation = settings.relaxation,
                .relaxation_decay = settings.relaxation_decay,
                .prior_strength = settings.prior_strength,
                .huber_delta_per_mm = settings.huber_delta_per_mm,
                .stop_residual = settings.stop_residual};
}

isocenter_status isocenter_plan_fdk(isocenter_device* device, const isocenter_scan* scan,
                                    int32_t pixel_type, double i0_counts,
                                    const isocenter_grid* grid, const isocenter_fdk* fdk,
                                    isocenter_plan** plan) {
  return Call([&]() -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const auto wanted,
                         isocenter::c::WantedOf(device, scan, pixel_type, i0_counts, grid, fdk));
    ISO_ASSIGN_OR_RETURN(auto made,
                         isocenter::recon::MakePlan(wanted.acquisition, wanted.grid, wanted.fdk,
                                                    isocenter::Backends(), **wanted.device,
                                                    isocenter::recon::Arrival::kComplete));
    return isocenter::c::Keep(wanted, std::move(made), plan);
  });
}

isocenter_status isocenter_plan_iterative(isocenter_device* device, const isocenter_scan* scan,
                                          int32_t pixel_type, double i0_counts,
                                          const isocenter_grid* grid, const isocenter_fdk* fdk,
                                          const isocenter_iterative* iterative,
                                          isocenter_plan** plan) {
  return Call([&]() -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const auto settings, isocenter::c::IterativeSettingsOf(iterative));
    ISO_ASSIGN_OR_RETURN(const auto wanted,
                         isocenter::c::WantedOf(device, scan, pixel_type, i0_counts, grid, fdk));
    const isocenter::ops::Device* const devices[] = {&**wanted.device};
    ISO_ASSIGN_OR_RETURN(
        auto made, isocenter::recon::MakeRefinementPlan(wanted.acquisition, wanted.grid, wanted.fdk,
                                                        settings, isocenter::Backends(), devices));
    return isocenter::c::Keep(wanted, std::move(made), plan);
  });
}

const char* isocenter_plan_text(const isocenter_plan* plan) {
  return plan == nullptr ? "" : plan->text.c_str();
}

int64_t isocenter_plan_device_bytes(const isocenter_plan* plan) {
  if (plan == nullptr) return 0;
  return std::visit([](const auto& made) { return made.peak_bytes; }, plan->plan);
}

int64_t isocenter_plan_host_bytes(const isocenter_plan* plan) {
  if (plan == nullptr) return 0;
  return std::visit([](const auto& made) { return made.host_bytes; }, plan->plan);
}

isocenter_status isocenter_plan_run(const isocenter_plan* plan, const void* frames, int64_t pixels,
                                    const float* start, float* volume, int64_t voxels,
                                    isocenter_control* control) {
  return Call(
      [&] { return isocenter::c::Run(plan, frames, pixels, start, volume, voxels, control); });
}

void isocenter_plan_free(isocenter_plan* plan) { delete plan; }
