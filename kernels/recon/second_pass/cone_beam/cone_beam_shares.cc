#include "kernels/recon/second_pass/cone_beam/cone_beam_shares.h"

#include <algorithm>
#include <cmath>

#include "kernels/geometry/orbit_axis.h"

namespace isocenter::recon {
namespace {

// A height of which less is seen, of what is seen of the best, is none to measure with.
constexpr double kLeastSeen = 0.1;

/// Of what is found at a height, of an object that is known up to `known_to`; `slope`: the field of
/// view's radius, of the source's distance.
double KnownShare(double height, double known_to, double slope) {
  const double more = (1 + slope) / (1 - slope);
  const double all_need = height > 0 ? height * more : height / more;
  if (all_need <= known_to) return 1;
  const double axis_needs = height > 0 ? height * (1 + slope) : height * (1 - slope);
  return std::max(0.0, (known_to - axis_needs) / (all_need - axis_needs));
}

}  // namespace

ConeBeamShares::ConeBeamShares(const ConeBeamPlan& plan, Vec3 axis)
    : plan_(&plan), slice_mm_(plan.model.grid.spacing.z) {
  const VolumeGrid& grid = plan.model.grid;
  const Vec3 base = grid.VoxelToWorld(0, 0, 0);
  const Vec3 dz = grid.VoxelToWorld(0, 0, 1) - base;
  const Vec3 up = (Dot(axis, dz) < 0 ? -1 / slice_mm_ : 1 / slice_mm_) * axis;
  const Vec3 per_index{Dot(up, grid.VoxelToWorld(1, 0, 0) - base),
                       Dot(up, grid.VoxelToWorld(0, 1, 0) - base), Dot(up, dz)};
  const double corner = Dot(up, base);
  const Vec3 span{per_index.x * (grid.nx - 1), per_index.y * (grid.ny - 1),
                  per_index.z * (grid.nz - 1)};
  const double lowest =
      std::floor(corner + std::min(0.0, span.x) + std::min(0.0, span.y) + std::min(0.0, span.z));
  const double highest =
      std::ceil(corner + std::max(0.0, span.x) + std::max(0.0, span.y) + std::max(0.0, span.z));
  orbit_ = -lowest;
  // One more, so that there is a next one everywhere.
  heights_ = {.first = corner - lowest,
              .per_index = per_index,
              .count = static_cast<int>(highest - lowest) + 2};
  sums_.resize(heights_.count);
  shares_.resize(heights_.count);
}

ConeBeamShares ConeBeamShares::Of(const ConeBeamPlan& plan) {
  return {plan, OrbitAxis(plan.model.acquisition.trajectory).value_or(Vec3{0, 0, 1})};
}

template <typename Voxel>
void ConeBeamShares::Visit(int y, int z, size_t voxels, Voxel voxel) const {
  const Vec3& per_index = heights_.per_index;
  const double first = heights_.first + per_index.y * y + per_index.z * z;
  const double highest = heights_.count - 2;
  for (size_t x = 0; x < voxels; ++x) {
    const double place = std::clamp(first + per_index.x * static_cast<double>(x), 0.0, highest);
    const auto lower = static_cast<int32_t>(place);
    voxel(x, lower, place - lower);
  }
}

void ConeBeamShares::Count(int y, int z, std::span<const float> weights,
                           std::span<const float> found) {
  // Neighbours count for the same height: its sums are kept until there is another one.
  int32_t at = 0;
  double weight = 0, weight_above = 0, squares = 0, squares_above = 0;
  const auto add = [&] {
    sums_[at].weight += weight - weight_above;
    sums_[at].squares += squares - squares_above;
    sums_[at + 1].weight += weight_above;
    sums_[at + 1].squares += squares_above;
    weight = weight_above = squares = squares_above = 0;
  };
  Visit(y, z, found.size(), [&](size_t x, int32_t lower, double upper_share) {
    if (lower != at) {
      add();
      at = lower;
    }
    const double square = double{weights[x]} * found[x] * found[x];
    weight += weights[x];
    weight_above += upper_share * weights[x];
    squares += square;
    squares_above += upper_share * square;
  });
  add();
}

void ConeBeamShares::Add(std::span<const ops::ConeBeamSums> sums) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    sums_[i].weight += sums[i].weight;
    sums_[i].squares += sums[i].squares;
  }
}

double ConeBeamShares::Choose() {
  double most = 0;
  for (const ops::ConeBeamSums& height : sums_) most = std::max(most, height.weight);
  const ops::ConeBeamSums* nearest = nullptr;
  double distance = 0;
  for (size_t i = 0; i < sums_.size(); ++i) {
    const double away = std::abs(static_cast<double>(i) - orbit_);
    if (sums_[i].weight <= kLeastSeen * most || (nearest != nullptr && away >= distance)) continue;
    nearest = &sums_[i];
    distance = away;
  }
  if (nearest == nullptr) return 0;
  const double error = nearest->squares / nearest->weight;
  const double slope = plan_->radius_mm / plan_->source_mm;
  for (size_t i = 0; i < sums_.size(); ++i) {
    const ops::ConeBeamSums& height = sums_[i];
    if (height.squares <= 0) continue;
    const double artefact = std::max(0.0, 1 - error * height.weight / height.squares);
    const double above_mm = (static_cast<double>(i) - orbit_) * slice_mm_;
    shares_[i] = static_cast<float>(artefact * KnownShare(above_mm, plan_->known_to_mm, slope) *
                                    KnownShare(-above_mm, -plan_->known_from_mm, slope));
  }
  return std::sqrt(error);
}

void ConeBeamShares::Apply(int y, int z, std::span<float> found) const {
  Visit(y, z, found.size(), [&](size_t x, int32_t lower, double upper_share) {
    const float below = shares_[lower], above = shares_[lower + 1];
    found[x] *= below + static_cast<float>(upper_share) * (above - below);
  });
}

}  // namespace isocenter::recon
