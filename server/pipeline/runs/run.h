// What the attempts to compute a job have in common.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/recon/trace.h"
#include "server/pipeline/runs/run_place.h"
#include "server/scheduler/lane_executor.h"

namespace isocenter::pipeline {

/// One attempt to compute a job: a place, and all memory that it takes there. When its device is
/// lost, another run begins with the first frame.
class Run {
 public:
  virtual ~Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const RunPlace& place() const { return place_; }
  scheduler::DeviceSlot& slot() const { return place_.slot; }
  /// The slot's thread does the run's units.
  scheduler::LaneExecutor::Lane& lane() const { return *lane_; }
  /// What the devices did, when the volume is complete.
  const std::vector<recon::DeviceSpan>& trace() const { return trace_; }
  /// What was planned, for people.
  virtual std::string PlanText() const = 0;

 protected:
  Run(const RunPlace& place, const scheduler::Urgency& urgency)
      : place_(place), lane_(place.slot.lanes.NewLane(urgency)) {}

  const RunPlace place_;
  std::vector<recon::DeviceSpan> trace_;

 private:
  const std::shared_ptr<scheduler::LaneExecutor::Lane> lane_;
};

/// Drops the units of a run that wait. When the one that is under way has ended, and before other
/// jobs' work, the slot's thread frees the run, unless somebody else holds it, and calls `freed`.
void FreeRun(std::shared_ptr<Run> run, std::function<void()> freed);

}  // namespace isocenter::pipeline
