// The vectors of an iterative method: volumes and projections, divided between devices, in their
// memory or in the host's.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/iterative/plan.h"
#include "kernels/recon/iterative/residence/host_parts.h"
#include "kernels/recon/iterative/subsets.h"

namespace isocenter::recon {

/// The grid with the most voxels along each axis that any piece of a device has.
VolumeGrid LargestPiece(const RefinementPlan& plan, int device);
/// The rows that a device sees of the chunk with the most views.
Shape3 LargestStack(const RefinementPlan& plan, std::span<const ViewChunk> chunks, int device);

/// A vector like x: one volume for each piece of the plan. Where pieces wait in host memory, each
/// device has rooms for those that are worked on and come next (residence/host_parts.h). Parts of
/// different devices may be used by different threads.
class VolumeVector {
 public:
  /// Of all pieces, or of each device's piece that is worked on only: then all pieces of a device
  /// have the same memory, and what is written to one is there until another is asked for. Zero.
  /// `sessions` by device; all must outlive the vector. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<VolumeVector> Create(const RefinementPlan& plan,
                                             std::span<ops::Session* const> sessions);
  static absl::StatusOr<VolumeVector> CreateForOnePiece(const RefinementPlan& plan,
                                                        std::span<ops::Session* const> sessions);
  /// What they take of a device's memory, and Create of the host's.
  static int64_t DeviceBytes(const RefinementPlan& plan, int device, const ops::Device& on);
  static int64_t OnePieceDeviceBytes(const RefinementPlan& plan, int device, const ops::Device& on);
  static int64_t HostBytes(const RefinementPlan& plan);

  /// The piece in its device's memory, valid until another piece of the same device is asked for.
  absl::StatusOr<ops::VolumeBuffer*> At(int piece, Access access);

  /// Copies a slice of a piece, of whatever device, to slice 0 of `to`. The vector must not have
  /// changed since Flush.
  absl::Status CopySlice(int piece, int slice, ops::Arithmetic& arithmetic, ops::VolumeBuffer& to);
  /// Host memory has what the devices' rooms have.
  absl::Status Flush();

 private:
  explicit VolumeVector(const RefinementPlan& plan) : plan_(&plan) {}

  const RefinementPlan* plan_;
  // One of these.
  std::vector<std::unique_ptr<ops::VolumeBuffer>> volumes_;       // by piece
  std::vector<std::unique_ptr<HostParts<VolumeParts>>> in_host_;  // by device
  std::vector<std::unique_ptr<ops::VolumeBuffer>> one_piece_;     // by device
  std::vector<int> index_;  // of each piece among those of its device
};

/// A vector like b: the views of each chunk as a stack of the rows that concern a device. Rows that
/// concern several devices are there several times. In host memory as VolumeVector.
class ProjectionVector {
 public:
  /// Of all views, or of the chunk that is worked on only: then every chunk has the same memory,
  /// and what one writes is there until the next. Zero. Errors: RESOURCE_EXHAUSTED.
  static absl::StatusOr<ProjectionVector> Create(const RefinementPlan& plan,
                                                 std::span<const ViewChunk> chunks,
                                                 std::span<ops::Session* const> sessions);
  static absl::StatusOr<ProjectionVector> CreateForOneChunk(
      const RefinementPlan& plan, std::span<const ViewChunk> chunks,
      std::span<ops::Session* const> sessions);
  /// What they take of a device's memory, and Create of the host's.
  static int64_t DeviceBytes(const RefinementPlan& plan, std::span<const ViewChunk> chunks,
                             int device, const ops::Device& on);
  static int64_t OneChunkDeviceBytes(const RefinementPlan& plan, std::span<const ViewChunk> chunks,
                                     int device, const ops::Device& on);
  static int64_t HostBytes(const RefinementPlan& plan);

  absl::StatusOr<ops::ProjectionStack*> At(int chunk, int device, Access access);

  /// Sets one view, the `index`th of a chunk; shape {1, rows seen by the device, columns}. Where
  /// projections wait in host memory, before the first call of At only. The view must stay until
  /// the device's session is synchronised.
  absl::Status Store(int chunk, int index, int device, HostView3<const float> view);

 private:
  ProjectionVector(const RefinementPlan& plan, std::span<const ViewChunk> chunks)
      : plan_(&plan), chunks_(chunks) {}
  Shape3 ShapeOf(int chunk, int device) const;

  const RefinementPlan* plan_;
  std::span<const ViewChunk> chunks_;
  // One of these.
  std::vector<std::vector<std::unique_ptr<ops::ProjectionStack>>> stacks_;  // [chunk][device]
  std::vector<std::unique_ptr<HostParts<ProjectionParts>>> in_host_;        // by device
  std::vector<std::unique_ptr<ops::ProjectionStack>> one_chunk_;            // by device
};

}  // namespace isocenter::recon
