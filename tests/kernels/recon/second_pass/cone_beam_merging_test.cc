// How a second pass against the cone-beam artefact goes to its model's coarser voxels and back.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/recon/second_pass/cone_beam/cone_beam_artefact.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_model.h"

namespace isocenter::recon {
namespace {

constexpr double kMuWater = 0.02;

struct Merging {
  int merge = 1, merge_slices = 1;
  int nx = 0, ny = 0, nz = 0;  // of the volume, which need not be whole multiples
};

class ConeBeamMerging : public ::testing::TestWithParam<Merging> {
 protected:
  ConeBeamMerging() {
    plan_.merge = GetParam().merge;
    plan_.merge_slices = GetParam().merge_slices;
    plan_.more_below = 2;
    const auto merged = [](int count, int merge) { return (count + merge - 1) / merge; };
    plan_.model.grid =
        CenteredGrid(merged(GetParam().nx, plan_.merge), merged(GetParam().ny, plan_.merge),
                     2 + merged(GetParam().nz, plan_.merge_slices) + 1, {2, 2, 2});
    plan_.model.hounsfield.mu_water_per_mm = kMuWater;
    volume_grid_ = CenteredGrid(GetParam().nx, GetParam().ny, GetParam().nz, {1, 1, 1});
  }
  /// All that the volume has is seen.
  SeenSlices AllSeen() const {
    const VolumeGrid& grid = plan_.model.grid;
    const size_t columns = size_t(grid.nx) * grid.ny;
    return {std::vector<int>(columns, 2), std::vector<int>(columns, grid.nz - 2)};
  }

  ConeBeamPlan plan_;
  VolumeGrid volume_grid_;
  const ops::HounsfieldScale scale_{.mu_water_per_mm = kMuWater};
  ThreadPool threads_{2};
};

TEST_P(ConeBeamMerging, AModelHasTheMeanOfItsVoxels) {
  std::vector<float> volume(volume_grid_.voxels());
  const Shape3 shape = volume_grid_.shape();
  const auto dense_hu = [](int64_t z, int64_t y, int64_t x) {
    return static_cast<float>(1000 + 10 * x + 20 * y + 40 * z);  // bone: as it is
  };
  for (int64_t z = 0; z < shape.slow; ++z) {
    for (int64_t y = 0; y < shape.middle; ++y) {
      for (int64_t x = 0; x < shape.fast; ++x) {
        volume[(z * shape.middle + y) * shape.fast + x] = dense_hu(z, y, x);
      }
    }
  }
  std::vector<float> values(plan_.model.grid.voxels());
  const HostView3<float> model(values.data(), plan_.model.grid.shape());
  MakeConeBeamModel(plan_, volume_grid_, scale_, {volume.data(), shape}, AllSeen(), threads_,
                    model);
  const int merge = plan_.merge, slices = plan_.merge_slices;
  for (int z = 2; z < plan_.model.grid.nz - 1; ++z) {
    for (int y = 0; y < plan_.model.grid.ny; ++y) {
      for (int x = 0; x < plan_.model.grid.nx; ++x) {
        // Of voxels from `first` on, as many as there are: the middle's.
        const auto middle = [](int first, int merged, int64_t count) {
          return first + 0.5 * (std::min<int64_t>(merged, count - first) - 1);
        };
        const double hu = 1000 + 10 * middle(x * merge, merge, shape.fast) +
                          20 * middle(y * merge, merge, shape.middle) +
                          40 * middle((z - 2) * slices, slices, shape.slow);
        EXPECT_NEAR(model(z, y, x), kMuWater * (1 + hu / 1000), 1e-6) << x << " " << y << " " << z;
      }
    }
  }
  // Beyond the volume it goes on straight.
  EXPECT_EQ(model(0, 0, 0), model(2, 0, 0));
  EXPECT_EQ(model(plan_.model.grid.nz - 1, 1, 1), model(plan_.model.grid.nz - 2, 1, 1));
}

// Trilinear: what is linear stays so, and beyond the middle of the outermost voxels it is constant.
TEST_P(ConeBeamMerging, AnArtefactIsTakenOffBetweenItsVoxels) {
  const VolumeGrid& grid = plan_.model.grid;
  std::vector<float> artefact(grid.voxels());
  for (int z = 0; z < grid.nz; ++z) {
    for (int y = 0; y < grid.ny; ++y) {
      for (int x = 0; x < grid.nx; ++x) {
        artefact[(size_t(z) * grid.ny + y) * grid.nx + x] =
            static_cast<float>(x + 10 * y + 100 * z);
      }
    }
  }
  std::vector<float> values(volume_grid_.voxels(), 5000.F);
  const HostView3<float> volume(values.data(), volume_grid_.shape());
  TakeOffArtefact(plan_, scale_, {artefact.data(), grid.shape()}, threads_, volume);
  const auto place = [](int i, int merge, int before, int count) {
    return std::clamp((i + 0.5) / merge - 0.5 + before, 0.0, count - 1.0);
  };
  for (int z = 0; z < volume_grid_.nz; ++z) {
    for (int y = 0; y < volume_grid_.ny; ++y) {
      for (int x = 0; x < volume_grid_.nx; ++x) {
        const double off = place(x, plan_.merge, 0, grid.nx) +
                           10 * place(y, plan_.merge, 0, grid.ny) +
                           100 * place(z, plan_.merge_slices, 2, grid.nz);
        EXPECT_NEAR(volume(z, y, x), 5000 - off, 2e-3) << x << " " << y << " " << z;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Merges, ConeBeamMerging,
                         ::testing::Values(Merging{1, 1, 7, 6, 5}, Merging{2, 2, 9, 8, 7},
                                           Merging{3, 2, 10, 11, 6}, Merging{4, 3, 13, 9, 8}));

}  // namespace
}  // namespace isocenter::recon
