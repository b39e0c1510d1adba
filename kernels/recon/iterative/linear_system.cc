#include "kernels/recon/iterative/linear_system.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/surroundings.h"
#include "kernels/recon/stage_scope.h"

namespace isocenter::recon {

absl::StatusOr<std::unique_ptr<LinearSystem>> LinearSystem::Create(
    const RefinementPlan& plan, const ops::Registry& registry,
    std::span<ops::Device* const> devices) {
  if (static_cast<int>(devices.size()) < plan.devices()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan is for ", plan.devices(), " devices; there are ", devices.size()));
  }
  std::unique_ptr<LinearSystem> self(new LinearSystem(plan, registry));
  self->chunks_ = ChunksOf(plan.subsets, plan.chunk_views);
  self->chunk_of_view_.resize(plan.views());
  self->index_of_view_.resize(plan.views());
  for (int chunk = 0; chunk < self->chunk_count(); ++chunk) {
    const std::vector<int>& views = self->chunks_[chunk].views;
    for (size_t i = 0; i < views.size(); ++i) {
      self->chunk_of_view_[views[i]] = chunk;
      self->index_of_view_[views[i]] = static_cast<int>(i);
    }
  }
  for (int device = 0; device < plan.devices(); ++device) {
    ISO_RETURN_IF_ERROR(self->AddPart(device, *devices[device]));
  }
  ISO_RETURN_IF_ERROR(self->MakeMasks());
  if (!plan.settings.matched) {
    self->unmatched_scale_ = UnmatchedScale(plan.acquisition.trajectory, plan.grid);
  }
  if (const int64_t bytes = HostBytes(plan, self->chunks_); bytes > 0) {
    ISO_ASSIGN_OR_RETURN(self->placing_, devices[0]->NewHostMemory(bytes));
  }
  self->threads_ = std::make_unique<ThreadPool>(plan.devices());
  return self;
}

absl::Status LinearSystem::AddPart(int device, ops::Device& from) {
  Part& part = parts_.emplace_back();
  ISO_ASSIGN_OR_RETURN(part.session, from.NewSession());
  sessions_.push_back(part.session.get());
  ISO_ASSIGN_OR_RETURN(const LinearMethods methods,
                       LinearMethods::Find(plan_.settings, registry_, from.backend()));
  ISO_ASSIGN_OR_RETURN(LinearOperators operators, LinearOperators::Create(methods, *part.session));
  part.operators = std::make_unique<LinearOperators>(std::move(operators));
  ISO_ASSIGN_OR_RETURN(const auto arithmetic, registry_.arithmetic.Find(from.backend()));
  ISO_ASSIGN_OR_RETURN(part.arithmetic, arithmetic(*part.session));
  for (size_t piece = 0; piece < plan_.pieces.size(); ++piece) {
    if (plan_.pieces[piece].device == device) part.pieces.push_back(static_cast<int>(piece));
  }
  const RowRange& rows = plan_.rows[device].seen;
  for (const ViewChunk& chunk : chunks_) {
    auto& matrices = part.matrices.emplace_back();
    for (const int view : chunk.views) {
      matrices.push_back(WithoutRowsBefore(plan_.acquisition.trajectory[view], rows.first));
    }
  }
  if (plan_.devices() > 1) {
    ISO_ASSIGN_OR_RETURN(part.partial,
                         part.session->NewProjectionStack(LargestStack(plan_, chunks_, device),
                                                          ops::StackUse::kProjections));
  }
  return absl::OkStatus();
}

int64_t LinearSystem::DeviceBytes(const RefinementPlan& plan, std::span<const ViewChunk> chunks,
                                  int device, const ops::Device& on) {
  int64_t bytes = 0;
  for (const Piece& piece : plan.pieces) {
    if (piece.device == device && piece.surroundings) bytes += on.VolumeBytes(piece.grid);
  }
  if (plan.devices() > 1) {
    bytes +=
        on.ProjectionStackBytes(LargestStack(plan, chunks, device), ops::StackUse::kProjections);
  }
  return bytes;
}

int64_t LinearSystem::HostBytes(const RefinementPlan& plan, std::span<const ViewChunk> chunks) {
  if (plan.early_frames.empty()) return 0;
  int64_t most = 0;
  for (int device = 0; device < plan.devices(); ++device) {
    most = std::max(most, LargestStack(plan, chunks, device).count());
  }
  return most * static_cast<int64_t>(sizeof(float));
}

absl::Status LinearSystem::MakeMasks() {
  for (const Piece& piece : plan_.pieces) {
    masks_.emplace_back();
    if (!piece.surroundings) continue;
    const std::vector<float> mask = OutsideMask(piece.grid, plan_.grid);
    ISO_ASSIGN_OR_RETURN(masks_.back(), parts_[piece.device].session->NewVolume(piece.grid));
    ISO_RETURN_IF_ERROR(masks_.back()->Upload(0, {mask.data(), piece.grid.shape()}));
  }
  return absl::OkStatus();
}

absl::Status LinearSystem::Mask(int piece, ops::VolumeBuffer& volume) {
  if (masks_[piece] == nullptr) return absl::OkStatus();
  return arithmetic(plan_.pieces[piece].device).Multiply(*masks_[piece], volume);
}

absl::Status LinearSystem::SetMatrix(int view, const ProjectionMatrix& matrix) {
  const int chunk = chunk_of_view_[view], index = index_of_view_[view];
  for (Part& part : parts_) {
    const RowRange& rows = plan_.rows[&part - parts_.data()].seen;
    for (const int piece : part.pieces) {
      const RowRange seen =
          RowsOfPiece({&matrix, 1}, plan_.pieces[piece].grid, plan_.acquisition.detector.rows);
      if (seen.first >= rows.first && seen.end() <= rows.end()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the measured matrix of frame ", view, " sees slices in rows ", seen.first,
                       " to ", seen.end() - 1, "; after the planned trajectory legal is ",
                       rows.first, " to ", rows.end() - 1));
    }
    part.matrices[chunk][index] = WithoutRowsBefore(matrix, rows.first);
  }
  return absl::OkStatus();
}

absl::Status LinearSystem::OnDevices(const std::function<absl::Status(int)>& work) {
  if (parts_.size() == 1) return work(0);
  std::vector<absl::Status> statuses(parts_.size());
  threads_->ParallelFor(static_cast<int64_t>(parts_.size()), [&](int64_t device, int) {
    statuses[device] = work(static_cast<int>(device));
  });
  for (const absl::Status& status : statuses) ISO_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::Status LinearSystem::OnPieces(const std::function<absl::Status(int)>& work) {
  return OnDevices([&](int device) -> absl::Status {
    for (const int piece : parts_[device].pieces) ISO_RETURN_IF_ERROR(work(piece));
    return absl::OkStatus();
  });
}

absl::Status LinearSystem::Synchronize() {
  absl::Status status;
  for (ops::Session* session : sessions_) status.Update(session->Synchronize());
  return status;
}

absl::Status LinearSystem::Forward(VolumeVector& x, int chunk, const Views& views,
                                   ProjectionVector& y) {
  const auto project = [&](int piece, std::span<const ProjectionMatrix> matrices,
                           ops::ProjectionStack& stack) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* volume, x.At(piece, Access::kRead));
    const Part& part = parts_[plan_.pieces[piece].device];
    const StageScope scope(part.session->timeline(), ops::Stage::kForwardProject);
    return part.operators->Forward(matrices, *volume, stack);
  };
  return ForwardOf(project, chunk, views, y);
}

absl::Status LinearSystem::SumRows(int chunk, const Views& views, VolumeVector& ones,
                                   ProjectionVector& y) {
  const auto project = [&](int piece, std::span<const ProjectionMatrix> matrices,
                           ops::ProjectionStack& stack) -> absl::Status {
    const Part& part = parts_[plan_.pieces[piece].device];
    if (part.operators->has_row_sums() && masks_[piece] == nullptr) {
      const StageScope scope(part.session->timeline(), ops::Stage::kForwardProject);
      return part.operators->SumRows(matrices, plan_.pieces[piece].grid, stack);
    }
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * volume, ones.At(piece, Access::kOverwrite));
    ISO_RETURN_IF_ERROR(FillPiece(1, piece, *volume));
    const StageScope scope(part.session->timeline(), ops::Stage::kForwardProject);
    return part.operators->Forward(matrices, *volume, stack);
  };
  return ForwardOf(project, chunk, views, y);
}

absl::Status LinearSystem::ForwardOf(const ProjectPiece& project, int chunk, const Views& views,
                                     ProjectionVector& y) {
  ISO_RETURN_IF_ERROR(OnDevices([&](int device) -> absl::Status {
    Part& part = parts_[device];
    ISO_ASSIGN_OR_RETURN(ops::ProjectionStack * stack, y.At(chunk, device, Access::kUpdate));
    if (part.partial != nullptr) {
      ISO_RETURN_IF_ERROR(part.partial->Reshape(stack->shape()));
      ISO_RETURN_IF_ERROR(part.arithmetic->Fill(0, *part.partial));
      stack = part.partial.get();
    }
    for (const int piece : part.pieces) {
      ISO_RETURN_IF_ERROR(project(piece, MatricesOf(part, chunk, views), *stack));
    }
    return absl::OkStatus();
  }));
  return parts_.size() > 1 ? AddPartialSums(chunk, y) : absl::OkStatus();
}

absl::Status LinearSystem::AddPartialSums(int chunk, ProjectionVector& y) {
  for (int to = 0; to < devices(); ++to) {
    const RowRange& own = plan_.rows[to].seen;
    ISO_ASSIGN_OR_RETURN(ops::ProjectionStack * stack, y.At(chunk, to, Access::kUpdate));
    for (int from = 0; from < devices(); ++from) {
      const RowRange& other = plan_.rows[from].seen;
      const int first = std::max(own.first, other.first);
      const int count = std::min(own.end(), other.end()) - first;
      if (count <= 0) continue;
      ISO_RETURN_IF_ERROR(arithmetic(to).AddRows(
          *parts_[from].partial, {first - other.first, count}, first - own.first, *stack));
    }
  }
  return absl::OkStatus();
}

absl::Status LinearSystem::Back(int chunk, const Views& views, ProjectionVector& y,
                                VolumeVector& x) {
  ISO_RETURN_IF_ERROR(ReadyForBack(chunk, y));
  return OnPieces([&](int piece) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * volume, x.At(piece, Access::kUpdate));
    return BackToPiece(chunk, views, y, piece, *volume);
  });
}

absl::Status LinearSystem::ReadyForBack(int chunk, ProjectionVector& y) {
  if (plan_.settings.matched) return absl::OkStatus();
  return Axpby(chunk, unmatched_scale_, y, 0, y);
}

absl::Status LinearSystem::BackToPiece(int chunk, const Views& views, ProjectionVector& y,
                                       int piece, ops::VolumeBuffer& volume) {
  const int device = plan_.pieces[piece].device;
  Part& part = parts_[device];
  ISO_ASSIGN_OR_RETURN(const ops::ProjectionStack* stack, y.At(chunk, device, Access::kRead));
  {
    const StageScope scope(part.session->timeline(), ops::Stage::kBackproject);
    ISO_RETURN_IF_ERROR(part.operators->Back(MatricesOf(part, chunk, views), *stack, volume));
  }
  return Mask(piece, volume);
}

absl::Status LinearSystem::Place(int chunk, const Views& views, ProjectionVector& x,
                                 ProjectionVector& y) {
  for (int device = 0; device < devices(); ++device) {
    ISO_ASSIGN_OR_RETURN(const ops::ProjectionStack* from, x.At(chunk, device, Access::kRead));
    ISO_ASSIGN_OR_RETURN(ops::ProjectionStack * to, y.At(chunk, device, Access::kUpdate));
    const Shape3 shape{views.count, from->shape().middle, from->shape().fast};
    const HostView3<float> host(reinterpret_cast<float*>(placing_->data()), shape);
    ISO_RETURN_IF_ERROR(from->Download(0, host));
    ISO_RETURN_IF_ERROR(to->Upload(views.first, host));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::recon
