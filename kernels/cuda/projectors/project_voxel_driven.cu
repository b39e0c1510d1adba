#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/cuda/projectors/footprint_mass.h"
#include "kernels/cuda/projectors/methods.h"
#include "kernels/cuda/projectors/project_voxel_driven.cuh"
#include "kernels/cuda/projectors/scatter_near.cuh"

namespace isocenter::cuda {
namespace {

// For the rounding of what is computed in float32 from bounds that are exact.
constexpr double kRoom = 0.99;

void Store(const MassForm& form, double factor, double (&to)[6]) {
  const double coefficients[] = {form.uu, form.uv, form.vv, form.u, form.v, form.one};
  for (int i = 0; i < 6; ++i) to[i] = factor * coefficients[i];
}

// ForwardProject of kVoxelDriven (parts = 1) and kVoxelDrivenSplit (2).
class ProjectVoxelDriven final : public ops::ForwardProject {
 public:
  ProjectVoxelDriven(CudaSession& session, int parts, DeviceBuffer<float> peak,
                     DeviceBuffer<double> near_peak)
      : session_(session),
        parts_(parts),
        peak_(std::move(peak)),
        near_peak_(std::move(near_peak)) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices, const ops::VolumeBuffer& volume,
                     ops::ProjectionStack& projections) override {
    ISO_ASSIGN_OR_RETURN(const Volume* source, AsVolume(volume));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(projections));
    if (matrices.empty()) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const Extent e = ExtentOf(source->grid(), stack->shape());
    ISO_RETURN_IF_ERROR(sums_.Reserve(MostViews() * Pixels(e)));
    ISO_RETURN_IF_ERROR(FindPeak(*source));
    std::vector<MassBound> bounds;
    for (const ProjectionMatrix& matrix : matrices) {
      bounds.push_back(BoundMass(matrix, source->grid(), parts_));
    }
    const auto near = [&](size_t view) { return bounds[view].least_depth < kLeastDepth; };
    for (size_t first = 0; first < matrices.size();) {
      float* const to = stack->data() + first * Pixels(e);
      size_t views = 1;
      if (near(first)) {
        ISO_RETURN_IF_ERROR(AddNear(matrices[first], *source, e, to));
      } else {
        while (views < MostViews() && first + views < matrices.size() && !near(first + views)) {
          ++views;
        }
        ISO_RETURN_IF_ERROR(Add(matrices.subspan(first, views),
                                std::span(bounds).subspan(first, views), *source, e, to));
      }
      first += views;
    }
    return absl::OkStatus();
  }

  int64_t WorkspaceBytes(const VolumeGrid&, Shape3 projections) const override {
    const auto views = std::min<int64_t>(MostViews(), projections.slow);
    return views * projections.middle * projections.fast * int64_t{sizeof(unsigned long long)} +
           int64_t{sizeof(float)} + int64_t{sizeof(double)};
  }

 private:
  int Pieces() const { return parts_ * parts_ * parts_; }
  size_t MostViews() const { return kScatterViews / Pieces(); }
  static int64_t Pixels(const Extent& e) { return int64_t{e.rows} * e.columns; }

  absl::Status FindPeak(const Volume& volume) {
    const int64_t voxels = volume.grid().voxels();
    ISO_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(peak_.data(), 0, sizeof(float), session_.stream()));
    const auto blocks =
        static_cast<int>(std::min<int64_t>((voxels + kThreads - 1) / kThreads, 4096));
    PeakKernel<<<blocks, kThreads, 0, session_.stream()>>>(volume.data(), voxels, peak_.data());
    return ToStatus(cudaGetLastError(), "PeakKernel");
  }

  absl::Status ClearSums(size_t views, const Extent& e) {
    return ToStatus(cudaMemsetAsync(sums_.data(), 0, views * Pixels(e) * sizeof(unsigned long long),
                                    session_.stream()),
                    "cudaMemsetAsync");
  }

  template <class Peak>
  absl::Status AddSums(const ScatterUnits& units, const Peak* peak, size_t views, const Extent& e,
                       float* projections) {
    const dim3 blocks((Pixels(e) + kThreads - 1) / kThreads, views);
    AddSumsKernel<<<blocks, kThreads, 0, session_.stream()>>>(
        units, peak, reinterpret_cast<const long long*>(sums_.data()), Pixels(e), projections);
    return ToStatus(cudaGetLastError(), "AddSumsKernel");
  }

  absl::Status Add(std::span<const ProjectionMatrix> world, std::span<const MassBound> bounds,
                   const Volume& volume, const Extent& e, float* projections) {
    const VolumeGrid& grid = volume.grid();
    constexpr int kBox[3] = {kScatterX, kScatterY, kScatterZ};
    ScatterViews views{};
    ScatterUnits units{};
    int count = 0;
    for (size_t view = 0; view < world.size(); ++view) {
      const MassForm form = MassFormOf(world[view], grid, parts_);
      const auto pieces = MatricesOfPieces(world[view], grid, parts_);
      double most = 1;
      for (const ProjectionMatrix& piece : pieces) {
        most = std::max(
            most, MostWeightPerPixel(piece, bounds[view].most_depth, kBox, e.columns, e.rows));
      }
      // What a voxel of the volume's largest magnitude adds at most, in the units of the sums.
      const double largest = kRoom * std::min<double>(kMostUnits, std::exp2(31) / most);
      units.unit[view] = bounds[view].largest / largest;
      const double factor = largest / bounds[view].largest;
      for (const ProjectionMatrix& piece : pieces) {
        std::copy(piece.m.begin(), piece.m.end(), views.m[count]);
        Store(form, factor * factor, views.mass[count]);
        ++count;
      }
    }
    ISO_RETURN_IF_ERROR(ClearSums(world.size(), e));
    const auto boxes = [](int n, int size) { return static_cast<unsigned>((n + size - 1) / size); };
    const dim3 blocks(boxes(e.nx, kScatterX), boxes(e.ny, kScatterY), boxes(e.nz, kScatterZ));
    ScatterKernel<<<blocks, kThreads, 0, session_.stream()>>>(
        views, count, Pieces(), e, volume.data(), peak_.data(), sums_.data());
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    return AddSums(units, peak_.data(), world.size(), e, projections);
  }

  // A source in or near the volume.
  absl::Status AddNear(const ProjectionMatrix& world, const Volume& volume, const Extent& e,
                       float* projections) {
    const MassForm form = MassFormOf(world, volume.grid(), parts_);
    const int64_t voxels = volume.grid().voxels();
    // All voxels at once on one pixel have room.
    const double most = std::exp2(62 - std::bit_width(static_cast<uint64_t>(voxels)));
    ScatterUnits units{};
    units.unit[0] = 1 / most;
    const auto blocks =
        static_cast<int>(std::min<int64_t>((voxels + kThreads - 1) / kThreads, 4096));
    for (const ProjectionMatrix& piece : MatricesOfPieces(world, volume.grid(), parts_)) {
      NearView view{};
      std::copy(piece.m.begin(), piece.m.end(), view.m);
      Store(form, 1, view.mass);
      ISO_RETURN_IF_CUDA_ERROR(
          cudaMemsetAsync(near_peak_.data(), 0, sizeof(double), session_.stream()));
      ISO_RETURN_IF_ERROR(ClearSums(1, e));
      NearPeakKernel<<<blocks, kThreads, 0, session_.stream()>>>(view, e, volume.data(),
                                                                 near_peak_.data());
      NearKernel<<<blocks, kThreads, 0, session_.stream()>>>(view, e, volume.data(),
                                                             near_peak_.data(), most, sums_.data());
      ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
      ISO_RETURN_IF_ERROR(AddSums(units, near_peak_.data(), 1, e, projections));
    }
    return absl::OkStatus();
  }

  CudaSession& session_;
  const int parts_;
  DeviceBuffer<float> peak_;
  DeviceBuffer<double> near_peak_;
  DeviceBuffer<unsigned long long> sums_;  // fixed-point, of the views of one launch
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectVoxelDriven(CudaSession& session,
                                                                           int parts) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  ISO_ASSIGN_OR_RETURN(DeviceBuffer<float> peak, DeviceBuffer<float>::Create(1));
  ISO_ASSIGN_OR_RETURN(DeviceBuffer<double> near_peak, DeviceBuffer<double>::Create(1));
  return std::make_unique<ProjectVoxelDriven>(session, parts, std::move(peak),
                                              std::move(near_peak));
}

}  // namespace isocenter::cuda
