// The motion of the object as a whole, looked for in the frames beside other work of the device.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/motion/find_motion.h"
#include "kernels/recon/second_pass/line_store.h"
#include "kernels/recon/second_pass/plan.h"

namespace isocenter::recon {

/// Of the host, while it searches and while the volume at rest is made: the search works on a
/// device of the host's cores alone, whatever the plan's devices are. Errors: those of
/// MotionMemoryOf.
absl::StatusOr<int64_t> MotionPassBytes(const ReconstructionPlan& again,
                                        const ops::Registry& registry);

/// How far the object went, or that no motion was found, as a sentence with figures.
std::string ToText(const FoundMotion& found);

/// Search, then the plan of the object at rest. Not thread-safe, but for Stop and done.
class MotionPass {
 public:
  /// `plan` and `registry` must outlive it. `threads` that it may use.
  MotionPass(const SecondPassPlan& plan, const ops::Registry& registry, int threads)
      : plan_(plan), registry_(registry), threads_(threads) {}

  /// FindMotion in the line integrals of all views, with the matrices that they have. Errors: its,
  /// CANCELLED (Stop).
  absl::Status Search(LineStore& lines);
  /// Search gives up before its next step, from any thread.
  void Stop() { stop_ = true; }
  /// Of the search: 0 to 1, from any thread.
  double done() const { return done_; }

  /// After Search.
  const FoundMotion& found() const { return found_; }
  /// plan.again for the object at rest, with its matrices; null: it did not move.
  const ReconstructionPlan* at_rest() const { return at_rest_.get(); }

 private:
  const SecondPassPlan& plan_;
  const ops::Registry& registry_;
  const int threads_;
  FoundMotion found_;
  std::unique_ptr<const ReconstructionPlan> at_rest_;
  std::atomic<double> done_ = 0;
  std::atomic<bool> stop_ = false;
};

}  // namespace isocenter::recon
