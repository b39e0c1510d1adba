#include "kernels/recon/iterative/sart.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/residence/residence.h"

namespace isocenter::recon {

namespace {

bool HasEarlyPasses(const RefinementPlan& plan) { return !plan.early_frames.empty(); }

bool KeepsAllColumns(const RefinementPlan& plan) {
  return plan.kept_column_sums == static_cast<int>(plan.subsets.size());
}

// Early passes have inverse sums there while the sums themselves go on growing.
bool HasPresentColumns(const RefinementPlan& plan) {
  return !KeepsAllColumns(plan) || HasEarlyPasses(plan);
}

// ASD-POCS has its gradient in the volume of the update.
bool UpdatesPieces(const RefinementPlan& plan) {
  return SubsetsAreChunks(plan) && plan.settings.algorithm != Algorithm::kAsdPocs;
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
  const RefinementPlan& plan = system.plan();
  ISO_ASSIGN_OR_RETURN(VolumeVector update,
                       UpdatesPieces(plan) ? system.NewPiece() : system.NewVolume());
  ISO_ASSIGN_OR_RETURN(ProjectionVector rows, system.NewProjections());
  ISO_ASSIGN_OR_RETURN(ProjectionVector residual, system.NewChunk());
  std::unique_ptr<Sart> self(
      new Sart(system, b, x, std::move(update), std::move(rows), std::move(residual)));
  if (HasMomentum(plan)) {
    ISO_ASSIGN_OR_RETURN(self->ahead_, system.NewVolume());
  }
  if (HasEarlyPasses(plan)) {
    ISO_ASSIGN_OR_RETURN(self->new_rows_, system.NewChunk());
  }
  for (int i = 0; i < plan.kept_column_sums; ++i) {
    ISO_ASSIGN_OR_RETURN(VolumeVector sums, system.NewVolume());
    self->columns_.push_back(std::move(sums));
  }
  if (HasPresentColumns(plan)) {
    ISO_ASSIGN_OR_RETURN(self->present_columns_,
                         SubsetsAreChunks(plan) ? system.NewPiece() : system.NewVolume());
  }
  if (!KeepsAllColumns(plan)) {
    ISO_ASSIGN_OR_RETURN(self->rays_, system.NewChunk());
  }
  return self;
}

MethodNeeds Sart::Needs(const RefinementPlan& plan) {
  const int pieces = UpdatesPieces(plan) + (HasPresentColumns(plan) && SubsetsAreChunks(plan));
  return {
      .volumes = 1 + HasPresentColumns(plan) - pieces + HasMomentum(plan) + plan.kept_column_sums,
      .pieces = pieces,
      .projections = 1,
      .chunks = 1 + !KeepsAllColumns(plan) + HasEarlyPasses(plan),
      .column_sums = true};
}

bool Sart::Keeps(int subset) const { return subset < system_.plan().kept_column_sums; }

std::vector<Sart::Share> Sart::SharesOf(int frames) const {
  std::vector<Share> shares;
  for (int chunk = 0; chunk < system_.chunk_count(); ++chunk) {
    const ViewChunk& of = system_.chunks()[chunk];
    const auto there = std::ranges::lower_bound(of.views, frames) - of.views.begin();
    if (there == 0) continue;
    const bool first = shares.empty() || shares.back().subset != of.subset;
    if (!first) shares.back().last = false;
    shares.push_back({.subset = of.subset,
                      .chunk = chunk,
                      .views = {0, static_cast<int>(there)},
                      .first = first,
                      .last = true});
  }
  return shares;
}

void Sart::AddWeights(int frames, Agenda& agenda) {
  for (const Share& share : SharesOf(frames)) {
    const std::vector<int>& views = system_.chunks()[share.chunk].views;
    const int first = static_cast<int>(std::ranges::lower_bound(views, weighed_) - views.begin());
    const Views added{first, share.views.count - first};
    if (added.count == 0) continue;
    agenda.push_back([this, chunk = share.chunk, added] { return WeighViews(chunk, added); });
  }
  weighed_ = frames;
}

absl::Status Sart::WeighViews(int chunk, const Views& views) {
  ISO_RETURN_IF_ERROR(system_.Fill(chunk, 0, *new_rows_));
  ISO_RETURN_IF_ERROR(system_.SumRows(chunk, views, update_, *new_rows_));
  ISO_RETURN_IF_ERROR(system_.Invert(chunk, row_threshold_, *new_rows_));
  ISO_RETURN_IF_ERROR(system_.Place(chunk, views, *new_rows_, rows_));
  if (!Keeps(system_.chunks()[chunk].subset)) return absl::OkStatus();
  return SumColumns(chunk, views, *new_rows_);
}

void Sart::AddEarlyPass(int frames, Agenda& agenda) {
  AddWeights(frames, agenda);
  // The volume that they would begin with is there after the last frame.
  if (system_.plan().settings.warm_start) return;
  AddSubsets(frames, /*whole=*/false, system_.plan().settings.relaxation, agenda);
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
    if (LooksAhead()) agenda.push_back([this] { return system_.Copy(x_, *ahead_); });
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
  ISO_RETURN_IF_ERROR(system_.SumRows(chunk, system_.AllOf(chunk), update_, rows_));
  ISO_RETURN_IF_ERROR(system_.Invert(chunk, row_threshold_, rows_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, b_, b_));
  squared_data_ += squared;
  return absl::OkStatus();
}

absl::Status Sart::SumColumns(int chunk, const Views& views, ProjectionVector& inverse_rows) {
  ISO_RETURN_IF_ERROR(FindRays(chunk, inverse_rows, residual_));
  return system_.Back(chunk, views, residual_, columns_[system_.chunks()[chunk].subset]);
}

absl::Status Sart::FindRays(int chunk, ProjectionVector& inverse_rows, ProjectionVector& rays) {
  ISO_RETURN_IF_ERROR(system_.Copy(chunk, inverse_rows, rays));
  ISO_RETURN_IF_ERROR(system_.Invert(chunk, 0, rays));
  return system_.Multiply(chunk, inverse_rows, rays);
}

void Sart::AddPass(int pass, Agenda& agenda) {
  const IterativeSettings& settings = system_.plan().settings;
  squared_residual_ = 0;
  AddSubsets(system_.plan().views(), /*whole=*/true,
             settings.relaxation * std::pow(settings.relaxation_decay, pass), agenda);
}

void Sart::AddSubsets(int frames, bool whole, double relaxation, Agenda& agenda) {
  for (const Share& share : SharesOf(frames)) {
    agenda.push_back([this, share, whole, relaxation]() -> absl::Status {
      ISO_RETURN_IF_ERROR(Project(share));
      return share.last ? Update(share, whole, relaxation) : AddShare(share);
    });
  }
}

absl::Status Sart::Project(const Share& share) {
  const int chunk = share.chunk;
  ISO_RETURN_IF_ERROR(system_.Axpby(chunk, -1, b_, 0, residual_));
  ISO_RETURN_IF_ERROR(system_.Forward(StepsFrom(), chunk, share.views, residual_));
  ISO_ASSIGN_OR_RETURN(const double squared, system_.Dot(chunk, residual_, residual_));
  squared_residual_ += squared;
  ISO_RETURN_IF_ERROR(system_.Multiply(chunk, rows_, residual_));
  ISO_RETURN_IF_ERROR(system_.ReadyForBack(chunk, residual_));
  if (Keeps(share.subset)) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(FindRays(chunk, rows_, *rays_));
  return system_.ReadyForBack(chunk, *rays_);
}

absl::StatusOr<ops::VolumeBuffer*> Sart::Add(const Share& share, ProjectionVector& y, int piece,
                                             VolumeVector& sums) {
  ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * volume,
                       sums.At(piece, share.first ? Access::kOverwrite : Access::kUpdate));
  if (share.first) ISO_RETURN_IF_ERROR(system_.FillPiece(0, piece, *volume));
  ISO_RETURN_IF_ERROR(system_.BackToPiece(share.chunk, share.views, y, piece, *volume));
  return share.last ? sums.At(piece, Access::kLast) : volume;
}

absl::Status Sart::AddShare(const Share& share) {
  return system_.OnPieces([&](int piece) -> absl::Status {
    if (!Keeps(share.subset)) {
      ISO_RETURN_IF_ERROR(Add(share, *rays_, piece, *present_columns_).status());
    }
    return Add(share, residual_, piece, update_).status();
  });
}

absl::StatusOr<const ops::VolumeBuffer*> Sart::InverseColumns(const Share& share, bool whole,
                                                              int piece) {
  if (Keeps(share.subset) && whole) return columns_[share.subset].At(piece, Access::kRead);
  ops::Arithmetic& arithmetic = system_.arithmetic(system_.plan().pieces[piece].device);
  ops::VolumeBuffer* sums = nullptr;
  if (Keeps(share.subset)) {
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* grown,
                         columns_[share.subset].At(piece, Access::kRead));
    ISO_ASSIGN_OR_RETURN(sums, present_columns_->At(piece, Access::kOverwrite));
    ISO_RETURN_IF_ERROR(arithmetic.Copy(*grown, *sums));
  } else {
    ISO_ASSIGN_OR_RETURN(sums, Add(share, *rays_, piece, *present_columns_));
  }
  ISO_RETURN_IF_ERROR(arithmetic.Invert(column_threshold_, *sums));
  return sums;
}

absl::Status Sart::Update(const Share& share, bool whole, double relaxation) {
  const IterativeSettings& settings = system_.plan().settings;
  ISO_RETURN_IF_ERROR(system_.OnPieces([&](int piece) -> absl::Status {
    ops::Arithmetic& arithmetic = system_.arithmetic(system_.plan().pieces[piece].device);
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* columns, InverseColumns(share, whole, piece));
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* update, Add(share, residual_, piece, update_));
    // What was back-projected is A z - b.
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * z, StepsFrom().At(piece, Access::kUpdate));
    ISO_RETURN_IF_ERROR(settings.non_negative
                            ? arithmetic.MultiplyAddAbove(0, -relaxation, *columns, *update, *z)
                            : arithmetic.MultiplyAdd(-relaxation, *columns, *update, *z));
    if (!LooksAhead()) return absl::OkStatus();
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * x, x_.At(piece, Access::kUpdate));
    return arithmetic.Axpby(1 + settings.momentum, *z, -settings.momentum, *x);
  }));
  // z has the new x and x the former one; now it is the other way round, but for the look ahead.
  if (LooksAhead()) std::swap(x_, *ahead_);
  return absl::OkStatus();
}

PassFigures Sart::figures() const {
  return {.relative_residual = RelativeNorm(squared_residual_, squared_data_)};
}

}  // namespace isocenter::recon
