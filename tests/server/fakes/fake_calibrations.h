// Calibrations in memory, with faults on demand. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "kernels/ops/calibration.h"
#include "server/jobs/calibrations.h"

namespace isocenter::testing {

class FakeCalibrations : public jobs::CalibrationStore {
 public:
  std::vector<jobs::CalibrationLabel> Labels() const override {
    absl::MutexLock lock(&mutex_);
    std::vector<jobs::CalibrationLabel> labels;
    for (const auto& [name, entry] : entries_) labels.push_back(entry.label);
    return labels;
  }
  absl::StatusOr<std::shared_ptr<const ops::Calibration>> Load(
      const jobs::UsedCalibration& used) override {
    absl::MutexLock lock(&mutex_);
    ++loads_;
    const auto found = entries_.find(used.name);
    if (found == entries_.end() || found->second.label.crc32c != used.crc32c) {
      return absl::NotFoundError("no such set");
    }
    if (damaged_.contains(used.name)) {
      entries_.erase(found);
      return absl::DataLossError("damaged");
    }
    return std::make_shared<const ops::Calibration>(found->second.calibration);
  }

  void Add(jobs::CalibrationLabel label, ops::Calibration calibration) {
    absl::MutexLock lock(&mutex_);
    calibration.name = label.name;
    calibration.detector = label.detector;
    Entry& entry = entries_[label.name];
    entry = {std::move(label), std::move(calibration)};
  }
  void Withdraw(const std::string& name) {
    absl::MutexLock lock(&mutex_);
    entries_[name].label.withdrawn = true;
  }
  void Remove(const std::string& name) {
    absl::MutexLock lock(&mutex_);
    entries_.erase(name);
  }
  /// The next Load finds it out.
  void Damage(const std::string& name) {
    absl::MutexLock lock(&mutex_);
    damaged_.insert(name);
  }
  int loads() const {
    absl::MutexLock lock(&mutex_);
    return loads_;
  }

 private:
  struct Entry {
    jobs::CalibrationLabel label;
    ops::Calibration calibration;
  };
  mutable absl::Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> damaged_ ABSL_GUARDED_BY(mutex_);
  int loads_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace isocenter::testing
