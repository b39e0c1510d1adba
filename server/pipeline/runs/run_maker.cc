#include "server/pipeline/runs/run_maker.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/device_lost.h"

namespace isocenter::pipeline {
namespace {

/// Frames of a job that are in memory before they are a chunk's: those on their way to the disk,
/// and two on their way through the wire's layers.
constexpr int kFramesOnTheirWay = kMostAppends + 2;

double VoxelUpdates(const recon::Acquisition& acquisition, const VolumeGrid& grid) {
  return static_cast<double>(grid.voxels()) * static_cast<double>(acquisition.trajectory.size());
}

absl::Duration AcquisitionTime(const AcquisitionRequest& request) {
  return request.frame_rate_hz > 0
             ? absl::Seconds(static_cast<double>(request.acquisition.trajectory.size()) /
                             request.frame_rate_hz)
             : absl::ZeroDuration();
}

}  // namespace

RunMaker::RunMaker(const ops::Registry& registry, scheduler::Scheduler& scheduler,
                   LoadedCalibrations& calibrations, std::vector<SlotDevices> devices,
                   SlotLost slot_lost, std::function<absl::Time()> clock)
    : registry_(registry),
      scheduler_(scheduler),
      calibrations_(calibrations),
      devices_(std::move(devices)),
      slot_lost_(std::move(slot_lost)),
      clock_(std::move(clock)) {
  for (size_t i = 0; i < devices_.size(); ++i) {
    completers_.push_back(
        std::make_unique<scheduler::LaneExecutor>(absl::StrCat("iso-volume-", i)));
  }
}

template <class Run, class Maker>
absl::StatusOr<std::shared_ptr<Run>> RunMaker::OnBestSlot(double voxel_updates,
                                                          jobs::JobClass job_class,
                                                          const Maker& make) {
  absl::Status refusal = absl::UnavailableError("no device of this service is healthy");
  bool first = true;
  for (const scheduler::Forecast& forecast : scheduler_.Rank(voxel_updates, job_class)) {
    absl::StatusOr<std::shared_ptr<Run>> run = make(forecast);
    if (ops::IsDeviceLost(run.status())) {
      // The failure of one GPU can take all of the process with it.
      slot_lost_(*scheduler_.slots()[forecast.slot], run.status());
      continue;
    }
    if (run.ok() || !absl::IsResourceExhausted(run.status())) return run;
    if (std::exchange(first, false)) refusal = run.status();
  }
  return refusal;
}

absl::StatusOr<recon::Acquisition> RunMaker::WithCalibration(
    recon::Acquisition acquisition, const std::optional<jobs::UsedCalibration>& used) {
  if (used) {
    ISO_ASSIGN_OR_RETURN(acquisition.calibration, calibrations_.Get(*used));
  }
  return acquisition;
}

absl::StatusOr<std::shared_ptr<ReconstructionRun>> RunMaker::Make(
    const AcquisitionRequest& request, const VolumeGrid& grid, const scheduler::Urgency& urgency) {
  ISO_ASSIGN_OR_RETURN(const recon::Acquisition acquisition,
                       WithCalibration(request.acquisition, request.calibration));
  return OnBestSlot<ReconstructionRun>(
      VoxelUpdates(acquisition, grid), urgency.job_class, [&](const scheduler::Forecast& forecast) {
        return MakeOn(forecast, {request, acquisition, grid, false}, urgency);
      });
}

absl::StatusOr<RunForecast> RunMaker::Predict(const AcquisitionRequest& request,
                                              const VolumeGrid& grid,
                                              const scheduler::Urgency& urgency) {
  ISO_ASSIGN_OR_RETURN(const recon::Acquisition acquisition,
                       WithCalibration(request.acquisition, request.calibration));
  ISO_ASSIGN_OR_RETURN(
      const std::shared_ptr<Placement> placement,
      OnBestSlot<Placement>(VoxelUpdates(acquisition, grid), urgency.job_class,
                            [&](const scheduler::Forecast& forecast) {
                              return PlaceOn(forecast, {request, acquisition, grid, true}, urgency);
                            }));
  return placement->forecast;
}

absl::StatusOr<std::shared_ptr<RefinementRun>> RunMaker::MakeRefinement(
    const recon::Acquisition& uncorrected, const std::optional<jobs::UsedCalibration>& calibration,
    const VolumeGrid& grid, const RefinementRequest& request, const scheduler::Urgency& urgency) {
  ISO_ASSIGN_OR_RETURN(const recon::Acquisition acquisition,
                       WithCalibration(uncorrected, calibration));
  return MakeRefinementRun({acquisition, grid, request, /*early=*/false}, urgency);
}

absl::StatusOr<std::shared_ptr<RefinementRun>> RunMaker::MakeEarlyRefinement(
    const AcquisitionRequest& request, const VolumeGrid& grid, const scheduler::Urgency& urgency) {
  ISO_ASSIGN_OR_RETURN(const recon::Acquisition acquisition,
                       WithCalibration(request.acquisition, request.calibration));
  return MakeRefinementRun({acquisition, grid, *request.refinement, /*early=*/true}, urgency);
}

absl::StatusOr<std::shared_ptr<RefinementRun>> RunMaker::MakeRefinementRun(
    const RefinementSource& source, const scheduler::Urgency& urgency) {
  const double updates =
      recon::SweepsOf(source.request.settings) * VoxelUpdates(source.acquisition, source.grid);
  return OnBestSlot<RefinementRun>(updates, urgency.job_class,
                                   [&](const scheduler::Forecast& forecast) {
                                     return MakeRefinementOn(forecast, source, urgency);
                                   });
}

absl::StatusOr<recon::ReconstructionPlan> RunMaker::PlanFor(const PlanSource& source,
                                                            const SlotDevices& devices) const {
  const AcquisitionRequest& request = source.request;
  return source.outline
             ? recon::OutlinePlan(source.acquisition, source.grid, request.settings, registry_,
                                  devices, recon::Arrival::kStreamed, kFramesOnTheirWay)
             : recon::MakePlan(source.acquisition, source.grid, request.settings, registry_,
                               devices, recon::Arrival::kStreamed, kFramesOnTheirWay);
}

absl::StatusOr<std::shared_ptr<RunMaker::Placement>> RunMaker::PlaceOn(
    const scheduler::Forecast& forecast, const PlanSource& source,
    const scheduler::Urgency& urgency) {
  const recon::Acquisition& acquisition = source.acquisition;
  const SlotDevices& planned = devices_[forecast.slot];
  const bool own_memory = planned[0]->traits().own_memory;
  std::vector<int> slots{forecast.slot};
  std::unique_ptr<recon::ReconstructionPlan> plan;
  {
    // Refuses what is hopeless before it costs time, and accounts for the planning.
    const int64_t volume_bytes = recon::VolumeBytes(source.grid);
    ISO_ASSIGN_OR_RETURN(
        const scheduler::Admission planning,
        scheduler_.Admit(forecast.slot, own_memory ? 0 : volume_bytes,
                         volume_bytes + (source.outline ? 0 : recon::PlanningBytes(acquisition)),
                         urgency.job_class));
    ISO_ASSIGN_OR_RETURN(recon::ReconstructionPlan made, PlanFor(source, planned));
    if (own_memory && made.order != recon::Order::kChunksFirst) {
      ISO_ASSIGN_OR_RETURN(slots, WidenPlan(forecast.slot, source, made));
    }
    plan = std::make_unique<recon::ReconstructionPlan>(std::move(made));
  }
  std::vector<scheduler::SlotDemand> demands;
  SlotDevices devices;
  for (const int slot : slots) {
    demands.push_back({slot, plan->peak_bytes});
    devices.insert(devices.end(), devices_[slot].begin(), devices_[slot].end());
  }
  ISO_ASSIGN_OR_RETURN(scheduler::Admission admission,
                       scheduler_.Admit(demands, plan->host_bytes, urgency.job_class));
  auto placement = std::make_shared<Placement>();
  placement->plan = std::move(plan);
  placement->devices = std::move(devices);
  placement->admission = std::move(admission);
  placement->forecast = {.wait = forecast.wait,
                         .finish = std::max(forecast.finish(), AcquisitionTime(source.request))};
  return placement;
}

absl::StatusOr<std::shared_ptr<ReconstructionRun>> RunMaker::MakeOn(
    const scheduler::Forecast& forecast, const PlanSource& source,
    const scheduler::Urgency& urgency) {
  ISO_ASSIGN_OR_RETURN(const std::shared_ptr<Placement> placement,
                       PlaceOn(forecast, source, urgency));
  const absl::Time end = clock_() + placement->forecast.finish;
  placement->admission.ExpectEnd(end);
  return ReconstructionRun::Create(std::move(placement->plan),
                                   {.slot = *scheduler_.slots()[forecast.slot],
                                    .devices = std::move(placement->devices),
                                    .completer = *completers_[forecast.slot],
                                    .clock = clock_},
                                   std::move(placement->admission), registry_, urgency, end);
}

absl::StatusOr<std::shared_ptr<RefinementRun>> RunMaker::MakeRefinementOn(
    const scheduler::Forecast& forecast, const RefinementSource& source,
    const scheduler::Urgency& urgency) {
  const SlotDevices& devices = devices_[forecast.slot];
  ISO_ASSIGN_OR_RETURN(recon::AnyRefinementPlan plan,
                       recon::PlanRefinement(source.acquisition, source.grid, source.request.fdk,
                                             source.request.settings, registry_, devices,
                                             recon::Arrival::kStreamed));
  const recon::RefinementBasis& basis = recon::BasisOf(plan);
  int64_t device_bytes = basis.peak_bytes;
  int64_t host_bytes = basis.host_bytes;
  if (source.early && basis.warm_start) {
    device_bytes += basis.warm_start->peak_bytes;
    host_bytes += basis.warm_start->host_bytes;
  }
  ISO_ASSIGN_OR_RETURN(
      scheduler::Admission admission,
      scheduler_.Admit(forecast.slot, device_bytes, host_bytes, urgency.job_class));
  return RefinementRun::Create(std::make_unique<const recon::AnyRefinementPlan>(std::move(plan)),
                               {.slot = *scheduler_.slots()[forecast.slot],
                                .devices = devices,
                                .completer = *completers_[forecast.slot],
                                .clock = clock_},
                               std::move(admission), registry_, urgency);
}

absl::StatusOr<std::vector<int>> RunMaker::WidenPlan(int first, const PlanSource& source,
                                                     recon::ReconstructionPlan& plan) const {
  std::vector<int> slots{first};
  SlotDevices devices = devices_[first];
  for (int slot = 0; slot < static_cast<int>(devices_.size()); ++slot) {
    if (slot == first || !scheduler_.slots()[slot]->healthy() ||
        devices_[slot][0]->backend() != devices[0]->backend()) {
      continue;
    }
    slots.push_back(slot);
    devices.insert(devices.end(), devices_[slot].begin(), devices_[slot].end());
    ISO_ASSIGN_OR_RETURN(recon::ReconstructionPlan wider, PlanFor(source, devices));
    if (wider.order != recon::Order::kChunksFirst) continue;
    plan = std::move(wider);
    return slots;
  }
  return std::vector<int>{first};  // in parts, one after the other
}

bool RunMaker::IsLost(const scheduler::DeviceSlot& slot) const {
  const auto& slots = scheduler_.slots();
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].get() != &slot) continue;
    return std::ranges::any_of(
        devices_[i], [](ops::Device* device) { return ops::IsDeviceLost(device->Check()); });
  }
  return false;
}

std::vector<scheduler::DeviceSlot*> RunMaker::SlotsOf(const SlotDevices& devices) const {
  std::vector<scheduler::DeviceSlot*> slots;
  for (size_t slot = 0; slot < devices_.size(); ++slot) {
    if (std::ranges::find(devices, devices_[slot][0]) != devices.end()) {
      slots.push_back(scheduler_.slots()[slot].get());
    }
  }
  return slots;
}

}  // namespace isocenter::pipeline
