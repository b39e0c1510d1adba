// SIRT, SART and OS-SART: the same step with all, one, or some views in a subset.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/recon/iterative/method.h"

namespace isocenter::recon {

/// x += λ C_s (A_sᵀ R_s (b_s - A_s x)) for each subset s, with R the inverse sums of A's rows and
/// C_s those of A_s's columns. Sources: Gregor & Benson, IEEE TMI 27 (2008) 918 (SIRT); Andersen &
/// Kak, Ultrasonic Imaging 6 (1984) 81 (SART); Wang & Jiang, J. X-Ray Sci. Tech. 12 (2004) 169
/// (OS-SART). Column sums belong to each subset, so that voxels that some views do not see, as at
/// the ends of a short scan, are not slowed down. With momentum m the next step is taken from
/// z = x + m (x - the x before) in the place of x (Nesterov, Soviet Math. Dokl. 27 (1983) 372, with
/// m constant): slow changes then go 1 / (1 - m) times as far, fast ones and noise hardly further.
/// In early passes subsets have the views that are there, and C_s their column sums. Where a subset
/// is one chunk, its update is back-projected, weighed and added to one piece of x after the other,
/// and nothing is kept of it.
class Sart final : public Method {
 public:
  static absl::StatusOr<std::unique_ptr<Sart>> Create(LinearSystem& system, ProjectionVector& b,
                                                      VolumeVector& x);
  /// What Create takes.
  static MethodNeeds Needs(const RefinementPlan& plan);
  void AddEarlyPass(int frames, Agenda& agenda) override;
  void AddPreparation(Agenda& agenda) override;
  void AddPass(int pass, Agenda& agenda) override;
  PassFigures figures() const override;

  /// A volume that is free between passes.
  VolumeVector& scratch() { return update_; }

 private:
  using Views = LinearSystem::Views;
  /// What a subset has in a chunk.
  struct Share {
    int subset, chunk;
    Views views;
    bool first, last;  // of the subset
  };
  Sart(LinearSystem& system, ProjectionVector& b, VolumeVector& x, VolumeVector update,
       ProjectionVector rows, ProjectionVector residual);
  bool LooksAhead() const { return ahead_.has_value(); }
  VolumeVector& StepsFrom() { return LooksAhead() ? *ahead_ : x_; }
  absl::Status SumRows(int chunk);
  absl::Status SumColumns(int chunk, const Views& views, ProjectionVector& inverse_rows);
  absl::Status SumData();
  /// Adds rows' and columns' sums of the frames from weighed_ on.
  void AddWeights(int frames, Agenda& agenda);
  absl::Status WeighViews(int chunk, const Views& views);
  /// What all subsets have of the first `frames`.
  std::vector<Share> SharesOf(int frames) const;
  /// `whole`: all views are there.
  void AddSubsets(int frames, bool whole, double relaxation, Agenda& agenda);
  /// The residual, weighed, and what column sums need.
  absl::Status Project(const Share& share);
  /// rays = one for the rays of a chunk that count, zero for the others.
  absl::Status FindRays(int chunk, ProjectionVector& inverse_rows, ProjectionVector& rays);
  /// The subset's sums in a piece: `y` back-projected, beside what shares before have left there.
  absl::StatusOr<ops::VolumeBuffer*> Add(const Share& share, ProjectionVector& y, int piece,
                                         VolumeVector& sums);
  absl::Status AddShare(const Share& share);
  /// With the subset's last share.
  absl::Status Update(const Share& share, bool whole, double relaxation);
  absl::StatusOr<const ops::VolumeBuffer*> InverseColumns(const Share& share, bool whole,
                                                          int piece);
  bool Keeps(int subset) const;

  LinearSystem& system_;
  ProjectionVector& b_;
  VolumeVector& x_;
  VolumeVector update_;                // of the present subset, perhaps for one piece
  std::optional<VolumeVector> ahead_;  // z; without momentum it is x
  ProjectionVector rows_;              // inverse sums
  // Inverse sums of the subsets kept; the sums themselves until all views are there.
  std::vector<VolumeVector> columns_;
  std::optional<VolumeVector> present_columns_;  // of the present subset, as update_
  ProjectionVector residual_;                    // of a chunk
  std::optional<ProjectionVector> rays_;         // of a chunk, where not all column sums are kept
  // With early passes, of a chunk's views that came last.
  std::optional<ProjectionVector> new_rows_;
  int weighed_ = 0;              // frames in rows_ and columns_, with early passes
  double row_threshold_ = 0;     // mm
  double column_threshold_ = 0;  // mm
  double squared_data_ = 0, squared_residual_ = 0;
};

}  // namespace isocenter::recon
