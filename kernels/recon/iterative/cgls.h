// Conjugate gradients on the normal equations.
#pragma once

#include <memory>

#include "kernels/recon/iterative/least_squares.h"
#include "kernels/recon/iterative/method.h"

namespace isocenter::recon {

/// Minimises ‖W½ (b - A x)‖². Sources: Hestenes & Stiefel, J. Res. Natl. Bur. Stand. 49 (1952) 409;
/// Björck, Numerical Methods for Least Squares Problems (1996), algorithm 7.4.1. The residual never
/// grows.
class Cgls final : public Method {
 public:
  static absl::StatusOr<std::unique_ptr<Cgls>> Create(LinearSystem& system, ProjectionVector& b,
                                                      VolumeVector& x);
  /// What Create takes.
  static MethodNeeds Needs(const RefinementPlan& plan);
  void AddPreparation(Agenda& agenda) override;
  void AddPass(int pass, Agenda& agenda) override;
  PassFigures figures() const override;

 private:
  Cgls(LinearSystem& system, ProjectionVector& b, VolumeVector& x, WeightedSystem weighted,
       VolumeVector gradient, VolumeVector direction, ProjectionVector projected)
      : system_(system),
        residual_(b),
        x_(x),
        weighted_(std::move(weighted)),
        gradient_(std::move(gradient)),
        direction_(std::move(direction)),
        projected_(std::move(projected)) {}
  absl::Status ProjectDirection(int chunk);
  absl::Status Advance();
  absl::Status UpdateResidual(int chunk);
  absl::Status Turn();

  LinearSystem& system_;
  ProjectionVector& residual_;  // in the place of b
  VolumeVector& x_;
  WeightedSystem weighted_;
  VolumeVector gradient_;         // s = Aᵀ r
  VolumeVector direction_;        // p
  ProjectionVector projected_;    // q = A p
  double squared_data_ = 0;       // ‖b‖²
  double squared_gradient_ = 0;   // ‖s‖²
  double squared_projected_ = 0;  // ‖q‖²
  double squared_residual_ = 0;   // ‖r‖²
  double step_ = 0;
};

}  // namespace isocenter::recon
