// The life of an active job, of every kind: what may happen to it when, and what is to be done
// then.
#pragma once

namespace isocenter::pipeline {

/// The exporter, which stores volumes, may be at work on another job's for seconds. It begins with
/// a volume that is still on its way from the devices, and is then ahead of it.
enum class LifeState {
  kWaiting,          // for a run
  kComputing,        // a run computes
  kCompleting,       // the volume is on its way, and waits for the exporter's turn
  kComplete,         // the volume is there, and waits for the exporter's turn
  kStoringAhead,     // the exporter is at work, the volume on its way
  kStoring,          // the exporter is at work on the whole volume
  kCancellingAhead,  // as the two before, but the exporter is told to stop: the job has been
  kCancelling,       // cancelled, unless it is stored by then
  kSuspendingAhead,  // the same, and the job is let go
  kSuspending,
  kAbandoned,  // ended or let go; the exporter gives the memory back when its turn comes
  kEnded       // ended or let go; the last one
};

enum class LifeEvent {
  kRunGiven,        // there is a place for it
  kRunTaken,        // its device is lost, or somebody more urgent needs the place
  kHandedOver,      // all that makes the volume is under way on the devices
  kVolumeComplete,  // in host memory
  kExporterTurn,    // the exporter has come to this job
  kStored,
  kStoreFailed,
  kNoRoom,     // the archive's disk is full: the exporter comes to the job again
  kStoreLost,  // the volume will not come: a device is lost, with which somebody else deals
  kCancel,
  kFail,
  kSuspend  // the service stops; its next start goes on with the job
};

/// What is to be done about an event, once the state has changed.
enum class Duty {
  kNone,            // nothing: it comes too late, too early or twice, and changes nothing
  kGoOn,            // what the event says
  kComplete,        // publish COMPLETED, give the memory back
  kFail,            // publish FAILED, give the memory back
  kCancel,          // publish CANCELLED, give the memory back
  kAnnounceCancel,  // publish CANCELLED; the exporter gives the memory back
  kLetGo            // give the memory back
};

struct LifeStep {
  LifeState next = LifeState::kEnded;
  Duty duty = Duty::kNone;
  friend bool operator==(const LifeStep&, const LifeStep&) = default;
};

LifeStep Next(LifeState state, LifeEvent event);

/// Nothing is published any more.
constexpr bool IsOver(LifeState state) { return state >= LifeState::kAbandoned; }
/// The exporter, which is at work, is to stop.
constexpr bool StopsStoring(LifeState state) {
  return state >= LifeState::kCancellingAhead && state <= LifeState::kSuspending;
}

}  // namespace isocenter::pipeline
