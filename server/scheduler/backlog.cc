#include "server/scheduler/backlog.h"

#include <algorithm>
#include <utility>

namespace isocenter::scheduler {
namespace {

static_assert(static_cast<int>(jobs::JobClass::kBatch) == 2, "Backlog has a sum for every class");

int Index(jobs::JobClass job_class) { return static_cast<int>(job_class); }

}  // namespace

Workload& Workload::operator=(Workload&& other) noexcept {
  std::swap(backlog_, other.backlog_);
  std::swap(job_class_, other.job_class_);
  std::swap(left_, other.left_);
  return *this;
}

Workload::~Workload() {
  if (backlog_ != nullptr) backlog_->Remove(job_class_, left_);
}

void Workload::Done(double voxel_updates) {
  if (backlog_ == nullptr) return;
  const double done = std::min(voxel_updates, left_);
  backlog_->Subtract(job_class_, done);
  left_ -= done;
}

Workload Backlog::Add(jobs::JobClass job_class, double voxel_updates) {
  absl::MutexLock lock(&mutex_);
  Sum& sum = by_class_[Index(job_class)];
  sum.updates += voxel_updates;
  ++sum.workloads;
  return Workload(this, job_class, voxel_updates);
}

double Backlog::Ahead(jobs::JobClass job_class) const {
  absl::MutexLock lock(&mutex_);
  double updates = 0;
  for (int i = 0; i <= Index(job_class); ++i) updates += by_class_[i].updates;
  return updates;
}

void Backlog::Subtract(jobs::JobClass job_class, double voxel_updates) {
  absl::MutexLock lock(&mutex_);
  Sum& sum = by_class_[Index(job_class)];
  sum.updates = std::max(0.0, sum.updates - voxel_updates);
}

void Backlog::Remove(jobs::JobClass job_class, double voxel_updates) {
  absl::MutexLock lock(&mutex_);
  Sum& sum = by_class_[Index(job_class)];
  // Without jobs there is no work, whatever rounding has left.
  sum.updates = --sum.workloads == 0 ? 0 : std::max(0.0, sum.updates - voxel_updates);
}

}  // namespace isocenter::scheduler
