// Finds a place for a job and plans it there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "server/pipeline/refinement_request.h"
#include "server/pipeline/runs/loaded_calibrations.h"
#include "server/pipeline/runs/reconstruction_run.h"
#include "server/pipeline/runs/refinement_run.h"
#include "server/scheduler/scheduler.h"

namespace isocenter::pipeline {

/// Where a run would be made, and when its volume would be complete.
struct RunForecast {
  absl::Duration wait;    // for what is computed before it
  absl::Duration finish;  // wait and computing, at least the exposure's own time
};

/// Thread-compatible: one thread makes runs.
class RunMaker {
 public:
  /// Told, while a run is made, that a device of a slot turned out to be lost. It puts the slot
  /// into quarantine.
  using SlotLost = std::function<void(scheduler::DeviceSlot& slot, const absl::Status& why)>;

  /// devices[i] belong to scheduler.slots()[i]; all outlive the maker and its runs.
  RunMaker(const ops::Registry& registry, scheduler::Scheduler& scheduler,
           LoadedCalibrations& calibrations, std::vector<SlotDevices> devices, SlotLost slot_lost,
           std::function<absl::Time()> clock);

  /// On the slot with the earliest predicted finish that has room; where the volume does not fit
  /// one GPU, on as many of them as it needs. Errors: INVALID_ARGUMENT, RESOURCE_EXHAUSTED,
  /// UNAVAILABLE (no slot is healthy), those of LoadedCalibrations.
  absl::StatusOr<std::shared_ptr<ReconstructionRun>> Make(const AcquisitionRequest& request,
                                                          const VolumeGrid& grid,
                                                          const scheduler::Urgency& urgency);

  /// What Make would find now, without taking anything, and without the cost of a plan. Errors: as
  /// Make.
  absl::StatusOr<RunForecast> Predict(const AcquisitionRequest& request, const VolumeGrid& grid,
                                      const scheduler::Urgency& urgency);

  /// The same for a refinement, on one slot; what does not fit its devices waits in the host's
  /// memory.
  absl::StatusOr<std::shared_ptr<RefinementRun>> MakeRefinement(
      const recon::Acquisition& acquisition,
      const std::optional<jobs::UsedCalibration>& calibration, const VolumeGrid& grid,
      const RefinementRequest& request, const scheduler::Urgency& urgency);

  /// The same for one that begins while its frames still come: it holds the memory of its
  /// iterations and of the volume that they begin with at once. The acquisition asks for one.
  absl::StatusOr<std::shared_ptr<RefinementRun>> MakeEarlyRefinement(
      const AcquisitionRequest& acquisition, const VolumeGrid& grid,
      const scheduler::Urgency& urgency);

  /// Whether any job holds a place or memory.
  bool in_use() const { return scheduler_.active_jobs() > 0; }
  /// The slots of these devices.
  std::vector<scheduler::DeviceSlot*> SlotsOf(const SlotDevices& devices) const;
  /// Whether one of a slot's devices cannot be used any more.
  bool IsLost(const scheduler::DeviceSlot& slot) const;

 private:
  /// A plan, and the memory that it takes of the slots.
  struct Placement {
    std::unique_ptr<const recon::ReconstructionPlan> plan;
    SlotDevices devices;
    scheduler::Admission admission;
    RunForecast forecast;
  };
  /// Of what a plan is made, in whole or as an outline.
  struct PlanSource {
    const AcquisitionRequest& request;
    const recon::Acquisition& acquisition;  // the request's, with its calibration
    const VolumeGrid& grid;
    bool outline;
  };
  absl::StatusOr<recon::Acquisition> WithCalibration(
      recon::Acquisition acquisition, const std::optional<jobs::UsedCalibration>& used);
  absl::StatusOr<recon::ReconstructionPlan> PlanFor(const PlanSource& source,
                                                    const SlotDevices& devices) const;
  absl::StatusOr<std::shared_ptr<Placement>> PlaceOn(const scheduler::Forecast& forecast,
                                                     const PlanSource& source,
                                                     const scheduler::Urgency& urgency);
  absl::StatusOr<std::shared_ptr<ReconstructionRun>> MakeOn(const scheduler::Forecast& forecast,
                                                            const PlanSource& source,
                                                            const scheduler::Urgency& urgency);
  /// Of what a refinement is made.
  struct RefinementSource {
    const recon::Acquisition& acquisition;  // with its calibration
    const VolumeGrid& grid;
    const RefinementRequest& request;
    bool early;  // before all frames are there
  };
  absl::StatusOr<std::shared_ptr<RefinementRun>> MakeRefinementRun(
      const RefinementSource& source, const scheduler::Urgency& urgency);
  absl::StatusOr<std::shared_ptr<RefinementRun>> MakeRefinementOn(
      const scheduler::Forecast& forecast, const RefinementSource& source,
      const scheduler::Urgency& urgency);
  /// On the best slot of those that take it: `make(forecast)` is asked in turn.
  template <class Run, class Maker>
  absl::StatusOr<std::shared_ptr<Run>> OnBestSlot(double voxel_updates, jobs::JobClass job_class,
                                                  const Maker& make);
  /// `first` and further slots of its kind, as many as hold the volume at once.
  absl::StatusOr<std::vector<int>> WidenPlan(int first, const PlanSource& source,
                                             recon::ReconstructionPlan& plan) const;

  const ops::Registry& registry_;
  scheduler::Scheduler& scheduler_;
  LoadedCalibrations& calibrations_;
  const std::vector<SlotDevices> devices_;
  const SlotLost slot_lost_;
  const std::function<absl::Time()> clock_;
  std::vector<std::unique_ptr<scheduler::LaneExecutor>> completers_;  // one per slot
};

}  // namespace isocenter::pipeline
