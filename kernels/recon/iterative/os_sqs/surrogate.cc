#include "kernels/recon/iterative/os_sqs/surrogate.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/prior_scale.h"

namespace isocenter::recon {
namespace {

// So many views, spread over the arc as those of any subset are, tell D (see the ADR 0135).
constexpr int kViews = 16;
// Denominators of few views are at least those of a prior of this strength, so that the steps of
// voxels that these views hardly see are not without bound (see the ADR 0153).
constexpr double kLeastStrength = 0.02;

}  // namespace

absl::Status SetRayWeights(LinearSystem& system, int chunk, ProjectionVector& b,
                           ProjectionVector& weights) {
  if (!system.plan().settings.statistical_weights) return system.Fill(chunk, 1, weights);
  ISO_RETURN_IF_ERROR(system.Copy(chunk, b, weights));
  return system.Exponential(chunk, -1, weights);
}

Surrogate::Surrogate(LinearSystem& system, VolumeVector denominators)
    : system_(&system), denominators_(std::move(denominators)) {
  const RefinementPlan& plan = system.plan();
  int views = 0;
  for (const auto& subset : plan.subsets) {
    if (views >= kViews) break;
    views += static_cast<int>(subset.size());
    ++subsets_;
  }
  views_ = static_cast<double>(views) / plan.views();
}

absl::StatusOr<Surrogate> Surrogate::Create(LinearSystem& system) {
  ISO_ASSIGN_OR_RETURN(VolumeVector denominators, system.NewVolume());
  return Surrogate(system, std::move(denominators));
}

void Surrogate::Add(const Vectors& vectors, PiecewiseVariation& variation, Agenda& agenda) {
  agenda.push_back([this] { return system_->Fill(0, denominators_); });
  for (int chunk = 0; chunk < system_->chunk_count(); ++chunk) {
    if (system_->chunks()[chunk].subset >= subsets_) break;
    agenda.push_back([this, vectors, chunk] { return AddViews(chunk, vectors, denominators_); });
  }
  agenda.push_back([this, vectors, &variation] { return Finish(views_, vectors, variation); });
}

void Surrogate::AddOfAllViews(const Vectors& vectors, PiecewiseVariation& variation,
                              Agenda& agenda) {
  agenda.push_back([this] { return system_->Fill(0, denominators_); });
  const auto& chunks = system_->chunks();
  for (int chunk = 0; chunk < system_->chunk_count(); ++chunk) {
    if (BeginsSubset(chunks, chunk)) {
      agenda.push_back([this, vectors] { return system_->Fill(0, *vectors.scratch); });
    }
    agenda.push_back([this, vectors, chunk] { return AddViews(chunk, vectors, *vectors.scratch); });
    if (EndsSubset(chunks, chunk)) {
      agenda.push_back([this, vectors] { return TakeLarger(*vectors.scratch); });
    }
  }
  agenda.push_back([this, vectors, &variation] { return Finish(1, vectors, variation); });
}

// D = D + [M d - D]₊ for a subset's d.
absl::Status Surrogate::TakeLarger(VolumeVector& of_subset) {
  const double subsets = static_cast<double>(system_->plan().subsets.size());
  ISO_RETURN_IF_ERROR(system_->Axpby(-1, denominators_, subsets, of_subset));
  ISO_RETURN_IF_ERROR(system_->ClampBelow(0, of_subset));
  return system_->Axpby(1, of_subset, 1, denominators_);
}

absl::Status Surrogate::AddViews(int chunk, const Vectors& vectors, VolumeVector& to) {
  const auto& [b, urgency, scratch, weights, residual] = vectors;
  ISO_RETURN_IF_ERROR(SetRayWeights(*system_, chunk, b, weights));
  ISO_RETURN_IF_ERROR(system_->Fill(chunk, 0, residual));
  ISO_RETURN_IF_ERROR(system_->Forward(urgency, chunk, residual));
  if (!prior_) {
    ISO_ASSIGN_OR_RETURN(const double sum, system_->Dot(chunk, weights, residual));
    weighted_sum_ += sum;
  }
  ISO_RETURN_IF_ERROR(system_->Multiply(chunk, weights, residual));
  return system_->Back(chunk, residual, to);
}

double Surrogate::PriorOf(double strength, double weighted_sum) const {
  const RefinementPlan& plan = system_->plan();
  double volume = 0;
  for (const Piece& piece : plan.pieces) {
    const Vec3& spacing = piece.grid.spacing;
    volume += spacing.x * spacing.y * spacing.z * static_cast<double>(piece.grid.voxels());
  }
  return strength * ScaleOfPriors(plan.grid, weighted_sum / volume).quadratic;
}

// 1/D = u / (AᵀWA u + β Σ_k (u_j + u_k)).
absl::Status Surrogate::Finish(double views, const Vectors& vectors,
                               PiecewiseVariation& variation) {
  if (!prior_) {
    const double strength = system_->plan().settings.prior_strength;
    prior_ = PriorOf(strength, weighted_sum_ / views_);
    least_prior_ = PriorOf(std::max(strength, kLeastStrength), weighted_sum_ / views_);
  }
  const bool some = views_ < 1;
  const double bound = views < 1 ? least_prior_ : prior();
  if (some) {  // 1 where one of the views sees a voxel
    ISO_RETURN_IF_ERROR(system_->Copy(denominators_, *vectors.scratch));
    ISO_RETURN_IF_ERROR(system_->Invert(0, *vectors.scratch));
    ISO_RETURN_IF_ERROR(system_->Multiply(denominators_, *vectors.scratch));
  }
  // A voxel has two neighbours along each axis; Σ (u_j + u_k) = Σ 2 u_j - Σ (u_j - u_k).
  ISO_RETURN_IF_ERROR(system_->Axpby(4 * bound * variation.SquaredFactors(), vectors.urgency,
                                     1 / views, denominators_));
  if (prior() > 0) {
    ISO_RETURN_IF_ERROR(variation.AddQuadraticGradient(-prior(), vectors.urgency, denominators_));
  }
  ISO_RETURN_IF_ERROR(system_->Invert(0, denominators_));
  ISO_RETURN_IF_ERROR(system_->Multiply(vectors.urgency, denominators_));
  return some ? system_->Multiply(*vectors.scratch, denominators_) : absl::OkStatus();
}

}  // namespace isocenter::recon
