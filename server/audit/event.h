// What the audit trail records: who did what to whose data, when, and with which outcome.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace isocenter::audit {

enum class Action {
  kServiceStart,
  kServiceStop,
  kAssociate,  // a DICOM association; refused ones are the ones to look at
  kQuery,      // what is there: C-FIND, lists of jobs, the worklist
  kRetrieve,   // C-MOVE and C-GET: instances left the node
  kAcquire,    // frames of a new acquisition are accepted, or refused
  kRefine,
  kCancel,
  kDelete,
  kDownload,
  kView,      // a job, its preview, its volume, planes of it
  kSend,      // that a result is to be sent to a destination was asked for
  kTransmit,  // instances were sent to a configured destination
  kRetry,     // that transfers are tried again was asked for
  kDrain,
  kUndrain,
  kSignIn,
  kSignOut,
  kCall,           // a request that its caller may not make
  kProcedureStep,  // a report to the information system is tried again, or dropped
  kCalibration,    // a calibration is added or withdrawn
  kQuality,        // a result of image quality is recorded, or becomes a baseline
  kReplica,        // a copy of another node's frames is taken over or dropped, by hand
  kTrail,          // of the trail itself: what is missing in it
};

enum class Outcome { kSuccess, kFailure, kRefused, kCancelled };

/// Lower case with underscores: "service_start", ...; "success", ...
absl::string_view Name(Action action);
absl::string_view Name(Outcome outcome);
/// The other way round; empty: there is none of this name.
std::optional<Action> ActionOf(absl::string_view name);
std::optional<Outcome> OutcomeOf(absl::string_view name);

/// Who asked.
struct Actor {
  std::string name;                 // calling AE title; empty: unknown
  std::string address;              // IP address, with the port where it is known
  std::string certificate_subject;  // RFC 2253; empty: none was shown
  bool is_known = false;            // a token or certificate has proven who it is
};

/// Strings are what a peer has sent, or UTF-8. What an action does not have stays empty.
struct Event {
  Action action = Action::kQuery;
  Outcome outcome = Outcome::kSuccess;
  Actor actor;
  std::string service;      // "dicom", "dicomweb", "grpc" or "http"; empty: the program itself
  std::string destination;  // AE title to which instances were sent
  std::vector<std::string> patient_ids, study_uids, job_ids;
  /// Keys of a query with a value, as "(gggg,eeee)=value" or "name=value".
  std::vector<std::string> query;
  int64_t matches = 0;                     // answers of a query
  int64_t instances = 0, failed = 0;       // sent, not sent
  std::string detail;                      // a sentence: why it was refused or failed
  absl::Time time = absl::InfinitePast();  // set when it is recorded, unless it is set before

  // Set by the trail.
  int64_t count = 0;  // of further events that this record stands for; 0: of none
  absl::Time since = absl::InfinitePast();  // of the first of these
  int part = 0, parts = 0;                  // of a record that is too long for one; 0: it is not
  int64_t lost = 0;                         // records that could not be written before this one
  int64_t torn_bytes = 0;                   // of a record before this one, of which they are left
};

/// Where events go. Thread-safe; returns soon and never fails to its caller.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void Record(Event event) = 0;
};

/// Takes events where nobody wants them.
class NoRecorder : public Recorder {
 public:
  void Record(Event) override {}
};

}  // namespace isocenter::audit
