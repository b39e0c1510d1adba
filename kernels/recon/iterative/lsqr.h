// Golub-Kahan bidiagonalisation for least squares.
#pragma once

#include <memory>

#include "kernels/recon/iterative/least_squares.h"
#include "kernels/recon/iterative/method.h"

namespace isocenter::recon {

/// Minimises ‖W½ (b - A x)‖² through the same iterates as CGLS, numerically more kindly, and with
/// one vector of projections less. Source: Paige & Saunders, ACM TOMS 8 (1982) 43; its symbols.
class Lsqr final : public Method {
 public:
  static absl::StatusOr<std::unique_ptr<Lsqr>> Create(LinearSystem& system, ProjectionVector& b,
                                                      VolumeVector& x);
  /// What Create takes.
  static MethodNeeds Needs(const RefinementPlan& plan);
  void AddPreparation(Agenda& agenda) override;
  void AddPass(int pass, Agenda& agenda) override;
  PassFigures figures() const override;

 private:
  Lsqr(LinearSystem& system, ProjectionVector& b, VolumeVector& x, WeightedSystem weighted,
       VolumeVector v, VolumeVector w)
      : system_(system),
        u_(b),
        x_(x),
        weighted_(std::move(weighted)),
        v_(std::move(v)),
        w_(std::move(w)) {}
  absl::Status Begin();
  absl::Status NextU(int chunk);
  absl::Status PrepareV();
  absl::Status Rotate();
  absl::Status NormalizeV();

  LinearSystem& system_;
  ProjectionVector&
      u_;  // β u, in the place of b: its length is known only when all chunks are done
  VolumeVector& x_;
  WeightedSystem weighted_;
  VolumeVector v_, w_;
  double squared_data_ = 0;
  double squared_u_ = 0;  // β² as far as it has been added up
  double alpha_ = 0, beta_ = 0, rho_bar_ = 0, phi_bar_ = 0;
};

}  // namespace isocenter::recon
