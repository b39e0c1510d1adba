// The vectors of an iterative method: volumes and projections, divided between devices, in their
// memory or in the host's.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/iterative/plan.h"
#include "kernels/recon/iterative/subsets.h"

namespace isocenter::recon {

/// What is done to a part of a vector that is asked for. kOverwrite: what it held does not matter,
/// and all of it is written.
enum class Access { kRead, kUpdate, kOverwrite };

/// A vector like x: one volume for each piece of the plan. Where pieces wait in host memory, each
/// device has room for one of them, which comes when it is asked for and goes when another does.
/// Parts of different devices may be used by different threads.
class VolumeVector {
 public:
  /// Zero. `sessions` by device; all must outlive the vector. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<VolumeVector> Create(const RefinementPlan& plan,
                                             std::span<ops::Device* const> sessions);

  /// The piece in its device's memory, valid until another piece of the same device is asked for.
  absl::StatusOr<ops::VolumeBuffer*> At(int piece, Access access);

  /// Copies a slice of a piece, of whatever device, to slice 0 of `to`. The vector must not have
  /// changed since Flush.
  absl::Status CopySlice(int piece, int slice, ops::Arithmetic& arithmetic, ops::VolumeBuffer& to);
  /// Host memory has what the devices' rooms have.
  absl::Status Flush();

  /// [z][y][x] of the piece's slices from `first_slice`.
  absl::Status Upload(int piece, int first_slice, HostView3<const float> slices);
  absl::Status Download(int piece, HostView3<float> slices);

 private:
  /// A device's room for pieces that wait in host memory.
  struct Room {
    std::unique_ptr<ops::VolumeBuffer> volume;
    int piece = -1;  // that is there
    bool changed = false;
  };
  explicit VolumeVector(const RefinementPlan& plan) : plan_(&plan) {}
  HostView3<float> HostPiece(int piece);
  absl::Status WriteBack(Room& room);

  const RefinementPlan* plan_;
  std::vector<std::unique_ptr<ops::VolumeBuffer>> volumes_;  // by piece, or none
  std::vector<std::unique_ptr<ops::HostMemory>> host_;       // by piece, or none
  std::vector<Room> rooms_;                                  // by device
};

/// A vector like b: the views of each chunk as a stack of the rows that concern a device. Rows that
/// concern several devices are there several times. In host memory as VolumeVector.
class ProjectionVector {
 public:
  /// Of all views, or of the chunk that is worked on only: then every chunk has the same memory,
  /// and what one writes is there until the next. Zero. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<ProjectionVector> Create(const RefinementPlan& plan,
                                                 std::span<const ViewChunk> chunks,
                                                 std::span<ops::Device* const> sessions);
  static absl::StatusOr<ProjectionVector> CreateForOneChunk(const RefinementPlan& plan,
                                                            std::span<const ViewChunk> chunks,
                                                            std::span<ops::Device* const> sessions);

  absl::StatusOr<ops::ProjectionStack*> At(int chunk, int device, Access access);

  /// Sets one view, the `index`th of a chunk; shape {1, rows seen by the device, columns}.
  absl::Status Store(int chunk, int index, int device, HostView3<const float> view);

 private:
  struct Room {
    std::unique_ptr<ops::ProjectionStack> stack;
    int chunk = -1;
    bool changed = false;
  };
  ProjectionVector(const RefinementPlan& plan, std::span<const ViewChunk> chunks)
      : plan_(&plan), chunks_(chunks) {}
  Shape3 ShapeOf(int chunk, int device) const;
  absl::Status MakeRooms(std::span<ops::Device* const> sessions);
  HostView3<float> HostChunk(int chunk, int device);

  const RefinementPlan* plan_;
  std::span<const ViewChunk> chunks_;
  std::vector<std::vector<std::unique_ptr<ops::ProjectionStack>>> stacks_;  // [chunk][device]
  std::vector<std::unique_ptr<ops::HostMemory>> host_;                      // by device
  std::vector<int64_t> first_view_;  // of each chunk in host memory
  std::vector<Room> rooms_;          // by device
};

}  // namespace isocenter::recon
