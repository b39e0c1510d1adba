// isocenter compare: how far a volume is from the truth, in Hounsfield units.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands.h"
#include "client/cli/options/phantom_flags.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/progress_bar.h"
#include "client/cli/output/table.h"
#include "client/formats/volume_input.h"
#include "client/imaging/difference.h"
#include "client/imaging/resample.h"
#include "kernels/base/status_macros.h"
#include "kernels/phantom/phantom.h"

namespace isocenter::cli {
namespace {

constexpr int kSlab = 8;  // slices that are compared at once

struct Options {
  std::string volume, truth, phantom;
  std::optional<double> scale_mm;
  int subsamples = 1;
  JsonOutput json;
};

double ScaleMm(const Options& options) {
  return options.scale_mm.value_or(DefaultPhantomScaleMm(options.phantom));
}

/// The truth on a run of slices of the volume's grid.
class Truth {
 public:
  virtual ~Truth() = default;
  virtual void Fill(const VolumeGrid& slab, HostView3<float> out) = 0;
};

class VolumeTruth : public Truth {
 public:
  explicit VolumeTruth(formats::Volume volume) : volume_(std::move(volume)) {}
  void Fill(const VolumeGrid& slab, HostView3<float> out) override {
    const formats::Volume resampled =
        imaging::Resample(volume_, slab, std::numeric_limits<float>::quiet_NaN());
    std::copy(resampled.voxels.begin(), resampled.voxels.end(), out.data());
  }

 private:
  formats::Volume volume_;
};

class PhantomTruth : public Truth {
 public:
  PhantomTruth(std::unique_ptr<phantom::Phantom> object, int subsamples)
      : object_(std::move(object)), subsamples_(subsamples), pool_(UsableCores()) {}
  void Fill(const VolumeGrid& slab, HostView3<float> out) override {
    phantom::Rasterize(*object_, slab, kMuWaterPerMm, subsamples_, pool_, out);
  }

 private:
  std::unique_ptr<phantom::Phantom> object_;
  int subsamples_;
  ThreadPool pool_;
};

/// A single voxel that is no number would make every figure one that is none.
absl::Status CheckNumbers(const std::string& file, const formats::Volume& volume) {
  const auto is_none = [](float voxel) { return !std::isfinite(voxel); };
  const int64_t wrong = std::ranges::count_if(volume.voxels, is_none);
  if (wrong == 0) return absl::OkStatus();
  const int64_t first = std::ranges::find_if(volume.voxels, is_none) - volume.voxels.begin();
  const int64_t nx = volume.grid.nx, ny = volume.grid.ny;
  return absl::DataLossError(absl::StrCat(
      file, ": ", wrong, " of ", volume.voxels.size(),
      " voxels are no finite numbers (NaN or infinite), the first at ", first % nx, ",",
      first / nx % ny, ",", first / (nx * ny), "; legal are numbers in HU everywhere"));
}

absl::StatusOr<std::unique_ptr<Truth>> OpenTruth(const Options& options) {
  if (!options.truth.empty()) {
    ISO_ASSIGN_OR_RETURN(formats::Volume volume, formats::ReadVolume(options.truth));
    ISO_RETURN_IF_ERROR(CheckNumbers(options.truth, volume));
    return std::make_unique<VolumeTruth>(std::move(volume));
  }
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<phantom::Phantom> object,
                       phantom::MakePhantom(options.phantom, ScaleMm(options), kMuWaterPerMm));
  return std::make_unique<PhantomTruth>(std::move(object), options.subsamples);
}

nlohmann::ordered_json ToJson(const Options& options, const imaging::DifferenceMeter& meter) {
  nlohmann::ordered_json json{{"volume", options.volume},
                              {"truth", options.truth.empty() ? options.phantom : options.truth},
                              {"regions", nlohmann::ordered_json::object()}};
  for (const imaging::RegionDifference& region : meter.regions()) {
    std::string key = region.name;
    std::replace(key.begin(), key.end(), ' ', '_');
    json["regions"][key] = {{"voxels", region.voxels},
                            {"rmse_hu", region.rmse()},
                            {"bias_hu", region.bias()},
                            {"max_abs_hu", region.largest}};
  }
  return json;
}

absl::Status Compare(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check({options.volume, options.truth}));
  ISO_ASSIGN_OR_RETURN(const formats::Volume volume, formats::ReadVolume(options.volume));
  ISO_RETURN_IF_ERROR(CheckNumbers(options.volume, volume));
  ISO_ASSIGN_OR_RETURN(const std::unique_ptr<Truth> truth, OpenTruth(options));
  const VolumeGrid& grid = volume.grid;
  imaging::DifferenceMeter meter;
  ProgressBar bar("compare", "slices", grid.nz);
  std::vector<float> expected;
  for (int z = 0; z < grid.nz; z += kSlab) {
    VolumeGrid slab = grid;
    slab.nz = std::min(kSlab, grid.nz - z);
    slab.origin = grid.VoxelToWorld(0, 0, z);
    expected.resize(slab.voxels());
    truth->Fill(slab, {expected.data(), slab.shape()});
    meter.Add(grid, z, volume.view().slices(z, slab.nz), {expected.data(), slab.shape()});
    bar.Update(z + slab.nz);
  }
  if (meter.regions().back().voxels == 0) {
    return absl::InvalidArgumentError(absl::StrCat(options.volume, " and ", options.truth,
                                                   " do not overlap; check their origins"));
  }
  std::vector<TableRow> rows = {{"REGION", "VOXELS", "RMSE HU", "BIAS HU", "MAX |DIFF| HU"}};
  for (const imaging::RegionDifference& region : meter.regions()) {
    rows.push_back({region.name, absl::StrCat(region.voxels),
                    absl::StrFormat("%.3f", region.rmse()), absl::StrFormat("%.3f", region.bias()),
                    absl::StrFormat("%.2f", region.largest)});
  }
  return options.json.Report(FormatTable(rows), ToJson(options, meter));
}

}  // namespace

void AddCompareCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command =
      program.Subcommand("compare", "Measure a volume against the truth, in HU");
  command.Footer(
      "Examples:\n"
      "  isocenter compare volume.mha --truth truth.mha\n"
      "  isocenter compare volume.mha --phantom shepp-logan --json accuracy.json\n"
      "RMSE: root of the mean squared difference; BIAS: mean difference.\n"
      "Regions: central slab (|z| <= 10 mm, 60 mm around the axis), spheres of 30 and 60 mm "
      "radius,\n"
      "whole. All are centred at the isocentre. A truth on another grid is interpolated; voxels\n"
      "outside of it count nowhere.");
  command.Add("volume", o.volume, "volume in HU").Required().Type("VOLUME");
  flags::Command truth = command.OneOfThese("Truth");
  truth.Add("--truth", o.truth, "volume in HU").Type("FILE");
  truth.Add("--phantom", o.phantom, "analytic phantom").OneOf(phantom::PhantomNames());
  command.Add("--scale-mm", o.scale_mm, "scale of the phantom (default: that of simulate)")
      .Range(1.0, 1000.0);
  command
      .Add("--subsamples", o.subsamples,
           "points per voxel and axis at which the phantom is averaged; 1 is the voxel centre")
      .ShowDefault()
      .Range(1, 16);
  o.json.AddFlag(command);
  command.Does([options] { return Compare(*options); });
}

}  // namespace isocenter::cli
