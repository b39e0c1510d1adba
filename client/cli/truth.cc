#include "client/cli/truth.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/options/phantom_flags.h"
#include "client/cli/output/progress_bar.h"
#include "client/flags/command.h"
#include "client/formats/volume_writer.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/physics/tissue.h"

namespace isocenter::cli {
namespace {

constexpr int kSlab = 8;  // slices that are in memory at once

absl::StatusOr<VolumeGrid> TruthGrid(const SimulateOptions& options, const Detector& detector,
                                     const Trajectory& trajectory) {
  if (options.truth_voxel_mm == 0) return AutoGrid(trajectory, detector, options.truth_size);
  const double s = options.truth_voxel_mm;
  return CenteredGrid(options.truth_size, options.truth_size, options.truth_size, {s, s, s});
}

struct Volume {
  std::filesystem::path path;
  const phantom::Phantom& object;
  double unit;      // what of the object is 1 or water
  bool hounsfield;  // HU, not units
};

absl::Status Write(const Volume& volume, const VolumeGrid& grid, int subsamples, ThreadPool& pool,
                   const Interrupt& interrupt) {
  ISO_ASSIGN_OR_RETURN(formats::VolumeWriter writer,
                       formats::VolumeWriter::Create(
                           volume.path, grid, {.unit = volume.hounsfield ? "HU" : "units of 1"}));
  ProgressBar bar("truth", "slices", grid.nz);
  std::vector<float> voxels;
  for (int z = 0; z < grid.nz; z += kSlab) {
    if (interrupt.happened())
      return flags::Interrupted("interrupted; the acquisition is written, the truth is not");
    VolumeGrid slab = grid;
    slab.nz = std::min(kSlab, grid.nz - z);
    slab.origin = grid.VoxelToWorld(0, 0, z);
    voxels.resize(slab.voxels());
    phantom::Rasterize(volume.object, slab, volume.unit, subsamples, pool,
                       {voxels.data(), slab.shape()});
    if (!volume.hounsfield) {
      for (float& voxel : voxels) voxel = voxel / 1000 + 1;
    }
    ISO_RETURN_IF_ERROR(writer.Append(voxels));
    bar.Update(z + slab.nz);
  }
  return writer.Finish();
}

}  // namespace

std::vector<std::filesystem::path> MaterialTruthFiles(const std::filesystem::path& truth) {
  std::vector<std::filesystem::path> files;
  for (const physics::Material& material : physics::TissueMaterials()) {
    files.push_back(formats::WithNameSuffix(truth, absl::StrCat("-", material.name)));
  }
  return files;
}

absl::Status WriteTruth(const SimulateOptions& options, const phantom::Phantom& object,
                        const PhysicsSetup* physics, const Detector& detector,
                        const Trajectory& trajectory, ThreadPool& pool,
                        const Interrupt& interrupt) {
  ISO_ASSIGN_OR_RETURN(const VolumeGrid grid, TruthGrid(options, detector, trajectory));
  ISO_RETURN_IF_ERROR(Write({options.truth, object, kMuWaterPerMm, true}, grid, options.subsamples,
                            pool, interrupt));
  if (!options.truth_materials || physics == nullptr) return absl::OkStatus();
  const physics::TissueMap map(physics->effective_kev, options.volume.empty());
  const auto files = MaterialTruthFiles(options.truth);
  for (size_t m = 0; m < files.size(); ++m) {
    const auto share = object.Mapped(
        [&map, m](double attenuation) { return map.Of(attenuation / kMuWaterPerMm)[m]; });
    ISO_RETURN_IF_ERROR(
        Write({files[m], *share, 1, false}, grid, options.subsamples, pool, interrupt));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::cli
