#include "kernels/recon/iterative/os_sqs.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/prior_scale.h"
#include "kernels/recon/iterative/residence/residence.h"

namespace isocenter::recon {
namespace {

// How far momentum may look with several subsets at first. Of 0.9 to 0.98 this was nearest to the
// minimum after 4 to 6 passes.
constexpr double kMostAheadOfSubsets = 0.95;

bool HasSubsets(const RefinementPlan& plan) { return plan.subsets.size() > 1; }

}  // namespace

OsSqs::OsSqs(LinearSystem& system, ProjectionVector& b, VolumeVector& x, Vectors vectors,
             std::unique_ptr<PiecewiseVariation> variation)
    : system_(system),
      b_(b),
      x_(x),
      iterate_(std::move(vectors.iterate)),
      mean_(std::move(vectors.mean)),
      ahead_(std::move(vectors.ahead)),
      gradient_(std::move(vectors.gradient)),
      denominators_(std::move(vectors.denominators)),
      residual_(std::move(vectors.residual)),
      weights_(std::move(vectors.weights)),
      variation_(std::move(variation)) {}

absl::StatusOr<std::unique_ptr<OsSqs>> OsSqs::Create(LinearSystem& system, ProjectionVector& b,
                                                     VolumeVector& x) {
  ISO_ASSIGN_OR_RETURN(VolumeVector ahead, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(VolumeVector gradient,
                       SubsetsAreChunks(system.plan()) ? system.NewPiece() : system.NewVolume());
  ISO_ASSIGN_OR_RETURN(VolumeVector denominators, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(ProjectionVector residual, system.NewChunk());
  ISO_ASSIGN_OR_RETURN(ProjectionVector weights, system.NewChunk());
  ISO_ASSIGN_OR_RETURN(auto variation, PiecewiseVariation::Create(system));
  std::optional<VolumeVector> iterate, mean;
  if (HasSubsets(system.plan())) {
    ISO_ASSIGN_OR_RETURN(iterate, system.NewVolume());
    ISO_ASSIGN_OR_RETURN(mean, system.NewVolume());
  }
  return std::unique_ptr<OsSqs>(new OsSqs(system, b, x,
                                          {.ahead = std::move(ahead),
                                           .gradient = std::move(gradient),
                                           .denominators = std::move(denominators),
                                           .iterate = std::move(iterate),
                                           .mean = std::move(mean),
                                           .residual = std::move(residual),
                                           .weights = std::move(weights)},
                                          std::move(variation)));
}

MethodNeeds OsSqs::Needs(const RefinementPlan& plan) {
  const int pieces = SubsetsAreChunks(plan);
  return {.volumes = (HasSubsets(plan) ? 5 : 3) - pieces,
          .pieces = pieces,
          .chunks = 2,
          .variation = true};
}

void OsSqs::AddPreparation(Agenda& agenda) {
  squared_data_ = weighted_sum_ = 0;
  if (HasSubsets(system_.plan())) most_ahead_ = kMostAheadOfSubsets;
  agenda.push_back([this]() -> absl::Status {
    ISO_RETURN_IF_ERROR(system_.Copy(x_, ahead_));
    return iterate_ ? system_.Copy(x_, *iterate_) : absl::OkStatus();
  });
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    agenda.push_back([this, chunk] { return AddDenominators(chunk); });
  }
  agenda.push_back([this] { return InvertDenominators(); });
}

absl::Status OsSqs::SetWeights(int chunk) {
  if (!system_.plan().settings.statistical_weights) return system_.Fill(chunk, 1, weights_);
  ISO_RETURN_IF_ERROR(system_.Copy(chunk, b_, weights_));
  return system_.Exponential(chunk, -1, weights_);
}

absl::Status OsSqs::AddDenominators(int chunk) {
  ISO_RETURN_IF_ERROR(SetWeights(chunk));
  ISO_RETURN_IF_ERROR(system_.Copy(chunk, b_, residual_));
  ISO_RETURN_IF_ERROR(system_.Multiply(chunk, weights_, residual_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, residual_, b_));
  squared_data_ += squared;
  ISO_RETURN_IF_ERROR(system_.Fill(chunk, 0, residual_));
  ISO_RETURN_IF_ERROR(system_.SumRows(chunk, system_.AllOf(chunk), gradient_, residual_));
  ISO_ASSIGN_OR_RETURN(const double sum, system_.Dot(chunk, weights_, residual_));
  weighted_sum_ += sum;
  ISO_RETURN_IF_ERROR(system_.Multiply(chunk, weights_, residual_));
  return system_.Back(chunk, residual_, denominators_);
}

absl::Status OsSqs::InvertDenominators() {
  const RefinementPlan& plan = system_.plan();
  double volume = 0;
  for (const Piece& piece : plan.pieces) {
    const Vec3& spacing = piece.grid.spacing;
    volume += spacing.x * spacing.y * spacing.z * static_cast<double>(piece.grid.voxels());
  }
  prior_ =
      plan.settings.prior_strength * ScaleOfPriors(plan.grid, weighted_sum_ / volume).quadratic;
  // A voxel has two pairs along each axis, and (x_j - x_k)² is at most 2(x_j - m)² + 2(x_k - m)².
  const double curvature = 4 * prior_ * variation_->SquaredFactors();
  return system_.OnPieces([&](int piece) -> absl::Status {
    ops::Arithmetic& arithmetic = system_.arithmetic(plan.pieces[piece].device);
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * ones, gradient_.At(piece, Access::kOverwrite));
    ISO_RETURN_IF_ERROR(system_.FillPiece(1, piece, *ones));
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * sums, denominators_.At(piece, Access::kUpdate));
    ISO_RETURN_IF_ERROR(arithmetic.Axpby(curvature, *ones, 1, *sums));
    // Voxels that neither a ray nor a neighbour has a word on stay as they are.
    return arithmetic.Invert(0, *sums);
  });
}

bool OsSqs::FirstOfSubset(int chunk) const {
  return chunk == 0 || system_.chunks()[chunk - 1].subset != system_.chunks()[chunk].subset;
}

bool OsSqs::LastOfSubset(int chunk) const {
  return chunk + 1 == system_.chunk_count() || FirstOfSubset(chunk + 1);
}

void OsSqs::AddPass(int pass, Agenda& agenda) {
  squared_residual_ = 0;
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    agenda.push_back([this, pass, chunk]() -> absl::Status {
      ISO_RETURN_IF_ERROR(Project(chunk));
      return LastOfSubset(chunk) ? Update(pass, chunk) : AddViews(chunk);
    });
  }
  agenda.push_back([this, pass] { return EndPass(pass); });
}

absl::Status OsSqs::Project(int chunk) {
  ISO_RETURN_IF_ERROR(SetWeights(chunk));
  ISO_RETURN_IF_ERROR(system_.Axpby(chunk, -1, b_, 0, residual_));
  ISO_RETURN_IF_ERROR(system_.Forward(ahead_, chunk, residual_));
  // The weights become W r; they are set again for each chunk.
  ISO_RETURN_IF_ERROR(system_.Multiply(chunk, residual_, weights_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, weights_, residual_));
  squared_residual_ += squared;
  return system_.ReadyForBack(chunk, weights_);
}

absl::StatusOr<ops::VolumeBuffer*> OsSqs::AddToGradient(int chunk, int piece) {
  const bool first = FirstOfSubset(chunk);
  ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * gradient,
                       gradient_.At(piece, first ? Access::kOverwrite : Access::kUpdate));
  if (first) ISO_RETURN_IF_ERROR(system_.FillPiece(0, piece, *gradient));
  ISO_RETURN_IF_ERROR(system_.BackToPiece(chunk, system_.AllOf(chunk), weights_, piece, *gradient));
  return gradient;
}

absl::Status OsSqs::AddViews(int chunk) {
  return system_.OnPieces([&](int piece) { return AddToGradient(chunk, piece).status(); });
}

absl::Status OsSqs::Update(int pass, int chunk) {
  const IterativeSettings& settings = system_.plan().settings;
  const double subsets = static_cast<double>(system_.plan().subsets.size());
  if (prior_ > 0) ISO_RETURN_IF_ERROR(variation_->StartVisit(ahead_));
  const double further = std::min(momentum_.Advance(), most_ahead_);
  // In the first pass the mean of the iterates that there are is better than what it began with.
  VolumeVector* const mean = !iterate_ ? nullptr : pass == 0 ? &x_ : &*mean_;
  const double share = 1. / (system_.chunks()[chunk].subset + 1);
  ISO_RETURN_IF_ERROR(system_.OnPieces([&](int piece) -> absl::Status {
    ops::Arithmetic& arithmetic = system_.arithmetic(system_.plan().pieces[piece].device);
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * gradient, AddToGradient(chunk, piece));
    if (prior_ > 0) {
      ISO_RETURN_IF_ERROR(variation_->AddHuberGradient(
          prior_ / subsets, settings.huber_delta_per_mm, piece, ahead_, *gradient));
    }
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* denominators,
                         denominators_.At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * ahead, ahead_.At(piece, Access::kUpdate));
    ISO_RETURN_IF_ERROR(
        settings.non_negative
            ? arithmetic.MultiplyAddAbove(0, -subsets, *denominators, *gradient, *ahead)
            : arithmetic.MultiplyAdd(-subsets, *denominators, *gradient, *ahead));
    ISO_RETURN_IF_ERROR(gradient_.At(piece, Access::kLast).status());
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * iterate, Iterate().At(piece, Access::kUpdate));
    ISO_RETURN_IF_ERROR(arithmetic.Axpby(1 + further, *ahead, -further, *iterate));
    if (mean == nullptr) return absl::OkStatus();
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * to,
                         mean->At(piece, share == 1 ? Access::kOverwrite : Access::kUpdate));
    return arithmetic.Axpby(share, *ahead, 1 - share, *to);
  }));
  // z has x⁺ and x the former x; now it is the other way round, but for the step further.
  std::swap(Iterate(), ahead_);
  return absl::OkStatus();
}

absl::Status OsSqs::EndPass(int pass) {
  objective_ = squared_residual_ / 2;
  if (prior_ > 0) {
    ISO_ASSIGN_OR_RETURN(const double penalty,
                         variation_->Huber(system_.plan().settings.huber_delta_per_mm, Iterate()));
    objective_ += prior_ * penalty;
  }
  const bool worse = last_objective_.has_value() && objective_ > *last_objective_;
  last_objective_ = objective_;
  if (mean_) return pass == 0 ? absl::OkStatus() : EndMean(worse);
  if (!worse) return absl::OkStatus();
  momentum_ = Momentum();
  return system_.Copy(x_, ahead_);
}

absl::Status OsSqs::EndMean(bool worse) {
  ISO_ASSIGN_OR_RETURN(const double moved, SquaredDistance(x_, *mean_));
  ISO_ASSIGN_OR_RETURN(const double scattered, SquaredDistance(*iterate_, *mean_));
  std::swap(x_, *mean_);
  // What momentum works on from now on are the differences of subsets.
  easing_ = easing_ || worse || scattered > moved;
  // A momentum of m sums up those of 1 / (1 - m) subsets: now of half of them.
  if (easing_) most_ahead_ = std::max(0., 1 - 2 * (1 - most_ahead_));
  return absl::OkStatus();
}

// Between passes the gradient is free.
absl::StatusOr<double> OsSqs::SquaredDistance(VolumeVector& a, VolumeVector& b) {
  std::vector<double> squares(system_.plan().pieces.size());
  ISO_RETURN_IF_ERROR(system_.OnPieces([&](int piece) -> absl::Status {
    ops::Arithmetic& arithmetic = system_.arithmetic(system_.plan().pieces[piece].device);
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* from, a.At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * distance, gradient_.At(piece, Access::kOverwrite));
    ISO_RETURN_IF_ERROR(arithmetic.Copy(*from, *distance));
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* to, b.At(piece, Access::kRead));
    ISO_RETURN_IF_ERROR(arithmetic.Axpby(-1, *to, 1, *distance));
    ISO_ASSIGN_OR_RETURN(squares[piece], arithmetic.Dot(*distance, *distance));
    return gradient_.At(piece, Access::kLast).status();
  }));
  return std::accumulate(squares.begin(), squares.end(), 0.0);
}

PassFigures OsSqs::figures() const {
  return {.relative_residual = RelativeNorm(squared_residual_, squared_data_),
          .objective = objective_};
}

}  // namespace isocenter::recon
