// What admitted jobs have still to compute on a device.
#pragma once

#include <array>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/jobs/job.h"

namespace isocenter::scheduler {

class Backlog;

/// The work of one job that is left on a device; taken out of the backlog when destroyed.
/// Move-only, not thread-safe.
class Workload {
 public:
  Workload() = default;
  Workload(Workload&& other) noexcept { *this = static_cast<Workload&&>(other); }
  Workload& operator=(Workload&& other) noexcept;
  ~Workload();

  /// So many voxel updates, at least 0, have been computed; what is left does not fall below 0.
  void Done(double voxel_updates);
  double left() const { return left_; }

 private:
  friend class Backlog;
  Workload(Backlog* backlog, jobs::JobClass job_class, double voxel_updates)
      : backlog_(backlog), job_class_(job_class), left_(voxel_updates) {}
  Backlog* backlog_ = nullptr;
  jobs::JobClass job_class_ = jobs::JobClass::kLive;
  double left_ = 0;
};

/// Thread-safe. Must outlive its workloads.
class Backlog {
 public:
  /// `voxel_updates`: at least 0.
  Workload Add(jobs::JobClass job_class, double voxel_updates);
  /// Voxel updates that a new job of this class has before it: those of jobs of the same or a
  /// better class.
  double Ahead(jobs::JobClass job_class) const;

 private:
  friend class Workload;
  struct Sum {
    double updates = 0;
    int workloads = 0;
  };
  void Subtract(jobs::JobClass job_class, double voxel_updates);
  void Remove(jobs::JobClass job_class, double voxel_updates);

  mutable absl::Mutex mutex_;
  std::array<Sum, 3> by_class_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::scheduler
