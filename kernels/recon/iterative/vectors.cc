#include "kernels/recon/iterative/vectors.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/memory.h"

namespace isocenter::recon {
namespace {

absl::StatusOr<std::unique_ptr<ops::HostMemory>> ZeroFloats(ops::Device& device, int64_t floats) {
  ISO_ASSIGN_OR_RETURN(auto memory,
                       device.NewHostMemory(floats * static_cast<int64_t>(sizeof(float))));
  std::fill_n(reinterpret_cast<float*>(memory->data()), floats, 0.f);
  return memory;
}

}  // namespace

absl::StatusOr<VolumeVector> VolumeVector::Create(const RefinementPlan& plan,
                                                  std::span<ops::Device* const> sessions) {
  VolumeVector vector(plan);
  for (const Piece& piece : plan.pieces) {
    ops::Device& session = *sessions[piece.device];
    if (plan.pieces_in_host) {
      ISO_ASSIGN_OR_RETURN(vector.host_.emplace_back(), ZeroFloats(session, piece.grid.voxels()));
    } else {
      ISO_ASSIGN_OR_RETURN(vector.volumes_.emplace_back(), session.NewVolume(piece.grid));
    }
  }
  if (!plan.pieces_in_host) return vector;
  for (int device = 0; device < plan.devices(); ++device) {
    ISO_ASSIGN_OR_RETURN(vector.rooms_.emplace_back().volume,
                         sessions[device]->NewVolume(LargestPiece(plan, device)));
  }
  return vector;
}

HostView3<float> VolumeVector::HostPiece(int piece) {
  return {reinterpret_cast<float*>(host_[piece]->data()), plan_->pieces[piece].grid.shape()};
}

absl::Status VolumeVector::WriteBack(Room& room) {
  if (room.changed) ISO_RETURN_IF_ERROR(room.volume->Download(0, HostPiece(room.piece)));
  room.changed = false;
  return absl::OkStatus();
}

absl::StatusOr<ops::VolumeBuffer*> VolumeVector::At(int piece, Access access) {
  if (!plan_->pieces_in_host) return volumes_[piece].get();
  Room& room = rooms_[plan_->pieces[piece].device];
  if (room.piece != piece) {
    ISO_RETURN_IF_ERROR(WriteBack(room));
    room.piece = piece;
    ISO_RETURN_IF_ERROR(room.volume->Regrid(plan_->pieces[piece].grid));
    if (access != Access::kOverwrite) {
      ISO_RETURN_IF_ERROR(room.volume->Upload(0, HostPiece(piece)));
    }
  }
  if (access != Access::kRead) room.changed = true;
  return room.volume.get();
}

absl::Status VolumeVector::Flush() {
  for (Room& room : rooms_) ISO_RETURN_IF_ERROR(WriteBack(room));
  return absl::OkStatus();
}

absl::Status VolumeVector::CopySlice(int piece, int slice, ops::Arithmetic& arithmetic,
                                     ops::VolumeBuffer& to) {
  if (plan_->pieces_in_host) return to.Upload(0, HostPiece(piece).slices(slice, 1));
  return arithmetic.CopySlice(*volumes_[piece], slice, to, 0);
}

absl::Status VolumeVector::Upload(int piece, int first_slice, HostView3<const float> slices) {
  ISO_ASSIGN_OR_RETURN(ops::VolumeBuffer * volume, At(piece, Access::kUpdate));
  return volume->Upload(first_slice, slices);
}

absl::Status VolumeVector::Download(int piece, HostView3<float> slices) {
  ISO_ASSIGN_OR_RETURN(const ops::VolumeBuffer* volume, At(piece, Access::kRead));
  return volume->Download(0, slices);
}

Shape3 ProjectionVector::ShapeOf(int chunk, int device) const {
  return {static_cast<int64_t>(chunks_[chunk].views.size()), plan_->rows[device].seen.count,
          plan_->acquisition.detector.columns};
}

absl::Status ProjectionVector::MakeRooms(std::span<ops::Device* const> sessions) {
  for (int device = 0; device < plan_->devices(); ++device) {
    Shape3 largest = ShapeOf(0, device);
    for (const ViewChunk& chunk : chunks_) {
      largest.slow = std::max<int64_t>(largest.slow, chunk.views.size());
    }
    ISO_ASSIGN_OR_RETURN(rooms_.emplace_back().stack, sessions[device]->NewProjectionStack(
                                                          largest, ops::StackUse::kProjections));
  }
  return absl::OkStatus();
}

absl::StatusOr<ProjectionVector> ProjectionVector::Create(const RefinementPlan& plan,
                                                          std::span<const ViewChunk> chunks,
                                                          std::span<ops::Device* const> sessions) {
  ProjectionVector vector(plan, chunks);
  if (!plan.projections_in_host) {
    for (int chunk = 0; chunk < static_cast<int>(chunks.size()); ++chunk) {
      auto& stacks = vector.stacks_.emplace_back();
      for (int device = 0; device < plan.devices(); ++device) {
        ISO_ASSIGN_OR_RETURN(stacks.emplace_back(),
                             sessions[device]->NewProjectionStack(vector.ShapeOf(chunk, device),
                                                                  ops::StackUse::kProjections));
      }
    }
    return vector;
  }
  int64_t views = 0;
  for (const ViewChunk& chunk : chunks) {
    vector.first_view_.push_back(views);
    views += static_cast<int64_t>(chunk.views.size());
  }
  for (int device = 0; device < plan.devices(); ++device) {
    const Shape3 one = vector.ShapeOf(0, device);
    ISO_ASSIGN_OR_RETURN(vector.host_.emplace_back(),
                         ZeroFloats(*sessions[device], views * one.middle * one.fast));
  }
  ISO_RETURN_IF_ERROR(vector.MakeRooms(sessions));
  return vector;
}

absl::StatusOr<ProjectionVector> ProjectionVector::CreateForOneChunk(
    const RefinementPlan& plan, std::span<const ViewChunk> chunks,
    std::span<ops::Device* const> sessions) {
  ProjectionVector vector(plan, chunks);
  ISO_RETURN_IF_ERROR(vector.MakeRooms(sessions));
  return vector;
}

HostView3<float> ProjectionVector::HostChunk(int chunk, int device) {
  const Shape3 shape = ShapeOf(chunk, device);
  return {reinterpret_cast<float*>(host_[device]->data()) +
              first_view_[chunk] * shape.middle * shape.fast,
          shape};
}

absl::StatusOr<ops::ProjectionStack*> ProjectionVector::At(int chunk, int device, Access access) {
  if (!stacks_.empty()) return stacks_[chunk][device].get();
  Room& room = rooms_[device];
  if (room.chunk != chunk) {
    if (room.changed && !host_.empty()) {
      ISO_RETURN_IF_ERROR(room.stack->Download(0, HostChunk(room.chunk, device)));
    }
    room.changed = false;
    room.chunk = chunk;
    ISO_RETURN_IF_ERROR(room.stack->Reshape(ShapeOf(chunk, device)));
    if (access != Access::kOverwrite && !host_.empty()) {
      ISO_RETURN_IF_ERROR(room.stack->Upload(0, HostChunk(chunk, device)));
    }
  }
  if (access != Access::kRead) room.changed = true;
  return room.stack.get();
}

absl::Status ProjectionVector::Store(int chunk, int index, int device,
                                     HostView3<const float> view) {
  if (!stacks_.empty()) return stacks_[chunk][device]->Upload(index, view);
  const HostView3<float> to = HostChunk(chunk, device).slices(index, 1);
  for (int64_t v = 0; v < to.shape().middle; ++v) {
    std::copy_n(view.row(0, v), to.shape().fast, to.row(0, v));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::recon
