// Penalised weighted least squares by separable quadratic surrogates, with ordered subsets and
// momentum.
#pragma once

#include <memory>
#include <optional>

#include "kernels/recon/iterative/method.h"
#include "kernels/recon/iterative/momentum.h"
#include "kernels/recon/iterative/os_sqs/subset_correction.h"
#include "kernels/recon/iterative/os_sqs/surrogate.h"
#include "kernels/recon/iterative/piecewise_variation.h"

namespace isocenter::recon {

/// Minimises ½‖b - A x‖²_W + β Σ ψ(differences), ψ Huber's, over x >= 0 where that is asked for.
/// Steps: x⁺ = [z - (M A_sᵀ W_s (A_s z - b_s) + β∇R(z)) / D]₊ with D the surrogate's denominators,
/// the same for all subsets (Erdogan & Fessler, PMB 44 (1999) 2835), then
/// z = x⁺ + ((t-1)/t⁺)(x⁺ - x) (Kim, Ramani, Fessler, IEEE TMI 34 (2015) 167, table IV). With one
/// subset momentum begins anew when a pass has made the objective worse (O'Donoghue & Candès,
/// Found. Comput. Math. 15 (2015) 715).
///
/// With several subsets, which disagree about noise:
/// - what is read is a mean of a pass's iterates, of which the nth counts n times;
/// - before each pass but the first, voxels that moved in the last one get longer steps
/// (urgency.h);
/// - momentum looks ahead as far as 20 subsets go. After forty steps, when it has settled what it
///   can, subsets' gradients are corrected (subset_correction.h). From then on it looks ahead as
///   far as 10 subsets go, and after each pass whose iterates scatter a third, a quarter... of
///   the 20;
/// - a pass that makes the objective much worse is not taken. The next one begins anew from what
///   there was before it, with denominators that hold for each subset.
class OsSqs final : public Method {
 public:
  static absl::StatusOr<std::unique_ptr<OsSqs>> Create(LinearSystem& system, ProjectionVector& b,
                                                       VolumeVector& x);
  /// What Create takes.
  static MethodNeeds Needs(const RefinementPlan& plan);
  void AddPreparation(Agenda& agenda) override;
  void AddPass(int pass, Agenda& agenda) override;
  PassFigures figures() const override;

 private:
  /// What there is with several subsets.
  struct Subsets {
    VolumeVector iterate;
    VolumeVector mean;  // of the present pass, but in the first: then what it began with
    SubsetCorrection correction;
  };
  struct Vectors {
    VolumeVector ahead, gradient;
    ProjectionVector residual, weights;
  };
  OsSqs(LinearSystem& system, ProjectionVector& b, VolumeVector& x, Vectors vectors,
        Surrogate surrogate, std::optional<Subsets> subsets,
        std::unique_ptr<PiecewiseVariation> variation);
  Surrogate::Vectors SurrogateVectors();
  absl::Status AddSquaredData(int chunk);
  absl::Status BeginPass(int pass);
  absl::Status BeginSubset();
  absl::Status AddViews(int chunk);
  absl::Status Update(int pass, int subset);
  absl::Status AddToMean(int pass, int subset);
  absl::Status EndPass(int pass);
  absl::Status BeginAnew();
  absl::Status BeginSubsetsAnew();
  absl::Status EndMean(int pass);
  absl::StatusOr<double> SquaredDistance(VolumeVector& a, VolumeVector& b);
  VolumeVector& Iterate() { return subsets_ ? subsets_->iterate : x_; }

  LinearSystem& system_;
  ProjectionVector& b_;
  VolumeVector& x_;            // with several subsets the mean of a pass
  VolumeVector ahead_;         // z
  VolumeVector gradient_;      // of the present subset; between passes voxels' urgency
  ProjectionVector residual_;  // of a chunk
  ProjectionVector weights_;   // of a chunk
  Surrogate surrogate_;
  std::optional<Subsets> subsets_;
  std::unique_ptr<PiecewiseVariation> variation_;
  Momentum momentum_;
  double most_ahead_ = 1;        // how far momentum may look
  int shorter_ = 1;              // by what that is divided; above 1 subsets are corrected
  bool scatters_ = false;        // did the iterates of the last pass
  double squared_distance_ = 0;  // that the mean has moved in the last pass
  double squared_data_ = 0, squared_residual_ = 0;
  double objective_ = 0;
  bool worse_ = false;  // than before the last pass
  bool grew_ = false;   // the iterates of a pass did, and denominators are of all views since
  bool taken_ = true;   // was the last pass
  int begun_at_ = 0;    // the pass with which momentum began
  std::optional<double> last_objective_;
};

}  // namespace isocenter::recon
