// b = A x over the pieces and devices of a plan: the vectors, their arithmetic, and A and Aᵀ.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/iterative/linear_operators.h"
#include "kernels/recon/iterative/plan.h"
#include "kernels/recon/iterative/subsets.h"
#include "kernels/recon/iterative/vectors.h"

namespace isocenter::recon {

/// The volume is cut into runs of slices, the same for A and Aᵀ, and each device has the rows of
/// the detector that its slices are seen in. What devices project onto rows that several of them
/// see is added up between them; after that each has complete rows and back-projects on its own. So
/// what is exchanged is a share of the projections, however many subsets there are. Not
/// thread-safe.
class LinearSystem {
 public:
  /// Sessions of `devices` are made; `plan` and `devices` must outlive the system. Errors:
  /// RESOURCE_EXHAUSTED, NOT_FOUND (a method that the backend lacks).
  static absl::StatusOr<std::unique_ptr<LinearSystem>> Create(
      const RefinementPlan& plan, const ops::Registry& registry,
      std::span<ops::Device* const> devices);

  /// What Create takes of a device's memory, vectors and operations not included.
  static int64_t DeviceBytes(const RefinementPlan& plan, std::span<const ViewChunk> chunks,
                             int device, const ops::Device& on);
  /// The same of the host's.
  static int64_t HostBytes(const RefinementPlan& plan, std::span<const ViewChunk> chunks);

  const RefinementPlan& plan() const { return plan_; }
  const std::vector<ViewChunk>& chunks() const { return chunks_; }
  int chunk_count() const { return static_cast<int>(chunks_.size()); }
  int devices() const { return static_cast<int>(parts_.size()); }
  ops::Session& session(int device) { return *parts_[device].session; }
  ops::Arithmetic& arithmetic(int device) { return *parts_[device].arithmetic; }
  std::span<ops::Session* const> sessions() const { return sessions_; }
  const ops::Registry& registry() const { return registry_; }

  /// Where a view is: its chunk, and its index there.
  int chunk_of(int view) const { return chunk_of_view_[view]; }
  int index_of(int view) const { return index_of_view_[view]; }

  /// Zero.
  absl::StatusOr<VolumeVector> NewVolume() const { return VolumeVector::Create(plan_, sessions_); }
  absl::StatusOr<VolumeVector> NewPiece() const {
    return VolumeVector::CreateForOnePiece(plan_, sessions_);
  }
  absl::StatusOr<ProjectionVector> NewProjections() const {
    return ProjectionVector::Create(plan_, chunks_, sessions_);
  }
  absl::StatusOr<ProjectionVector> NewChunk() const {
    return ProjectionVector::CreateForOneChunk(plan_, chunks_, sessions_);
  }

  /// A measured matrix replaces the planned one. Errors: INVALID_ARGUMENT (it sees a device's
  /// pieces in rows that the device was not given).
  absl::Status SetMatrix(int view, const ProjectionMatrix& matrix);

  /// Some views of a chunk, by their index there.
  struct Views {
    int first = 0;
    int count = 0;
  };
  Views AllOf(int chunk) const { return {0, static_cast<int>(chunks_[chunk].views.size())}; }

  /// y += A x for the views of a chunk.
  absl::Status Forward(VolumeVector& x, int chunk, ProjectionVector& y) {
    return Forward(x, chunk, AllOf(chunk), y);
  }
  /// x += Aᵀ y for the views of a chunk. Where the plan's pair is not matched y is changed.
  absl::Status Back(int chunk, ProjectionVector& y, VolumeVector& x) {
    return Back(chunk, AllOf(chunk), y, x);
  }
  /// The same for some views, which are the first of y's. The others of y stay as they are but for
  /// that change.
  absl::Status Forward(VolumeVector& x, int chunk, const Views& views, ProjectionVector& y);
  absl::Status Back(int chunk, const Views& views, ProjectionVector& y, VolumeVector& x);
  /// y += A 1; where the backend has no row sums or a piece a mask, by way of `ones`, which may be
  /// for one piece.
  absl::Status SumRows(int chunk, const Views& views, VolumeVector& ones, ProjectionVector& y);
  /// Back for one piece after another, within OnPieces: y is made ready once, then `volume`, which
  /// is a piece of x, takes its part.
  absl::Status ReadyForBack(int chunk, ProjectionVector& y);
  absl::Status BackToPiece(int chunk, const Views& views, ProjectionVector& y, int piece,
                           ops::VolumeBuffer& volume);
  /// The first views.count views of x become those views of y, by way of host memory; y is of all
  /// chunks. Of a plan with early passes. Waits.
  absl::Status Place(int chunk, const Views& views, ProjectionVector& x, ProjectionVector& y);

  /// y = value; zero where coarse surroundings have the voxels of the result.
  absl::Status Fill(double value, VolumeVector& y);
  absl::Status FillPiece(double value, int piece, ops::VolumeBuffer& volume);
  absl::Status Copy(VolumeVector& x, VolumeVector& y);
  absl::Status Axpby(double a, VolumeVector& x, double b, VolumeVector& y);
  absl::Status Multiply(VolumeVector& x, VolumeVector& y);
  absl::Status MultiplyAdd(double a, VolumeVector& w, VolumeVector& x, VolumeVector& y);
  absl::Status MultiplyAddAbove(double least, double a, VolumeVector& w, VolumeVector& x,
                                VolumeVector& y);
  absl::Status Invert(double threshold, VolumeVector& y);
  absl::Status ClampBelow(double least, VolumeVector& y);
  /// Zero where coarse surroundings have the voxels of the result.
  absl::Status Bend(const ops::HounsfieldHinges& hinges, VolumeVector& y);
  absl::StatusOr<double> Dot(VolumeVector& x, VolumeVector& y);

  absl::Status Fill(int chunk, double value, ProjectionVector& y);
  absl::Status Copy(int chunk, ProjectionVector& x, ProjectionVector& y);
  absl::Status Axpby(int chunk, double a, ProjectionVector& x, double b, ProjectionVector& y);
  absl::Status Multiply(int chunk, ProjectionVector& x, ProjectionVector& y);
  absl::Status MultiplyAdd(int chunk, double a, ProjectionVector& w, ProjectionVector& x,
                           ProjectionVector& y);
  absl::Status Invert(int chunk, double threshold, ProjectionVector& y);
  absl::Status Exponential(int chunk, double a, ProjectionVector& y);
  /// Each row counts once.
  absl::StatusOr<double> Dot(int chunk, ProjectionVector& x, ProjectionVector& y);

  /// Calls work(piece) for each piece, pieces of different devices side by side; the first error.
  absl::Status OnPieces(const std::function<absl::Status(int piece)>& work);
  absl::Status Synchronize();

 private:
  struct Part {
    std::unique_ptr<ops::Session> session;
    std::unique_ptr<LinearOperators> operators;
    std::unique_ptr<ops::Arithmetic> arithmetic;
    std::vector<int> pieces;
    std::vector<std::vector<ProjectionMatrix>> matrices;  // [chunk][view], of the device's rows
    std::unique_ptr<ops::ProjectionStack> partial;        // its share of A x; one device has none
  };
  LinearSystem(const RefinementPlan& plan, const ops::Registry& registry)
      : plan_(plan), registry_(registry) {}
  absl::Status AddPart(int device, ops::Device& from);
  absl::Status MakeMasks();
  absl::Status Mask(int piece, ops::VolumeBuffer& volume);
  /// y += what project(piece, matrices, stack) adds, for all pieces.
  using ProjectPiece = std::function<absl::Status(
      int piece, std::span<const ProjectionMatrix> matrices, ops::ProjectionStack& stack)>;
  absl::Status ForwardOf(const ProjectPiece& project, int chunk, const Views& views,
                         ProjectionVector& y);
  absl::Status AddPartialSums(int chunk, ProjectionVector& y);
  std::span<const ProjectionMatrix> MatricesOf(const Part& part, int chunk,
                                               const Views& views) const {
    return std::span(part.matrices[chunk]).subspan(views.first, views.count);
  }
  absl::Status OnDevices(const std::function<absl::Status(int device)>& work);

  const RefinementPlan& plan_;
  const ops::Registry& registry_;
  std::vector<ViewChunk> chunks_;
  std::vector<int> chunk_of_view_, index_of_view_;
  std::vector<Part> parts_;
  std::vector<ops::Session*> sessions_;
  std::vector<std::unique_ptr<ops::VolumeBuffer>> masks_;  // by piece; none for the result's
  double unmatched_scale_ = 1;
  std::unique_ptr<ops::HostMemory> placing_;  // for Place, with early passes
  /// A thread for each device: one waits while the others go on.
  std::unique_ptr<ThreadPool> threads_;
};

}  // namespace isocenter::recon
