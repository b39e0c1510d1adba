#include "kernels/ops/variation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "kernels/ops/check.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

using Differences = std::array<double, 3>;

double Square(const Differences& d) { return d[0] * d[0] + d[1] * d[1] + d[2] * d[2]; }

// Factors g of the three axes.
Differences FactorsOf(const VolumeGrid& grid) {
  const double edge = std::cbrt(grid.spacing.x * grid.spacing.y * grid.spacing.z);
  return {edge / grid.spacing.x, edge / grid.spacing.y, edge / grid.spacing.z};
}

absl::StatusOr<const Volume*> NeighborOf(const ops::VolumeBuffer* neighbor) {
  if (neighbor == nullptr) return nullptr;
  return AsVolume(*neighbor);
}

// A slab between the slices next to it, at(i, j, -1) and at(i, j, nz).
class Slab {
 public:
  static absl::StatusOr<Slab> Of(const ops::VolumeBuffer& f, const ops::NeighborSlices& neighbors) {
    Slab slab;
    ISO_ASSIGN_OR_RETURN(slab.f_, AsVolume(f));
    ISO_ASSIGN_OR_RETURN(slab.below_, NeighborOf(neighbors.below));
    ISO_ASSIGN_OR_RETURN(slab.above_, NeighborOf(neighbors.above));
    slab.factor_ = FactorsOf(slab.f_->grid());
    return slab;
  }

  const VolumeGrid& grid() const { return f_->grid(); }
  double factor(int axis) const { return factor_[axis]; }

  bool Has(const std::array<int, 3>& at) const {
    return at[0] >= 0 && at[0] < grid().nx && at[1] >= 0 && at[1] < grid().ny &&
           at[2] >= (below_ == nullptr ? 0 : -1) && at[2] < grid().nz + (above_ == nullptr ? 0 : 1);
  }
  double operator()(const std::array<int, 3>& at) const {
    if (at[2] < 0) return below_->view()(0, at[1], at[0]);
    if (at[2] >= grid().nz) return above_->view()(0, at[1], at[0]);
    return f_->view()(at[2], at[1], at[0]);
  }
  // f(at + e) - f(at) along one axis; nothing where one of the two is beyond the volume.
  std::optional<double> Step(std::array<int, 3> at, int axis) const {
    std::array<int, 3> next = at;
    ++next[axis];
    if (!Has(at) || !Has(next)) return std::nullopt;
    return (*this)(next) - (*this)(at);
  }
  // ∇f.
  Differences Gradient(const std::array<int, 3>& at) const {
    Differences gradient;
    for (int axis = 0; axis < 3; ++axis) {
      gradient[axis] = Step(at, axis).value_or(0) * factor_[axis];
    }
    return gradient;
  }

 private:
  const Volume* f_ = nullptr;
  const Volume* below_ = nullptr;
  const Volume* above_ = nullptr;
  Differences factor_{};
};

template <class Visit>
void ForEachVoxel(const VolumeGrid& grid, Visit visit) {
  for (int k = 0; k < grid.nz; ++k) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) visit(std::array<int, 3>{i, j, k});
    }
  }
}

double& At(Volume& volume, const std::array<int, 3>& at) {
  return volume.view()(at[2], at[1], at[0]);
}

class VariationPlain final : public ops::Variation {
 public:
  absl::Status DoAddTotalVariationGradient(double strength, double epsilon,
                                           const ops::VolumeBuffer& f,
                                           const ops::NeighborSlices& neighbors,
                                           ops::VolumeBuffer& gradient) override {
    ISO_ASSIGN_OR_RETURN(const Slab slab, Slab::Of(f, neighbors));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(gradient));
    // The derivative of one voxel's root by one of its differences.
    const auto term = [&](const std::array<int, 3>& at, int axis) {
      const Differences d = slab.Gradient(at);
      return slab.factor(axis) * d[axis] / std::sqrt(Square(d) + epsilon * epsilon);
    };
    ForEachVoxel(slab.grid(), [&](const std::array<int, 3>& at) {
      double sum = 0;
      for (int axis = 0; axis < 3; ++axis) {
        std::array<int, 3> before = at;
        --before[axis];
        sum -= term(at, axis);
        if (slab.Has(before)) sum += term(before, axis);
      }
      At(*target, at) += strength * sum;
    });
    return absl::OkStatus();
  }

  absl::StatusOr<double> DoTotalVariation(double epsilon, const ops::VolumeBuffer& f,
                                          const ops::NeighborSlices& neighbors) override {
    ISO_ASSIGN_OR_RETURN(const Slab slab, Slab::Of(f, neighbors));
    double sum = 0;
    ForEachVoxel(slab.grid(), [&](const std::array<int, 3>& at) {
      sum += std::sqrt(Square(slab.Gradient(at)) + epsilon * epsilon) - epsilon;
    });
    return sum;
  }

  absl::Status DoAddHuberGradient(double strength, double delta, const ops::VolumeBuffer& f,
                                  const ops::NeighborSlices& neighbors,
                                  ops::VolumeBuffer& gradient) override {
    ISO_ASSIGN_OR_RETURN(const Slab slab, Slab::Of(f, neighbors));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(gradient));
    const auto slope = [delta](double t) { return std::clamp(t, -delta, delta); };
    ForEachVoxel(slab.grid(), [&](const std::array<int, 3>& at) {
      double sum = 0;
      for (int axis = 0; axis < 3; ++axis) {
        std::array<int, 3> before = at;
        --before[axis];
        const double pair =
            slope(slab.Step(before, axis).value_or(0)) - slope(slab.Step(at, axis).value_or(0));
        sum += slab.factor(axis) * slab.factor(axis) * pair;
      }
      At(*target, at) += strength * sum;
    });
    return absl::OkStatus();
  }

  absl::StatusOr<double> DoHuber(double delta, const ops::VolumeBuffer& f,
                                 const ops::NeighborSlices& neighbors) override {
    ISO_ASSIGN_OR_RETURN(const Slab slab, Slab::Of(f, neighbors));
    double sum = 0;
    ForEachVoxel(slab.grid(), [&](const std::array<int, 3>& at) {
      for (int axis = 0; axis < 3; ++axis) {
        const double t = std::abs(slab.Step(at, axis).value_or(0));
        sum += slab.factor(axis) * slab.factor(axis) *
               (t <= delta ? t * t / 2 : delta * t - delta * delta / 2);
      }
    });
    return sum;
  }

  absl::Status DoAscendDual(double step, double bound, const ops::VolumeBuffer& f,
                            const ops::NeighborSlices& neighbors,
                            const ops::VectorField<ops::VolumeBuffer>& p) override {
    ISO_ASSIGN_OR_RETURN(const Slab slab, Slab::Of(f, neighbors));
    ISO_ASSIGN_OR_RETURN(Volume * x, AsVolume(*p.x));
    ISO_ASSIGN_OR_RETURN(Volume * y, AsVolume(*p.y));
    ISO_ASSIGN_OR_RETURN(Volume * z, AsVolume(*p.z));
    Volume* const components[] = {x, y, z};
    ForEachVoxel(slab.grid(), [&](const std::array<int, 3>& at) {
      Differences q = slab.Gradient(at);
      for (int axis = 0; axis < 3; ++axis) q[axis] = At(*components[axis], at) + step * q[axis];
      const double shrink = std::max(1.0, std::sqrt(Square(q)) / bound);
      for (int axis = 0; axis < 3; ++axis) At(*components[axis], at) = q[axis] / shrink;
    });
    return absl::OkStatus();
  }

  absl::Status DoAddDivergence(double step, const ops::VectorField<const ops::VolumeBuffer>& p,
                               const ops::VolumeBuffer* below, ops::VolumeBuffer& f) override {
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(f));
    ISO_ASSIGN_OR_RETURN(const Slab x, Slab::Of(*p.x, {}));
    ISO_ASSIGN_OR_RETURN(const Slab y, Slab::Of(*p.y, {}));
    ISO_ASSIGN_OR_RETURN(const Slab z, Slab::Of(*p.z, {.below = below}));
    const VolumeGrid& grid = target->grid();
    const Slab* const components[] = {&x, &y, &z};
    const Differences factor = FactorsOf(grid);
    ForEachVoxel(grid, [&](const std::array<int, 3>& at) {
      double sum = 0;
      for (int axis = 0; axis < 3; ++axis) {
        const Slab& component = *components[axis];
        std::array<int, 3> before = at;
        --before[axis];
        sum += factor[axis] * (component(at) - (component.Has(before) ? component(before) : 0));
      }
      At(*target, at) += step * sum;
    });
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<ops::Variation> NewVariation() { return std::make_unique<VariationPlain>(); }

}  // namespace isocenter::reference
