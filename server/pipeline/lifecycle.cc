#include "server/pipeline/lifecycle.h"

namespace isocenter::pipeline {
namespace {

using enum LifeState;

LifeStep OnRunTaken(LifeState state) {
  switch (state) {
    case kComputing:
    case kCompleting:
    case kStoringAhead:
      return {kWaiting, Duty::kGoOn};
    // The exporter, which was to end the job, has nothing more to do with it.
    case kCancellingAhead:
      return {kEnded, Duty::kCancel};
    case kSuspendingAhead:
      return {kEnded, Duty::kLetGo};
    default:  // none is there, or nothing depends on it any more
      return {state, Duty::kNone};
  }
}

LifeStep OnVolumeComplete(LifeState state) {
  switch (state) {
    case kWaiting:  // that needs no run
    case kComputing:
    case kCompleting:
      return {kComplete, Duty::kGoOn};
    case kStoringAhead:
      return {kStoring, Duty::kGoOn};
    case kCancellingAhead:
      return {kCancelling, Duty::kGoOn};
    case kSuspendingAhead:
      return {kSuspending, Duty::kGoOn};
    default:
      return {state, Duty::kNone};
  }
}

LifeStep OnExporterTurn(LifeState state) {
  switch (state) {
    case kCompleting:
      return {kStoringAhead, Duty::kGoOn};
    case kComplete:
      return {kStoring, Duty::kGoOn};
    case kAbandoned:
      return {kEnded, Duty::kLetGo};
    default:
      return {state, Duty::kNone};
  }
}

bool ExporterIsAtWork(LifeState state) { return state >= kStoringAhead && state <= kSuspending; }

LifeStep OnStoreFailed(LifeState state) {
  switch (state) {
    case kStoringAhead:
    case kStoring:
      return {kEnded, Duty::kFail};
    case kCancellingAhead:
    case kCancelling:
      return {kEnded, Duty::kCancel};
    case kSuspendingAhead:
    case kSuspending:
      return {kEnded, Duty::kLetGo};
    default:
      return {state, Duty::kNone};
  }
}

LifeStep OnNoRoom(LifeState state) {
  switch (state) {
    case kStoringAhead:
      return {kCompleting, Duty::kGoOn};
    case kStoring:
      return {kComplete, Duty::kGoOn};
    default:  // it was to stop anyway
      return OnStoreFailed(state);
  }
}

/// Somebody wants the job to stop. `at_once`: what is due where no exporter is involved;
/// `in_turn`: where it has not begun; else the job goes on to a state in which it is told.
LifeStep OnStop(LifeState state, Duty at_once, Duty in_turn, LifeState ahead, LifeState storing) {
  switch (state) {
    case kWaiting:
    case kComputing:
      return {kEnded, at_once};
    case kCompleting:
    case kComplete:
      return {kAbandoned, in_turn};
    case kStoringAhead:
      return {ahead, Duty::kGoOn};
    case kStoring:
      return {storing, Duty::kGoOn};
    default:  // the first who wanted it is heeded
      return {state, Duty::kNone};
  }
}

}  // namespace

LifeStep Next(LifeState state, LifeEvent event) {
  const LifeStep unchanged{state, Duty::kNone};
  switch (event) {
    case LifeEvent::kRunGiven:
      return state == kWaiting ? LifeStep{kComputing, Duty::kGoOn} : unchanged;
    case LifeEvent::kRunTaken:
      return OnRunTaken(state);
    case LifeEvent::kHandedOver:
      return state == kComputing ? LifeStep{kCompleting, Duty::kGoOn} : unchanged;
    case LifeEvent::kVolumeComplete:
      return OnVolumeComplete(state);
    case LifeEvent::kExporterTurn:
      return OnExporterTurn(state);
    case LifeEvent::kStored:
      return ExporterIsAtWork(state) ? LifeStep{kEnded, Duty::kComplete} : unchanged;
    case LifeEvent::kStoreFailed:
      return OnStoreFailed(state);
    case LifeEvent::kNoRoom:
      return OnNoRoom(state);
    case LifeEvent::kStoreLost:  // the job goes on without this run, unless it is to stop anyway
      return state == kStoringAhead ? unchanged : OnStoreFailed(state);
    case LifeEvent::kCancel:
      return OnStop(state, Duty::kCancel, Duty::kAnnounceCancel, kCancellingAhead, kCancelling);
    case LifeEvent::kFail:  // what is being stored may yet be completed
      return state <= kComputing ? LifeStep{kEnded, Duty::kFail} : unchanged;
    case LifeEvent::kSuspend:
      return OnStop(state, Duty::kLetGo, Duty::kGoOn, kSuspendingAhead, kSuspending);
  }
  return unchanged;
}

}  // namespace isocenter::pipeline
