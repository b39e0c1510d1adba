// An iterative method: what one pass over the views does, cut into tasks.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "kernels/recon/iterative/linear_system.h"

namespace isocenter::recon {

/// Tasks in the order in which they are done, each as long as a chunk of views and the update of
/// the volume that it completes. Between two tasks x is the best volume so far: after complete
/// updates only.
using Agenda = std::deque<std::function<absl::Status()>>;

/// What is known after a pass.
struct PassFigures {
  double relative_residual = 0;
  std::optional<double> objective;
  bool taken = true;  // false: what was there before it stands
};

class Method {
 public:
  virtual ~Method() = default;
  /// Adds what is done early with the first `frames` frames (IterativeSettings::early_passes),
  /// while b lacks the others; each time as many as the time before or more.
  virtual void AddEarlyPass(int frames, Agenda& agenda);
  /// Adds what is to be done before the first pass, when b and x have their values.
  virtual void AddPreparation(Agenda& agenda) = 0;
  /// Adds one pass over all views; passes count from 0.
  virtual void AddPass(int pass, Agenda& agenda) = 0;
  /// After the tasks of a pass.
  virtual PassFigures figures() const = 0;
};

/// How many vectors a method holds beside b and x.
struct MethodNeeds {
  int volumes = 0;           // like x
  int pieces = 0;            // like x, but of the piece that is worked on
  int projections = 0;       // like b, over all views
  int chunks = 0;            // like b, but of the views that are worked on
  bool variation = false;    // has a PiecewiseVariation
  bool column_sums = false;  // of which it keeps some (RefinementPlan::kept_column_sums)
};

/// √(part / whole), zero where the whole is.
double RelativeNorm(double part, double whole);

/// The method of the system's plan. `b` is the method's to change; all must outlive it. Errors:
/// RESOURCE_EXHAUSTED, NOT_FOUND (an operation that the backend lacks).
absl::StatusOr<std::unique_ptr<Method>> NewMethod(LinearSystem& system, ProjectionVector& b,
                                                  VolumeVector& x);

/// What NewMethod will take for a plan with its algorithm, settings, subsets, chunk_views and
/// kept_column_sums.
MethodNeeds NeedsOf(const RefinementPlan& plan);

}  // namespace isocenter::recon
