#include "kernels/recon/iterative/sart.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/status_macros.h"

namespace isocenter::recon {

namespace {

bool HasEarlyPasses(const RefinementPlan& plan) { return !plan.early_frames.empty(); }

// Volumes of inverse column sums: of the subsets whose sums stay, and one that the others share;
// early passes have the inverse there, as the sums go on growing.
int ColumnSums(const RefinementPlan& plan) {
  const int all = plan.kept_column_sums + 1;
  return HasEarlyPasses(plan) ? all : std::min(all, static_cast<int>(plan.subsets.size()));
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
  if (HasEarlyPasses(system.plan())) {
    ISO_ASSIGN_OR_RETURN(self->new_rows_, system.NewChunk());
  }
  for (int i = 0; i < ColumnSums(system.plan()); ++i) {
    ISO_ASSIGN_OR_RETURN(VolumeVector sums, system.NewVolume());
    self->columns_.push_back(std::move(sums));
  }
  return self;
}

MethodNeeds Sart::Needs(const RefinementPlan& plan) {
  return {.volumes = 1 + HasMomentum(plan) + ColumnSums(plan),
          .projections = 1,
          .chunks = 1 + HasEarlyPasses(plan)};
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

Sart::Views Sart::Among(int chunk, int frames) const {
  const std::vector<int>& views = system_.chunks()[chunk].views;
  return {0, static_cast<int>(std::ranges::lower_bound(views, frames) - views.begin())};
}

void Sart::AddWeights(int frames, Agenda& agenda) {
  if (frames == weighed_) return;
  agenda.push_back([this] { return system_.Fill(1, update_); });
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    const int first = Among(chunk, weighed_).count;
    const Views views{first, Among(chunk, frames).count - first};
    if (views.count == 0) continue;
    agenda.push_back([this, chunk, views] { return WeighViews(chunk, views); });
  }
  weighed_ = frames;
}

absl::Status Sart::WeighViews(int chunk, const Views& views) {
  ISO_RETURN_IF_ERROR(system_.Fill(chunk, 0, *new_rows_));
  ISO_RETURN_IF_ERROR(system_.Forward(update_, chunk, views, *new_rows_));
  ISO_RETURN_IF_ERROR(system_.Invert(chunk, row_threshold_, *new_rows_));
  ISO_RETURN_IF_ERROR(system_.Place(chunk, views, *new_rows_, rows_));
  if (!Keeps(system_.chunks()[chunk].subset)) return absl::OkStatus();
  return SumColumns(chunk, views, *new_rows_);
}

void Sart::AddEarlyPass(int frames, Agenda& agenda) {
  AddWeights(frames, agenda);
  // The volume that they would begin with is there after the last frame.
  if (system_.plan().settings.warm_start) return;
  bool some = false;  // of the subset's views
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    const Views views = Among(chunk, frames);
    some = views.count > 0 || (some && !FirstOfSubset(chunk));
    if (views.count > 0) {
      agenda.push_back([this, chunk, views] { return AddViews(chunk, views); });
    }
    if (!LastOfSubset(chunk) || !some) continue;
    agenda.push_back([this, subset = system_.chunks()[chunk].subset] {
      return Update(subset, /*whole=*/false, system_.plan().settings.relaxation);
    });
  }
}

void Sart::AddPreparation(Agenda& agenda) {
  squared_data_ = 0;
  if (HasEarlyPasses(system_.plan())) {
    AddWeights(system_.plan().views(), agenda);
    agenda.push_back([this]() -> absl::Status {
      if (LooksAhead() && system_.plan().settings.warm_start) {
        ISO_RETURN_IF_ERROR(system_.Copy(x_, *ahead_));
      }
      return SumData();
    });
  } else {
    agenda.push_back([this]() -> absl::Status {
      if (LooksAhead()) ISO_RETURN_IF_ERROR(system_.Copy(x_, *ahead_));
      return system_.Fill(1, update_);
    });
    for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
      agenda.push_back([this, chunk] { return SumRows(chunk); });
    }
    for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
      if (!Keeps(system_.chunks()[chunk].subset)) continue;
      agenda.push_back([this, chunk] { return SumColumns(chunk, system_.AllOf(chunk), rows_); });
    }
  }
  for (int subset = 0; subset < system_.plan().kept_column_sums; ++subset) {
    agenda.push_back(
        [this, subset] { return system_.Invert(column_threshold_, columns_[subset]); });
  }
}

absl::Status Sart::SumData() {
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, b_, b_));
    squared_data_ += squared;
  }
  return absl::OkStatus();
}

absl::Status Sart::SumRows(int chunk) {
  ISO_RETURN_IF_ERROR(system_.Fill(chunk, 0, rows_));
  ISO_RETURN_IF_ERROR(system_.Forward(update_, chunk, rows_));
  ISO_RETURN_IF_ERROR(system_.Invert(chunk, row_threshold_, rows_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, b_, b_));
  squared_data_ += squared;
  return absl::OkStatus();
}

absl::Status Sart::SumColumns(int chunk, const Views& views, ProjectionVector& inverse_rows) {
  // One for the rays that count, zero for the others.
  ISO_RETURN_IF_ERROR(system_.Copy(chunk, inverse_rows, residual_));
  ISO_RETURN_IF_ERROR(system_.Invert(chunk, 0, residual_));
  ISO_RETURN_IF_ERROR(system_.Multiply(chunk, inverse_rows, residual_));
  return system_.Back(chunk, views, residual_, ColumnsOf(system_.chunks()[chunk].subset));
}

void Sart::AddPass(int pass, Agenda& agenda) {
  const IterativeSettings& settings = system_.plan().settings;
  const double relaxation = settings.relaxation * std::pow(settings.relaxation_decay, pass);
  squared_residual_ = 0;
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    agenda.push_back([this, chunk] { return AddViews(chunk, system_.AllOf(chunk)); });
    if (!LastOfSubset(chunk)) continue;
    agenda.push_back([this, subset = system_.chunks()[chunk].subset, relaxation] {
      return Update(subset, /*whole=*/true, relaxation);
    });
  }
}

absl::Status Sart::AddViews(int chunk, const Views& views) {
  const int subset = system_.chunks()[chunk].subset;
  const bool keep = Keeps(subset);
  if (FirstOfSubset(chunk)) {
    ISO_RETURN_IF_ERROR(system_.Fill(0, update_));
    if (!keep) ISO_RETURN_IF_ERROR(system_.Fill(0, ColumnsOf(subset)));
  }
  if (!keep) ISO_RETURN_IF_ERROR(SumColumns(chunk, views, rows_));
  ISO_RETURN_IF_ERROR(system_.Axpby(chunk, -1, b_, 0, residual_));
  ISO_RETURN_IF_ERROR(system_.Forward(StepsFrom(), chunk, views, residual_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, residual_, residual_));
  squared_residual_ += squared;
  ISO_RETURN_IF_ERROR(system_.Multiply(chunk, rows_, residual_));
  return system_.Back(chunk, views, residual_, update_);
}

absl::Status Sart::Update(int subset, bool whole, double relaxation) {
  VolumeVector& columns = whole ? ColumnsOf(subset) : columns_.back();
  if (Keeps(subset) && !whole) ISO_RETURN_IF_ERROR(system_.Copy(columns_[subset], columns));
  if (!Keeps(subset) || !whole) {
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
