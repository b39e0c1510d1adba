#include "kernels/recon/iterative/os_sqs.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/prior_scale.h"

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
  ISO_ASSIGN_OR_RETURN(VolumeVector gradient, system.NewVolume());
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
  return {.volumes = HasSubsets(plan) ? 5 : 3, .chunks = 2, .variation = true};
}

void OsSqs::AddPreparation(Agenda& agenda) {
  squared_data_ = weighted_sum_ = 0;
  if (HasSubsets(system_.plan())) most_ahead_ = kMostAheadOfSubsets;
  agenda.push_back([this]() -> absl::Status {
    ISO_RETURN_IF_ERROR(system_.Copy(x_, ahead_));
    if (iterate_) ISO_RETURN_IF_ERROR(system_.Copy(x_, *iterate_));
    return system_.Fill(1, gradient_);
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
  ISO_RETURN_IF_ERROR(system_.Forward(gradient_, chunk, residual_));
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
  ISO_RETURN_IF_ERROR(system_.Axpby(curvature, gradient_, 1, denominators_));
  // Voxels that neither a ray nor a neighbour has a word on stay as they are.
  return system_.Invert(0, denominators_);
}

void OsSqs::AddPass(int pass, Agenda& agenda) {
  squared_residual_ = 0;
  const auto& chunks = system_.chunks();
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    if (chunk == 0 || chunks[chunk - 1].subset != chunks[chunk].subset) {
      agenda.push_back([this] { return system_.Fill(0, gradient_); });
    }
    agenda.push_back([this, chunk] { return AddViews(chunk); });
    if (chunk + 1 == system_.chunk_count() || chunks[chunk + 1].subset != chunks[chunk].subset) {
      agenda.push_back(
          [this, pass, subset = chunks[chunk].subset] { return Update(pass, subset); });
    }
  }
  agenda.push_back([this, pass] { return EndPass(pass); });
}

absl::Status OsSqs::AddViews(int chunk) {
  ISO_RETURN_IF_ERROR(SetWeights(chunk));
  ISO_RETURN_IF_ERROR(system_.Axpby(chunk, -1, b_, 0, residual_));
  ISO_RETURN_IF_ERROR(system_.Forward(ahead_, chunk, residual_));
  // The weights become W r; they are set again for each chunk.
  ISO_RETURN_IF_ERROR(system_.Multiply(chunk, residual_, weights_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, weights_, residual_));
  squared_residual_ += squared;
  return system_.Back(chunk, weights_, gradient_);
}

absl::Status OsSqs::Update(int pass, int subset) {
  const IterativeSettings& settings = system_.plan().settings;
  const double subsets = static_cast<double>(system_.plan().subsets.size());
  if (prior_ > 0) {
    ISO_RETURN_IF_ERROR(variation_->AddHuberGradient(prior_ / subsets, settings.huber_delta_per_mm,
                                                     ahead_, gradient_));
  }
  ISO_RETURN_IF_ERROR(settings.non_negative
                          ? system_.MultiplyAddAbove(0, -subsets, denominators_, gradient_, ahead_)
                          : system_.MultiplyAdd(-subsets, denominators_, gradient_, ahead_));
  const double further = std::min(momentum_.Advance(), most_ahead_);
  // z has x⁺ and x the former x; afterwards it is the other way round, but for the step further.
  ISO_RETURN_IF_ERROR(system_.Axpby(1 + further, ahead_, -further, Iterate()));
  std::swap(Iterate(), ahead_);
  return iterate_ ? AddToMean(pass, subset) : absl::OkStatus();
}

// In the first pass the mean of the iterates that there are is better than what it began with.
absl::Status OsSqs::AddToMean(int pass, int subset) {
  return system_.Axpby(1. / (subset + 1), *iterate_, 1 - 1. / (subset + 1),
                       pass == 0 ? x_ : *mean_);
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
  ISO_RETURN_IF_ERROR(system_.Copy(a, gradient_));
  ISO_RETURN_IF_ERROR(system_.Axpby(-1, b, 1, gradient_));
  return system_.Dot(gradient_, gradient_);
}

PassFigures OsSqs::figures() const {
  return {.relative_residual = RelativeNorm(squared_residual_, squared_data_),
          .objective = objective_};
}

}  // namespace isocenter::recon
