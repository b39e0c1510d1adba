// What the audit trail records: who did what to whose data, when, and with which outcome.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace isocenter::audit {

enum class Action {
  kServiceStart,
  kServiceStop,
  kAssociate,  // a DICOM association; refused ones are the ones to look at
  kQuery,
  kRetrieve,  // C-MOVE and C-GET: instances left the node
  kAcquire,   // frames of a new acquisition are accepted, or refused
  kRefine,
  kCancel,
  kDelete,
  kDownload,
};

enum class Outcome { kSuccess, kFailure, kRefused, kCancelled };

/// Lower case with underscores: "service_start", ...; "success", ...
absl::string_view Name(Action action);
absl::string_view Name(Outcome outcome);

/// Who asked.
struct Actor {
  std::string name;                 // calling AE title; empty: unknown
  std::string address;              // IP address, with the port where it is known
  std::string certificate_subject;  // RFC 2253; empty: none was shown
};

/// Strings are UTF-8. What an action does not have stays empty.
struct Event {
  Action action = Action::kQuery;
  Outcome outcome = Outcome::kSuccess;
  Actor actor;
  std::string service;      // "dicom" or "grpc"; empty: the program itself
  std::string destination;  // AE title to which a C-MOVE sent
  std::vector<std::string> patient_ids, study_uids, job_ids;
  /// Keys of a query with a value, as "(gggg,eeee)=value".
  std::vector<std::string> query;
  int64_t matches = 0;                     // answers of a query
  int64_t instances = 0, failed = 0;       // sent, not sent
  std::string detail;                      // a sentence: why it was refused or failed
  absl::Time time = absl::InfinitePast();  // set when it is recorded, unless it is set before
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
