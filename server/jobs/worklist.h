// What the information system has scheduled: the port through which it is asked.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/jobs/job.h"

namespace isocenter::jobs {

/// Which steps are asked for. Empty keys match everything. UTF-8.
struct WorklistQuery {
  std::string accession_number, patient_id, station_ae_title;
  std::string date;  // YYYYMMDD, or a range of them with one end or both
  int limit = 100;   // steps, at least 1
};

/// One step of a requested procedure. UTF-8; what the worklist has, where it is legal in DICOM.
struct ScheduledStep {
  PatientStudy patient_study;  // study id, date and time are empty
  std::string requested_procedure_id, requested_procedure_description;
  std::string step_id, step_description;
  std::string station_ae_title, modality, start_date, start_time, performing_physician_name;
};

struct WorklistAnswer {
  std::vector<ScheduledStep> steps;
  bool truncated = false;  // there are more than the limit
};

/// Thread-safe.
class Worklist {
 public:
  virtual ~Worklist() = default;
  /// Waits for the answer. Errors, without patient data: UNAVAILABLE (not reachable, or it fails),
  /// DEADLINE_EXCEEDED.
  virtual absl::StatusOr<WorklistAnswer> Find(const WorklistQuery& query, absl::Time deadline) = 0;
  /// What waits ends with UNAVAILABLE, now and from now on.
  virtual void Interrupt() = 0;
};

}  // namespace isocenter::jobs
