#include "kernels/recon/iterative/sart.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/status_macros.h"

namespace isocenter::recon {

namespace {

// Volumes of inverse column sums: of the subsets whose sums stay, and one that the others share.
int ColumnSums(const RefinementPlan& plan) {
  return std::min(plan.kept_column_sums + 1, static_cast<int>(plan.subsets.size()));
}

bool HasMomentum(const RefinementPlan& plan) { return plan.settings.momentum > 0; }

}  // namespace

Sart::Sart(LinearSystem& system, ProjectionVector& b, VolumeVector& x, VolumeVector update,
           ProjectionVector rows, ProjectionVector residual)
    : system_(system),
      b_(b),
      x_(x),
      update_(std::move(update)),
      rows_(std::move(rows)),
      residual_(std::move(residual)) {
  const RefinementPlan& plan = system.plan();
  const Vec3& spacing = plan.grid.spacing;
  // A ray that only clips a corner of the volume would put its whole residual there.
  row_threshold_ = std::min({spacing.x, spacing.y, spacing.z});
  // A thousandth of what one view gives at the isocentre.
  column_threshold_ = 1e-3 * UnmatchedScale(plan.acquisition.trajectory, plan.grid);
}

absl::StatusOr<std::unique_ptr<Sart>> Sart::Create(LinearSystem& system, ProjectionVector& b,
                                                   VolumeVector& x) {
  ISO_ASSIGN_OR_RETURN(VolumeVector update, system.NewVolume());
  ISO_ASSIGN_OR_RETURN(ProjectionVector rows, system.NewProjections());
  ISO_ASSIGN_OR_RETURN(ProjectionVector residual, system.NewChunk());
  std::unique_ptr<Sart> self(
      new Sart(system, b, x, std::move(update), std::move(rows), std::move(residual)));
  if (HasMomentum(system.plan())) {
    ISO_ASSIGN_OR_RETURN(self->ahead_, system.NewVolume());
  }
  for (int i = 0; i < ColumnSums(system.plan()); ++i) {
    ISO_ASSIGN_OR_RETURN(VolumeVector sums, system.NewVolume());
    self->columns_.push_back(std::move(sums));
  }
  return self;
}

MethodNeeds Sart::Needs(const RefinementPlan& plan) {
  return {.volumes = 1 + HasMomentum(plan) + ColumnSums(plan), .projections = 1, .chunks = 1};
}

bool Sart::FirstOfSubset(int chunk) const {
  return chunk == 0 || system_.chunks()[chunk - 1].subset != system_.chunks()[chunk].subset;
}

bool Sart::LastOfSubset(int chunk) const {
  return chunk + 1 == system_.chunk_count() || FirstOfSubset(chunk + 1);
}

bool Sart::Keeps(int subset) const { return subset < system_.plan().kept_column_sums; }

VolumeVector& Sart::ColumnsOf(int subset) {
  return Keeps(subset) ? columns_[subset] : columns_.back();
}

void Sart::AddPreparation(Agenda& agenda) {
  squared_data_ = 0;
  agenda.push_back([this]() -> absl::Status {
    if (LooksAhead()) ISO_RETURN_IF_ERROR(system_.Copy(x_, *ahead_));
    return system_.Fill(1, update_);
  });
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    agenda.push_back([this, chunk] { return SumRows(chunk); });
  }
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    if (!Keeps(system_.chunks()[chunk].subset)) continue;
    agenda.push_back([this, chunk] { return SumColumns(chunk); });
    if (!LastOfSubset(chunk)) continue;
    agenda.push_back([this, subset = system_.chunks()[chunk].subset] {
      return system_.Invert(column_threshold_, ColumnsOf(subset));
    });
  }
}

absl::Status Sart::SumRows(int chunk) {
  ISO_RETURN_IF_ERROR(system_.Fill(chunk, 0, rows_));
  ISO_RETURN_IF_ERROR(system_.Forward(update_, chunk, rows_));
  ISO_RETURN_IF_ERROR(system_.Invert(chunk, row_threshold_, rows_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, b_, b_));
  squared_data_ += squared;
  return absl::OkStatus();
}

absl::Status Sart::SumColumns(int chunk) {
  // One for the rays that count, zero for the others.
  ISO_RETURN_IF_ERROR(system_.Copy(chunk, rows_, residual_));
  ISO_RETURN_IF_ERROR(system_.Invert(chunk, 0, residual_));
  ISO_RETURN_IF_ERROR(system_.Multiply(chunk, rows_, residual_));
  return system_.Back(chunk, residual_, ColumnsOf(system_.chunks()[chunk].subset));
}

void Sart::AddPass(int pass, Agenda& agenda) {
  const IterativeSettings& settings = system_.plan().settings;
  const double relaxation = settings.relaxation * std::pow(settings.relaxation_decay, pass);
  squared_residual_ = 0;
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    agenda.push_back([this, chunk] { return AddViews(chunk); });
    if (!LastOfSubset(chunk)) continue;
    agenda.push_back([this, subset = system_.chunks()[chunk].subset, relaxation] {
      return Update(subset, relaxation);
    });
  }
}

absl::Status Sart::AddViews(int chunk) {
  const int subset = system_.chunks()[chunk].subset;
  const bool keep = Keeps(subset);
  if (FirstOfSubset(chunk)) {
    ISO_RETURN_IF_ERROR(system_.Fill(0, update_));
    if (!keep) ISO_RETURN_IF_ERROR(system_.Fill(0, ColumnsOf(subset)));
  }
  if (!keep) ISO_RETURN_IF_ERROR(SumColumns(chunk));
  ISO_RETURN_IF_ERROR(system_.Axpby(chunk, -1, b_, 0, residual_));
  ISO_RETURN_IF_ERROR(system_.Forward(StepsFrom(), chunk, residual_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, residual_, residual_));
  squared_residual_ += squared;
  ISO_RETURN_IF_ERROR(system_.Multiply(chunk, rows_, residual_));
  return system_.Back(chunk, residual_, update_);
}

absl::Status Sart::Update(int subset, double relaxation) {
  VolumeVector& columns = ColumnsOf(subset);
  if (!Keeps(subset)) {
    ISO_RETURN_IF_ERROR(system_.Invert(column_threshold_, columns));
  }
  const IterativeSettings& settings = system_.plan().settings;
  // What was back-projected is A z - b.
  VolumeVector& z = StepsFrom();
  ISO_RETURN_IF_ERROR(settings.non_negative
                          ? system_.MultiplyAddAbove(0, -relaxation, columns, update_, z)
                          : system_.MultiplyAdd(-relaxation, columns, update_, z));
  if (!LooksAhead()) return absl::OkStatus();
  // z has the new x and x the former one; afterwards it is the other way round, but for the look
  // ahead.
  ISO_RETURN_IF_ERROR(system_.Axpby(1 + settings.momentum, z, -settings.momentum, x_));
  std::swap(x_, z);
  return absl::OkStatus();
}

PassFigures Sart::figures() const {
  return {.relative_residual = RelativeNorm(squared_residual_, squared_data_)};
}

}  // namespace isocenter::recon
