#include "kernels/recon/iterative/os_sqs/os_sqs.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/os_sqs/urgency.h"

namespace isocenter::recon {
namespace {

// With several subsets momentum sums up what so many of them say, at first.
constexpr double kMostSubsetsAhead = 20;
// After so many steps what is left is less than what subsets disagree about.
constexpr int kStepsBeforeCorrection = 40;
// Momentum is too long where iterates are further from their mean than a part of what the mean has
// moved in a pass; squared.
constexpr double kScatter = 0.25;
// Iterates grow without bound where a pass makes the objective worse by this factor.
constexpr double kGrows = 1.05;
// How much of what subsets disagreed about in the last pass is taken from their gradients.
constexpr double kCorrectedShare = 0.7;

}  // namespace

OsSqs::OsSqs(LinearSystem& system, ProjectionVector& b, VolumeVector& x, Vectors vectors,
             Surrogate surrogate, std::optional<Subsets> subsets,
             std::unique_ptr<PiecewiseVariation> variation)
    : system_(system),
      b_(b),
      x_(x),
      ahead_(std::move(vectors.ahead)),
      gradient_(std::move(vectors.gradient)),
      residual_(std::move(vectors.residual)),
      weights_(std::move(vectors.weights)),
      surrogate_(std::move(surrogate)),
      subsets_(std::move(subsets)),
      variation_(std::move(variation)) {}

absl::StatusOr<std::unique_ptr<OsSqs>> OsSqs::Create(LinearSystem& system, ProjectionVector& b,
                                                     VolumeVector& x) {
  ISO_ASSIGN_OR_RETURN(VolumeVector ahead, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(VolumeVector gradient, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(ProjectionVector residual, system.NewChunk());
  ISO_ASSIGN_OR_RETURN(ProjectionVector weights, system.NewChunk());
  ISO_ASSIGN_OR_RETURN(Surrogate surrogate, Surrogate::Create(system));
  ISO_ASSIGN_OR_RETURN(auto variation, PiecewiseVariation::Create(system));
  std::optional<Subsets> subsets;
  if (system.plan().subsets.size() > 1) {
    ISO_ASSIGN_OR_RETURN(VolumeVector iterate, system.NewVolume());
    ISO_ASSIGN_OR_RETURN(VolumeVector mean, system.NewVolume());
    ISO_ASSIGN_OR_RETURN(SubsetCorrection correction, SubsetCorrection::Create(system));
    subsets.emplace(Subsets{.iterate = std::move(iterate),
                            .mean = std::move(mean),
                            .correction = std::move(correction)});
  }
  return std::unique_ptr<OsSqs>(new OsSqs(system, b, x,
                                          {.ahead = std::move(ahead),
                                           .gradient = std::move(gradient),
                                           .residual = std::move(residual),
                                           .weights = std::move(weights)},
                                          std::move(surrogate), std::move(subsets),
                                          std::move(variation)));
}

MethodNeeds OsSqs::Needs(const RefinementPlan& plan) {
  MethodNeeds needs{.volumes = 2 + Surrogate::kVolumes, .chunks = 2, .variation = true};
  if (plan.subsets.size() > 1) {
    needs.volumes += 2 + SubsetCorrection::kVolumes;
    needs.projections = SubsetCorrection::kProjections;
  }
  return needs;
}

void OsSqs::AddPreparation(Agenda& agenda) {
  agenda.push_back([this]() -> absl::Status {
    ISO_RETURN_IF_ERROR(system_.Copy(x_, ahead_));
    if (subsets_) {
      ISO_RETURN_IF_ERROR(system_.Copy(x_, subsets_->iterate));
      ISO_RETURN_IF_ERROR(system_.Copy(x_, subsets_->mean));
    }
    return system_.Fill(1, gradient_);
  });
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    agenda.push_back([this, chunk] { return AddSquaredData(chunk); });
  }
  surrogate_.Add(SurrogateVectors(), *variation_, agenda);
}

absl::Status OsSqs::AddSquaredData(int chunk) {
  ISO_RETURN_IF_ERROR(SetRayWeights(system_, chunk, b_, weights_));
  ISO_RETURN_IF_ERROR(system_.Multiply(chunk, b_, weights_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, weights_, b_));
  squared_data_ += squared;
  return absl::OkStatus();
}

Surrogate::Vectors OsSqs::SurrogateVectors() {
  return {.b = b_,
          .urgency = gradient_,
          .scratch = subsets_ ? &subsets_->correction.scratch() : nullptr,
          .weights = weights_,
          .residual = residual_};
}

void OsSqs::AddPass(int pass, Agenda& agenda) {
  squared_residual_ = 0;
  if (grew_ && begun_at_ == pass) {
    agenda.push_back([this] { return BeginSubsetsAnew(); });
    surrogate_.AddOfAllViews(SurrogateVectors(), *variation_, agenda);
  } else if (subsets_ && pass > 0 && !grew_) {
    // The gradient is how far the mean has moved (EndMean).
    agenda.push_back([this] {
      return ToUrgency(system_, *variation_, squared_distance_, gradient_,
                       subsets_->correction.scratch());
    });
    surrogate_.Add(SurrogateVectors(), *variation_, agenda);
  }
  agenda.push_back([this, pass] { return BeginPass(pass); });
  const auto& chunks = system_.chunks();
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    if (BeginsSubset(chunks, chunk)) {
      agenda.push_back([this] { return BeginSubset(); });
    }
    agenda.push_back([this, chunk] { return AddViews(chunk); });
    if (EndsSubset(chunks, chunk)) {
      agenda.push_back(
          [this, pass, subset = chunks[chunk].subset] { return Update(pass, subset); });
    }
  }
  agenda.push_back([this, pass] { return EndPass(pass); });
}

absl::Status OsSqs::BeginPass(int pass) {
  if (!subsets_) return absl::OkStatus();
  const int steps = (pass - begun_at_) * static_cast<int>(system_.plan().subsets.size());
  const bool begins = shorter_ == 1 && (worse_ || steps >= kStepsBeforeCorrection);
  if (begins || (shorter_ > 1 && scatters_)) ++shorter_;
  if (shorter_ > 1 && worse_) shorter_ *= 2;
  most_ahead_ = std::max(0., 1 - shorter_ / kMostSubsetsAhead);
  return subsets_->correction.BeginPass(shorter_ > 1 ? kCorrectedShare : 0);
}

absl::Status OsSqs::BeginSubset() {
  return subsets_ ? subsets_->correction.BeginSubset(gradient_) : system_.Fill(0, gradient_);
}

absl::Status OsSqs::AddViews(int chunk) {
  ISO_RETURN_IF_ERROR(SetRayWeights(system_, chunk, b_, weights_));
  ISO_RETURN_IF_ERROR(system_.Axpby(chunk, -1, b_, 0, residual_));
  ISO_RETURN_IF_ERROR(system_.Forward(ahead_, chunk, residual_));
  // The weights become W r; they are set again for each chunk.
  ISO_RETURN_IF_ERROR(system_.Multiply(chunk, residual_, weights_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, weights_, residual_));
  squared_residual_ += squared;
  if (subsets_) ISO_RETURN_IF_ERROR(subsets_->correction.Correct(chunk, weights_, residual_));
  return system_.Back(chunk, weights_, gradient_);
}

absl::Status OsSqs::Update(int pass, int subset) {
  const IterativeSettings& settings = system_.plan().settings;
  const double subsets = static_cast<double>(system_.plan().subsets.size());
  if (subsets_) ISO_RETURN_IF_ERROR(subsets_->correction.EndSubset(gradient_));
  if (surrogate_.prior() > 0) {
    ISO_RETURN_IF_ERROR(variation_->AddHuberGradient(
        surrogate_.prior() / subsets, settings.huber_delta_per_mm, ahead_, gradient_));
  }
  VolumeVector& inverse = surrogate_.inverse();
  ISO_RETURN_IF_ERROR(settings.non_negative
                          ? system_.MultiplyAddAbove(0, -subsets, inverse, gradient_, ahead_)
                          : system_.MultiplyAdd(-subsets, inverse, gradient_, ahead_));
  const double further = std::min(momentum_.Advance(), most_ahead_);
  // z has x⁺ and x the former x; afterwards it is the other way round, but for the step further.
  ISO_RETURN_IF_ERROR(system_.Axpby(1 + further, ahead_, -further, Iterate()));
  std::swap(Iterate(), ahead_);
  return subsets_ ? AddToMean(pass, subset) : absl::OkStatus();
}

// In the first pass the mean of the iterates that there are is better than what it began with.
absl::Status OsSqs::AddToMean(int pass, int subset) {
  const double part = 2. / (subset + 2);  // n of 1 + 2 + ... + n
  return system_.Axpby(part, subsets_->iterate, 1 - part, pass == 0 ? x_ : subsets_->mean);
}

absl::Status OsSqs::EndPass(int pass) {
  objective_ = squared_residual_ / 2;
  if (surrogate_.prior() > 0) {
    ISO_ASSIGN_OR_RETURN(const double penalty,
                         variation_->Huber(system_.plan().settings.huber_delta_per_mm, Iterate()));
    objective_ += surrogate_.prior() * penalty;
  }
  // The first pass is worse than a volume of nothing then.
  const double before = last_objective_.value_or(squared_data_ / 2);
  taken_ = !subsets_ || grew_ || objective_ <= kGrows * before;
  if (!taken_) {
    grew_ = true;
    begun_at_ = pass + 1;
    // What was read before is read again.
    return pass == 0 ? system_.Copy(subsets_->mean, x_) : absl::OkStatus();
  }
  worse_ = last_objective_.has_value() && objective_ > *last_objective_;
  last_objective_ = objective_;
  if (subsets_) return EndMean(pass);
  return worse_ ? BeginAnew() : absl::OkStatus();
}

absl::Status OsSqs::BeginAnew() {
  momentum_ = Momentum();
  return system_.Copy(x_, ahead_);
}

// Denominators are then of all voxels alike: the gradient is their urgency.
absl::Status OsSqs::BeginSubsetsAnew() {
  momentum_ = Momentum();
  shorter_ = 1;
  worse_ = scatters_ = false;
  ISO_RETURN_IF_ERROR(system_.Copy(x_, ahead_));
  ISO_RETURN_IF_ERROR(system_.Copy(x_, subsets_->iterate));
  ISO_RETURN_IF_ERROR(system_.Copy(x_, subsets_->mean));
  return system_.Fill(1, gradient_);
}

// How far the mean has moved is left in the gradient, for ToUrgency.
absl::Status OsSqs::EndMean(int pass) {
  // The mean is then what was read before.
  if (pass > 0) std::swap(x_, subsets_->mean);
  ISO_ASSIGN_OR_RETURN(const double scattered, SquaredDistance(subsets_->iterate, x_));
  ISO_ASSIGN_OR_RETURN(squared_distance_, SquaredDistance(x_, subsets_->mean));
  scatters_ = scattered > kScatter * squared_distance_;
  return absl::OkStatus();
}

// Leaves the difference in the gradient.
absl::StatusOr<double> OsSqs::SquaredDistance(VolumeVector& a, VolumeVector& b) {
  ISO_RETURN_IF_ERROR(system_.Copy(a, gradient_));
  ISO_RETURN_IF_ERROR(system_.Axpby(-1, b, 1, gradient_));
  return system_.Dot(gradient_, gradient_);
}

PassFigures OsSqs::figures() const {
  return {.relative_residual = RelativeNorm(squared_residual_, squared_data_),
          .objective = objective_,
          .taken = taken_};
}

}  // namespace isocenter::recon
