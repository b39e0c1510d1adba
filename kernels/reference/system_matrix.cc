#include "kernels/reference/system_matrix.h"

#include "kernels/ops/check.h"
#include "kernels/reference/device.h"

namespace isocenter::reference {
namespace {

class Forward final : public ops::ForwardProject {
 public:
  explicit Forward(SystemMatrix system) : system_(system) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices, const ops::VolumeBuffer& volume,
                     ops::ProjectionStack& projections) override {
    ISO_ASSIGN_OR_RETURN(const Volume* x, AsVolume(volume));
    ISO_ASSIGN_OR_RETURN(Stack * p, AsStack(projections));
    const double* const voxels = x->view().data();
    for (size_t view = 0; view < matrices.size(); ++view) {
      double* const pixels = p->view().row(static_cast<int64_t>(view), 0);
      system_(matrices[view], x->grid(), p->shape(),
              [&](int64_t pixel, int64_t voxel, double length) {
                pixels[pixel] += length * voxels[voxel];
              });
    }
    return absl::OkStatus();
  }

 private:
  SystemMatrix system_;
};

class Back final : public ops::MatchedBackproject {
 public:
  explicit Back(SystemMatrix system) : system_(system) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& projections, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* y, AsStack(projections));
    ISO_ASSIGN_OR_RETURN(Volume * x, AsVolume(volume));
    double* const voxels = x->view().data();
    for (size_t view = 0; view < matrices.size(); ++view) {
      const double* const pixels = y->view().row(static_cast<int64_t>(view), 0);
      system_(matrices[view], x->grid(), y->shape(),
              [&](int64_t pixel, int64_t voxel, double length) {
                voxels[voxel] += length * pixels[pixel];
              });
    }
    return absl::OkStatus();
  }

 private:
  SystemMatrix system_;
};

class Sums final : public ops::RowSums {
 public:
  explicit Sums(SystemMatrix system) : system_(system) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices, const VolumeGrid& grid,
                     ops::ProjectionStack& projections) override {
    ISO_ASSIGN_OR_RETURN(Stack * p, AsStack(projections));
    for (size_t view = 0; view < matrices.size(); ++view) {
      double* const pixels = p->view().row(static_cast<int64_t>(view), 0);
      system_(matrices[view], grid, p->shape(),
              [&](int64_t pixel, int64_t, double length) { pixels[pixel] += length; });
    }
    return absl::OkStatus();
  }

 private:
  SystemMatrix system_;
};

}  // namespace

std::unique_ptr<ops::ForwardProject> NewForwardProject(SystemMatrix system) {
  return std::make_unique<Forward>(system);
}

std::unique_ptr<ops::MatchedBackproject> NewMatchedBackproject(SystemMatrix system) {
  return std::make_unique<Back>(system);
}

std::unique_ptr<ops::RowSums> NewRowSums(SystemMatrix system) {
  return std::make_unique<Sums>(system);
}

}  // namespace isocenter::reference
