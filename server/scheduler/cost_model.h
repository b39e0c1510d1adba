// How long a device takes.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace isocenter::scheduler {

/// Predicts computing time from voxel updates (nx ny nz times projections): in proportion, at the
/// mean speed of what was measured, in which a measurement counts by the time that it took and
/// fades: its weight halves with every 30 s of computing that is measured after it. A job therefore
/// counts as much as all of its chunks. What does not grow with the updates (filtering, transfers)
/// is part of the speed, so after large jobs small ones are predicted somewhat short. Thread-safe.
class CostModel {
 public:
  /// `updates_per_second`, above 0: assumed until something has been measured.
  explicit CostModel(double updates_per_second) : prior_(updates_per_second) {}

  /// A whole job or one chunk; ignored unless both are above 0.
  void Add(double voxel_updates, double seconds);
  double PredictSeconds(double voxel_updates) const;

 private:
  const double prior_;  // updates per second
  mutable absl::Mutex mutex_;
  // Sums in which what is older has faded.
  double updates_ ABSL_GUARDED_BY(mutex_) = 0;
  double seconds_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace isocenter::scheduler
