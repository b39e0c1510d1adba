// A worklist that answers as a test wants.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/worklist.h"

namespace isocenter::testing {

/// Thread-safe.
class FakeWorklist : public jobs::Worklist {
 public:
  void SetAnswer(absl::StatusOr<jobs::WorklistAnswer> answer) {
    absl::MutexLock lock(&mutex_);
    answer_ = std::move(answer);
  }
  void SetSteps(std::vector<jobs::ScheduledStep> steps) {
    SetAnswer(jobs::WorklistAnswer{.steps = std::move(steps)});
  }
  /// While it is closed no question is answered.
  void SetGate(bool open) {
    absl::MutexLock lock(&mutex_);
    open_ = open;
  }
  std::vector<jobs::WorklistQuery> queries() const {
    absl::MutexLock lock(&mutex_);
    return queries_;
  }

  absl::StatusOr<jobs::WorklistAnswer> Find(const jobs::WorklistQuery& query, absl::Time) override {
    absl::MutexLock lock(&mutex_);
    queries_.push_back(query);
    const int64_t interruptions = interruptions_;
    auto go_on = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return open_ || interruptions_ != interruptions;
    };
    mutex_.Await(absl::Condition(&go_on));
    if (!open_) return absl::UnavailableError("interrupted");
    return answer_;
  }
  void Interrupt() override {
    absl::MutexLock lock(&mutex_);
    ++interruptions_;
  }

 private:
  mutable absl::Mutex mutex_;
  bool open_ ABSL_GUARDED_BY(mutex_) = true;
  int64_t interruptions_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::StatusOr<jobs::WorklistAnswer> answer_ ABSL_GUARDED_BY(mutex_) = jobs::WorklistAnswer{};
  std::vector<jobs::WorklistQuery> queries_ ABSL_GUARDED_BY(mutex_);
};

/// The step of one order of a Japanese patient.
inline jobs::ScheduledStep YamadaStep() {
  jobs::ScheduledStep step;
  step.patient_study = {.patient_name = "Yamada^Tarou=山田^太郎=やまだ^たろう",
                        .patient_id = "P1",
                        .patient_birth_date = "19700203",
                        .patient_sex = "M",
                        .study_instance_uid = "1.2.840.1",
                        .accession_number = "A1",
                        .referring_physician_name = "House^Gregory"};
  step.requested_procedure_id = "RP1";
  step.requested_procedure_description = "Cerebral angiography";
  step.step_id = "SPS1";
  step.step_description = "Rotational run";
  step.station_ae_title = "ISOCENTER";
  step.modality = "XA";
  step.start_date = "20260102";
  step.start_time = "101500";
  return step;
}

}  // namespace isocenter::testing
