#include "kernels/recon/second_pass/segment.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace isocenter::recon {
namespace {

// Voxels that may be metal are marked so until their piece is decided on.
constexpr float kMaybe = -1;
// Streaks beside dense metal are as bright as light metal: pieces below this share of the densest
// are held to be streaks. Of each its densest voxels count: metal that hangs together with other
// metal by streaks is a piece that has mostly streaks.
constexpr float kStreakShare = 0.35F;

/// Voxels that may be metal, of which nothing is left when they are taken.
struct MaybeMetal {
  static bool Marked(float value) { return value == kMaybe; }
  static float Taken(float) { return 0; }
};
/// Metal's HU, which are above 0; their sign says that they have been taken.
struct FoundMetal {
  static bool Marked(float value) { return value > 0; }
  static float Taken(float value) { return -value; }
};

/// Pieces of marked voxels, one after the other.
template <typename Marks>
class Pieces {
 public:
  Pieces(const VolumeGrid& grid, std::span<float> metal) : grid_(grid), metal_(metal) {}

  // The marked voxels that hang together with `first`, which are no longer marked.
  const std::vector<int64_t>& Take(int64_t first) {
    piece_.clear();
    Add(first);
    for (size_t i = 0; i < piece_.size(); ++i) AddNeighbours(piece_[i]);
    return piece_;
  }

 private:
  void Add(int64_t voxel) {
    if (!Marks::Marked(metal_[voxel])) return;
    metal_[voxel] = Marks::Taken(metal_[voxel]);
    piece_.push_back(voxel);
  }
  void AddNeighbours(int64_t voxel) {
    const int64_t row = grid_.nx, slice = row * grid_.ny;
    const int64_t x = voxel % row, y = voxel % slice / row, z = voxel / slice;
    if (x > 0) Add(voxel - 1);
    if (x + 1 < grid_.nx) Add(voxel + 1);
    if (y > 0) Add(voxel - row);
    if (y + 1 < grid_.ny) Add(voxel + row);
    if (z > 0) Add(voxel - slice);
    if (z + 1 < grid_.nz) Add(voxel + slice);
  }

  const VolumeGrid& grid_;
  const std::span<float> metal_;
  std::vector<int64_t> piece_;
};

/// A piece that is cut to what is dense enough.
struct Metal {
  std::vector<int64_t> voxels;
  float densest_hu = 0;  // what its densest voxels have at least
};

// An edge is where half of the piece's density, its upper quartile, is reached. `densest`: how many
// of its voxels are its densest ones, 1 or more.
Metal Cut(std::span<const float> hu, const std::vector<int64_t>& piece, int64_t densest) {
  Metal metal{.voxels = piece};
  std::vector<int64_t>& voxels = metal.voxels;
  const auto count = static_cast<int64_t>(voxels.size());
  const auto nth_hu = [&](int64_t n) {  // the n-th from the densest on, which is 0
    std::nth_element(voxels.begin(), voxels.begin() + n, voxels.end(),
                     [&](int64_t a, int64_t b) { return hu[a] > hu[b]; });
    return hu[voxels[n]];
  };
  const float edge_hu = nth_hu(count / 4) / 2;
  metal.densest_hu = nth_hu(std::min(densest, count) - 1);
  std::erase_if(voxels, [&](int64_t voxel) { return hu[voxel] < edge_hu; });
  voxels.shrink_to_fit();
  return metal;
}

}  // namespace

int64_t FindMetalBytes(const VolumeGrid& grid) {
  // A piece has all that may be metal at most and is there twice, with vectors that grow.
  return static_cast<int64_t>(4 * kMostMetalShare * static_cast<double>(grid.voxels()) *
                              sizeof(int64_t));
}

absl::StatusOr<int64_t> FindMetal(const MetalSettings& settings, const VolumeGrid& grid,
                                  HostView3<const float> hounsfield, HostView3<float> metal) {
  const std::span<const float> hu = hounsfield.span();
  const std::span<float> out = metal.span();
  int64_t maybe = 0;
  for (size_t i = 0; i < hu.size(); ++i) {
    const bool dense = hu[i] >= settings.metal_edge_hu;
    out[i] = dense ? kMaybe : 0;
    maybe += dense ? 1 : 0;
  }
  if (static_cast<double>(maybe) > kMostMetalShare * static_cast<double>(grid.voxels())) {
    return absl::FailedPreconditionError(
        absl::StrCat(maybe, " of ", grid.voxels(), " voxels have ", settings.metal_edge_hu,
                     " HU or more; legal for a correction of metal is a share of ", kMostMetalShare,
                     " at most"));
  }
  const double voxel_mm3 = grid.spacing.x * grid.spacing.y * grid.spacing.z;
  const auto densest_voxels = std::max<int64_t>(1, std::llround(settings.least_mm3 / voxel_mm3));
  Pieces<MaybeMetal> pieces(grid, out);
  std::vector<Metal> metals;
  float densest_hu = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(hu.size()); ++i) {
    if (out[i] != kMaybe || hu[i] < settings.metal_hu) continue;
    Metal found = Cut(hu, pieces.Take(i), densest_voxels);
    if (static_cast<double>(found.voxels.size()) * voxel_mm3 < settings.least_mm3) continue;
    densest_hu = std::max(densest_hu, found.densest_hu);
    metals.push_back(std::move(found));
  }
  std::replace(out.begin(), out.end(), kMaybe, 0.f);
  int64_t found = 0;
  for (const Metal& piece : metals) {
    if (piece.densest_hu < kStreakShare * densest_hu) continue;
    for (const int64_t voxel : piece.voxels) out[voxel] = hu[voxel];
    found += static_cast<int64_t>(piece.voxels.size());
  }
  return found;
}

int64_t CountPieces(const VolumeGrid& grid, HostView3<float> metal) {
  const std::span<float> voxels = metal.span();
  Pieces<FoundMetal> pieces(grid, voxels);
  int64_t count = 0;
  for (size_t i = 0; i < voxels.size(); ++i) {
    if (!FoundMetal::Marked(voxels[i])) continue;
    pieces.Take(static_cast<int64_t>(i));
    ++count;
  }
  for (float& value : voxels) value = std::abs(value);
  return count;
}

void TissueClasses::Attenuations(std::span<const float> hu, float* attenuations) const {
  if (!scale_.table.points.empty()) {
    for (size_t i = 0; i < hu.size(); ++i) attenuations[i] = Attenuation(hu[i]);
    return;
  }
  // Everything is worked out and then chosen from: compilers do several at once of that.
  const float water = water_, per_hu = static_cast<float>(scale_.mu_water_per_mm / 1000);
  const auto air_hu = static_cast<float>(settings_.air_hu),
             tissue_hu = static_cast<float>(settings_.tissue_hu),
             bone_hu = static_cast<float>(settings_.bone_hu);
  const size_t count = hu.size();
  const float* const in = hu.data();
  for (size_t i = 0; i < count; ++i) {
    const float value = in[i];
    const float dense = water + value * per_hu;
    const float soft = value < bone_hu ? water : dense;
    const float solid = value < tissue_hu ? dense : soft;
    attenuations[i] = value < air_hu ? 0.f : solid;
  }
}

void MakePrior(const MetalSettings& settings, const ops::HounsfieldScale& scale,
               HostView3<const float> metal, HostView3<float> volume) {
  const std::span<const float> hidden = metal.span();
  const std::span<float> values = volume.span();
  const TissueClasses classes(settings, scale);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = hidden[i] != 0 ? classes.water() : classes.Attenuation(values[i]);
  }
}

void RestoreMetal(HostView3<const float> metal, HostView3<float> volume) {
  const std::span<const float> kept = metal.span();
  const std::span<float> out = volume.span();
  for (size_t i = 0; i < out.size(); ++i) {
    if (kept[i] != 0) out[i] = kept[i];
  }
}

int64_t CountBone(const ops::BoneTable& table, HostView3<const float> volume) {
  return std::ranges::count_if(volume.span(), [&](float value) { return value > table.from_hu; });
}

void MakeBone(const ops::BoneTable& table, HostView3<float> volume) {
  for (float& value : volume.span()) {
    const double fraction = (value - table.from_hu) / (table.full_hu - table.from_hu);
    value = static_cast<float>(std::clamp(fraction, 0.0, kMostBoneFraction));
  }
}

}  // namespace isocenter::recon
