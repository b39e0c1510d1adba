// The voxel-driven forward projection of Du, Yu, Xiang, Wang (BioMed. Eng. OnLine 16 (2017) 2) as
// they measured it on the CPU, their benchmark: on one thread, a voxel after the other, each added
// to four pixels.
#include <cmath>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/cpu/device/session.h"
#include "kernels/cpu/published/jacobs_views.h"
#include "kernels/cpu/published/methods.h"

namespace isocenter::cpu {
namespace {

// A view and what the mass of a piece of a voxel has in common: volume times |det M|.
struct DuView {
  ProjectionMatrix indexed;  // voxel indices to pixels
  RayView rays;
  double mass;
};

double Determinant(const ProjectionMatrix& p) {
  return Dot(Vec3{p(0, 0), p(0, 1), p(0, 2)},
             Cross(Vec3{p(1, 0), p(1, 1), p(1, 2)}, Vec3{p(2, 0), p(2, 1), p(2, 2)}));
}

void AddToPixel(const RayView& view, int u, int v, double value, float* stack) {
  if (u < 0 || u >= view.columns || v < 0 || v >= view.rows) return;
  stack[view.image + u * view.stride + v] += static_cast<float>(value);
}

// A point of mass `value`, at voxel indices (x, y, z).
void AddPoint(const DuView& view, double x, double y, double z, double value, float* stack) {
  const auto& m = view.indexed.m;
  const auto row = [&](int at) { return m[at] * x + m[at + 1] * y + m[at + 2] * z + m[at + 3]; };
  const double w = row(8);
  if (!(w > 0)) return;
  const double u = row(0) / w, v = row(4) / w;
  const double column = std::floor(u), line = std::floor(v);
  const RayView& rays = view.rays;
  if (!(column >= -1 && column < rays.columns && line >= -1 && line < rays.rows)) return;
  const double added = value * MillimetresPerW(rays, u, v) / (w * w);
  const double right = u - column, lower = v - line;
  const int at_u = static_cast<int>(column), at_v = static_cast<int>(line);
  AddToPixel(rays, at_u, at_v, added * (1 - right) * (1 - lower), stack);
  AddToPixel(rays, at_u + 1, at_v, added * right * (1 - lower), stack);
  AddToPixel(rays, at_u, at_v + 1, added * (1 - right) * lower, stack);
  AddToPixel(rays, at_u + 1, at_v + 1, added * right * lower, stack);
}

// `parts` pieces of a voxel along each axis.
class ProjectDu final : public ops::ForwardProject {
 public:
  explicit ProjectDu(int parts) : parts_(parts) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices, const ops::VolumeBuffer& volume,
                     ops::ProjectionStack& projections) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(projections));
    ISO_ASSIGN_OR_RETURN(const Volume* source, AsVolume(volume));
    const VolumeGrid& grid = source->grid();
    const std::vector<RayView> rays = MakeRayViews(matrices, grid, stack->shape());
    const double volume_mm3 =
        grid.spacing.x * grid.spacing.y * grid.spacing.z / (parts_ * parts_ * parts_);
    for (size_t i = 0; i < matrices.size(); ++i) {
      AddView({.indexed = ToVoxelIndices(matrices[i], grid),
               .rays = rays[i],
               .mass = volume_mm3 * std::abs(Determinant(matrices[i]))},
              VolumeShape(grid), source->data(), stack->data());
    }
    return absl::OkStatus();
  }

 private:
  void AddView(const DuView& view, const VolumeShape& shape, const float* voxels,
               float* stack) const {
    for (int y = 0; y < shape.size[1]; ++y) {
      for (int x = 0; x < shape.size[0]; ++x) {
        for (int z = 0; z < shape.size[2]; ++z) {
          const double value =
              view.mass * voxels[y * shape.stride[1] + x * shape.stride[0] + z * shape.stride[2]];
          AddVoxel(view, x, y, z, value, stack);
        }
      }
    }
  }

  void AddVoxel(const DuView& view, int x, int y, int z, double value, float* stack) const {
    const double step = 1.0 / parts_, first = 0.5 * (step - 1);
    for (int k = 0; k < parts_; ++k) {
      for (int j = 0; j < parts_; ++j) {
        for (int i = 0; i < parts_; ++i) {
          AddPoint(view, x + first + i * step, y + first + j * step, z + first + k * step, value,
                   stack);
        }
      }
    }
  }

  const int parts_;
};

ForwardProjectOr New(ops::Session& session, int parts) {
  ISO_RETURN_IF_ERROR(AsCpuSession(session).status());
  return std::make_unique<ProjectDu>(parts);
}

}  // namespace

ForwardProjectOr NewProjectDu(ops::Session& session) { return New(session, 1); }
ForwardProjectOr NewProjectDuSplit(ops::Session& session) { return New(session, 2); }

}  // namespace isocenter::cpu
