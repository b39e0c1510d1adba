#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/ops/second_pass.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

class ConeBeamArtefactPlain final : public ops::ConeBeamArtefact {
 public:
  using ops::ConeBeamArtefact::ConeBeamArtefact;

 private:
  absl::Status DoMakeModel(const ops::VolumeBuffer& volume, ops::VolumeBuffer& model) override {
    ISO_ASSIGN_OR_RETURN(const Volume* from, AsVolume(volume));
    ISO_ASSIGN_OR_RETURN(Volume * to, AsVolume(model));
    ForEach(*to, [&](int x, int y, int z, double& value) {
      const int first = FirstKnown(*to, x, y), last = LastKnown(*to, x, y);
      value = first > last ? 0 : MeanOf(*from, x, y, std::clamp(z, first, last));
    });
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> DoCountDense(std::span<const int> columns, double least,
                                       const ops::VolumeBuffer& model) override {
    ISO_ASSIGN_OR_RETURN(const Volume* own, AsVolume(model));
    int64_t dense = 0;
    for (const int column : columns) {
      const int x = column % own->grid().nx, y = column / own->grid().nx;
      for (int z = FirstKnown(*own, x, y); z <= LastKnown(*own, x, y); ++z) {
        if (own->view()(z, y, x) >= least) ++dense;
      }
    }
    return dense;
  }

  absl::StatusOr<std::vector<ops::ConeBeamSums>> DoFind(ops::VolumeBuffer& model,
                                                        ops::VolumeBuffer& reconstructed) override {
    ISO_ASSIGN_OR_RETURN(Volume * object, AsVolume(model));
    ISO_ASSIGN_OR_RETURN(Volume * weighted, AsVolume(reconstructed));
    Volume weights(object->grid());
    ForEach(weights, [&](int x, int y, int z, double& weight) {
      const bool counts = IsKnown(weights, x, y, z) && AreAlike(*object, x, y, z);
      weight = counts ? 1 : 0;
      const double hu = object->view()(z, y, x) / spec().scale.mu_water_per_mm * 1000 - 1000;
      double& value = weighted->view()(z, y, x);
      value = counts ? value - hu : 0;
    });
    std::vector<ops::ConeBeamSums> sums(spec().heights.count);
    ForEach(*object, [&](int x, int y, int z, double& found) {
      const double weight = Smoothed(weights, x, y, z);
      found = Smoothed(*weighted, x, y, z) / std::max(weight, ops::kConeBeamLeastWeight);
      for (size_t height = 0; height < sums.size(); ++height) {
        const double own = weight * Closeness(x, y, z, height);
        sums[height].weight += own;
        sums[height].squares += own * found * found;
      }
    });
    return sums;
  }

  absl::StatusOr<Kept> DoKeep(std::span<const float> shares, ops::VolumeBuffer& found) override {
    ISO_ASSIGN_OR_RETURN(Volume * own, AsVolume(found));
    Kept kept;
    ForEach(*own, [&](int x, int y, int z, double& value) {
      double share = 0;
      for (size_t height = 0; height < shares.size(); ++height) {
        share += Closeness(x, y, z, height) * shares[height];
      }
      value *= share;
      if (!IsKnown(*own, x, y, z)) return;
      kept.squares += value * value;
      kept.most = std::max(kept.most, std::abs(value));
    });
    return kept;
  }

  absl::Status DoTakeOff(const ops::VolumeBuffer& artefact, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Volume* from, AsVolume(artefact));
    ISO_ASSIGN_OR_RETURN(Volume * to, AsVolume(volume));
    const VolumeGrid& grid = from->grid();
    ForEach(*to, [&](int x, int y, int z, double& hu) {
      const double at_x = PlaceOf(x, spec().merge, 0, grid.nx);
      const double at_y = PlaceOf(y, spec().merge, 0, grid.ny);
      const double at_z = PlaceOf(z, spec().merge_slices, spec().more_below, grid.nz);
      double off = 0;
      for (int k = int(at_z); k <= std::min(int(at_z) + 1, grid.nz - 1); ++k) {
        for (int j = int(at_y); j <= std::min(int(at_y) + 1, grid.ny - 1); ++j) {
          for (int i = int(at_x); i <= std::min(int(at_x) + 1, grid.nx - 1); ++i) {
            off += (1 - std::abs(at_x - i)) * (1 - std::abs(at_y - j)) * (1 - std::abs(at_z - k)) *
                   from->view()(k, j, i);
          }
        }
      }
      const ops::HounsfieldScale& scale = spec().scale;
      const double less = off * scale.mu_water_per_mm / 1000;
      hu = ops::HounsfieldOf(scale, ops::AttenuationOf(scale, hu) - less);
    });
    return absl::OkStatus();
  }

  template <class Work>
  static void ForEach(Volume& volume, const Work& work) {
    const VolumeGrid grid = volume.grid();
    for (int z = 0; z < grid.nz; ++z) {
      for (int y = 0; y < grid.ny; ++y) {
        for (int x = 0; x < grid.nx; ++x) work(x, y, z, volume.view()(z, y, x));
      }
    }
  }

  int FirstKnown(const Volume& model, int x, int y) const {
    return spec().first[size_t(y) * model.grid().nx + x];
  }
  int LastKnown(const Volume& model, int x, int y) const {
    return spec().last[size_t(y) * model.grid().nx + x];
  }
  bool IsKnown(const Volume& model, int x, int y, int z) const {
    return z >= FirstKnown(model, x, y) && z <= LastKnown(model, x, y);
  }

  double AttenuationOf(double hu) const {
    if (hu < spec().air_hu) return 0;
    const bool soft = hu >= spec().tissue_hu && hu < spec().bone_hu;
    return ops::AttenuationOf(spec().scale, soft ? 0 : hu);
  }

  // Of the volume's voxels in one of the model's.
  double MeanOf(const Volume& volume, int x, int y, int z) const {
    const VolumeGrid& grid = volume.grid();
    const int merge = spec().merge, slices = spec().merge_slices;
    const int first = (z - spec().more_below) * slices;
    double sum = 0;
    int count = 0;
    for (int k = first; k < std::min(first + slices, grid.nz); ++k) {
      for (int j = y * merge; j < std::min((y + 1) * merge, grid.ny); ++j) {
        for (int i = x * merge; i < std::min((x + 1) * merge, grid.nx); ++i) {
          sum += AttenuationOf(volume.view()(k, j, i));
          ++count;
        }
      }
    }
    return sum / count;
  }

  // Whether a voxel and its neighbours differ by less than an edge.
  bool AreAlike(const Volume& model, int x, int y, int z) const {
    const VolumeGrid& grid = model.grid();
    double least = model.view()(z, y, x), most = least;
    for (int k = std::max(0, z - 1); k <= std::min(z + 1, grid.nz - 1); ++k) {
      for (int j = std::max(0, y - 1); j <= std::min(y + 1, grid.ny - 1); ++j) {
        for (int i = std::max(0, x - 1); i <= std::min(x + 1, grid.nx - 1); ++i) {
          least = std::min(least, model.view()(k, j, i));
          most = std::max(most, model.view()(k, j, i));
        }
      }
    }
    return most - least <= ops::kConeBeamEdgeHu / 1000 * spec().scale.mu_water_per_mm;
  }

  static double Smoothed(const Volume& volume, int x, int y, int z) {
    constexpr int kReach = ops::kConeBeamReach;
    const auto bell = [](int away) {
      return std::exp(-0.5 * away * away / (ops::kConeBeamSigma * ops::kConeBeamSigma));
    };
    double all = 0;
    for (int i = -kReach; i <= kReach; ++i) all += bell(i);
    const VolumeGrid& grid = volume.grid();
    double sum = 0;
    for (int k = std::max(0, z - kReach); k <= std::min(z + kReach, grid.nz - 1); ++k) {
      for (int j = std::max(0, y - kReach); j <= std::min(y + kReach, grid.ny - 1); ++j) {
        for (int i = std::max(0, x - kReach); i <= std::min(x + kReach, grid.nx - 1); ++i) {
          sum += bell(k - z) * bell(j - y) * bell(i - x) * volume.view()(k, j, i);
        }
      }
    }
    return sum / (all * all * all);
  }

  // 1 at a height, 0 from the next ones on.
  double Closeness(int x, int y, int z, size_t height) const {
    const ops::ConeBeamHeights& heights = spec().heights;
    const Vec3& per = heights.per_index;
    const double place =
        std::clamp(heights.first + per.x * x + per.y * y + per.z * z, 0.0, heights.count - 2.0);
    return std::max(0.0, 1 - std::abs(place - static_cast<double>(height)));
  }

  // Of a voxel of the volume among `count` of the model.
  static double PlaceOf(int i, int merge, int before, int count) {
    return std::clamp((i + 0.5) / merge - 0.5 + before, 0.0, count - 1.0);
  }
};

}  // namespace

std::unique_ptr<ops::ConeBeamArtefact> NewConeBeamArtefact(const ops::ConeBeamSpec& spec) {
  return std::make_unique<ConeBeamArtefactPlain>(spec);
}

}  // namespace isocenter::reference
