// isocenter compare: how far a volume is from the truth, in Hounsfield units, and what makes one
// doubt that the two can be compared.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/options/phantom_flags.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/progress_bar.h"
#include "client/cli/output/table.h"
#include "client/cli/output/warnings.h"
#include "client/formats/dicom_series.h"
#include "client/formats/volume_input.h"
#include "client/imaging/comparable.h"
#include "client/imaging/difference.h"
#include "client/imaging/likeness.h"
#include "client/imaging/resample.h"
#include "kernels/base/status_macros.h"
#include "kernels/phantom/phantom.h"

namespace isocenter::cli {
namespace {

constexpr int kSlab = 8;  // slices that are compared at once
// Of a region: figures of less say nothing of it, and of less than the other what is part of it.
constexpr double kLeastCovered = 0.5, kNearlyAll = 0.99;

struct Options {
  std::string volume, truth, phantom;
  std::optional<double> scale_mm;
  // Point-sampled, edges that a voxel averages would count as its errors.
  int subsamples = 3;
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
  /// What its values stand for, as a sentence's end.
  virtual std::string Sampling() const = 0;
  /// What the truth itself says of its numbers; empty: nothing.
  virtual const formats::VolumeFacts& facts() const = 0;
  /// What the truth itself gives reason to doubt, beside a volume on this grid.
  virtual std::vector<std::string> Doubts(const Options&, const VolumeGrid&) const { return {}; }
};

class VolumeTruth : public Truth {
 public:
  explicit VolumeTruth(formats::Volume volume) : volume_(std::move(volume)) {}
  void Fill(const VolumeGrid& slab, HostView3<float> out) override {
    const formats::Volume resampled =
        imaging::Resample(volume_, slab, std::numeric_limits<float>::quiet_NaN());
    std::copy(resampled.voxels.begin(), resampled.voxels.end(), out.data());
  }
  std::string Sampling() const override { return "the file's voxels, interpolated"; }
  const formats::VolumeFacts& facts() const override { return volume_.facts; }
  std::vector<std::string> Doubts(const Options& options, const VolumeGrid& grid) const override {
    std::vector<std::string> doubts =
        imaging::GridDifferences(options.volume, grid, options.truth, volume_.grid);
    std::string unit = imaging::DoubtfulHounsfield(options.truth, volume_.voxels);
    if (!unit.empty()) doubts.push_back(std::move(unit));
    return doubts;
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
  std::string Sampling() const override {
    return subsamples_ == 1 ? "the phantom at the voxels' centres: edges within voxels count as "
                              "errors"
                            : absl::StrFormat(
                                  "the phantom's mean over %d x %d x %d points of each "
                                  "voxel",
                                  subsamples_, subsamples_, subsamples_);
  }
  const formats::VolumeFacts& facts() const override { return facts_; }

 private:
  const formats::VolumeFacts facts_{.unit = "HU"};
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

bool IsSeries(const std::string& file) {
  std::error_code ignored;
  return std::filesystem::is_directory(file, ignored);
}

/// The files that do not say what their numbers are.
std::vector<std::string> WithoutUnit(const Options& options, const formats::Volume& volume,
                                     const Truth& truth) {
  std::vector<std::string> files;
  if (volume.facts.unit.empty()) files.push_back(options.volume);
  if (truth.facts().unit.empty()) files.push_back(options.truth);
  return files;
}

/// Of a file that says that its numbers are something else than HU.
std::vector<std::string> FactDoubts(const std::string& file, const formats::VolumeFacts& facts) {
  if (facts.unit.empty() || facts.unit == "HU") return {};
  return {absl::StrCat(file, " says that its unit is '", facts.unit, "'; legal is HU")};
}

/// Two DICOM series whose places are of different frames: nothing says how they lie to each other.
absl::StatusOr<std::string> OtherFrame(const Options& options) {
  if (options.truth.empty() || !IsSeries(options.volume) || !IsSeries(options.truth)) return "";
  ISO_ASSIGN_OR_RETURN(const std::string volume, formats::SeriesFrameOfReference(options.volume));
  ISO_ASSIGN_OR_RETURN(const std::string truth, formats::SeriesFrameOfReference(options.truth));
  if (volume == truth) return "";
  return absl::StrCat(options.volume, " and ", options.truth,
                      " have different Frame of Reference UIDs ('", volume, "', '", truth,
                      "'): their places are compared as if they were of one");
}

/// What makes the figures doubtful, before they are measured.
absl::StatusOr<std::vector<std::string>> Doubts(const Options& options,
                                                const formats::Volume& volume, const Truth& truth) {
  std::vector<std::string> doubts;
  std::string unit = imaging::DoubtfulHounsfield(options.volume, volume.voxels);
  if (!unit.empty()) doubts.push_back(std::move(unit));
  for (std::string& doubt : FactDoubts(options.volume, volume.facts)) doubts.push_back(doubt);
  for (std::string& doubt : FactDoubts(options.truth, truth.facts())) doubts.push_back(doubt);
  for (std::string& doubt : truth.Doubts(options, volume.grid)) doubts.push_back(std::move(doubt));
  ISO_ASSIGN_OR_RETURN(std::string frame, OtherFrame(options));
  if (!frame.empty()) doubts.push_back(std::move(frame));
  return doubts;
}

/// Of the volume as a whole there are, however little has a truth: it is what was asked about.
bool HasFigures(const imaging::RegionDifference& region) {
  return region.name == "whole" || region.covered() >= kLeastCovered;
}

/// Of a volume most of which has no truth.
std::string PartlyCompared(const Options& options, int64_t compared, int64_t all) {
  if (2 * compared >= all) return "";
  return absl::StrCat("only ", compared, " of ", all, " voxels of ", options.volume, " lie within ",
                      options.truth, "; the others count nowhere");
}

/// Of a volume of another phantom, or of one of another size.
std::string OtherPhantom(const Options& options, const imaging::Likeness& likeness) {
  const double wrong = likeness.Wrong();
  if (options.phantom.empty() || wrong <= imaging::Likeness::kMostWrong) return "";
  return absl::StrFormat(
      "%s does not look like the phantom %s of --scale-mm %g: outlines or cavities differ by %.0f "
      "%% of what it fills near the isocentre's plane; expected are at most %.0f %%: is it another "
      "phantom, of another size, or one that the detector cuts?",
      options.volume, options.phantom, ScaleMm(options), 100 * wrong,
      100 * imaging::Likeness::kMostWrong);
}

/// "97 %"; of a splinter no more is known than that it is one.
std::string ShareText(double share) {
  return share < 0.01 ? "< 1 %" : absl::StrFormat("%.3g %%", 100 * share);
}

/// Of the regions around the isocentre, of which figures of others are of the whole.
std::string PartlyCovered(const Options& options, const imaging::DifferenceMeter& meter) {
  std::vector<std::string> parts;
  for (const imaging::RegionDifference& region : meter.regions()) {
    if (region.name == "whole" || region.covered() >= kNearlyAll) continue;
    parts.push_back(absl::StrCat(ShareText(region.covered()), " of the ", region.name,
                                 HasFigures(region) ? "" : " (no figures)"));
  }
  if (parts.empty()) return "";
  return absl::StrCat(options.volume, " has ", absl::StrJoin(parts, ", "),
                      "; figures of a part do not compare with those of a whole region");
}

nlohmann::ordered_json ToJson(const Options& options, const formats::Volume& volume,
                              const Truth& truth, const imaging::DifferenceMeter& meter,
                              const std::vector<std::string>& warnings) {
  nlohmann::ordered_json json{
      {"volume", options.volume},
      {"truth", options.truth.empty() ? options.phantom : options.truth},
      {"truth_sampling", truth.Sampling()},
      {"unit", WithoutUnit(options, volume, truth).empty() ? "HU" : "unstated"},
      {"calibration", volume.facts.calibration},
      {"voxels", volume.grid.voxels()},
      {"warnings", warnings},
      {"regions", nlohmann::ordered_json::object()}};
  for (const imaging::RegionDifference& region : meter.regions()) {
    std::string key = region.name;
    std::replace(key.begin(), key.end(), ' ', '_');
    json["regions"][key] = {{"voxels", region.voxels}, {"covered", region.covered()}};
    if (!HasFigures(region)) continue;
    json["regions"][key].update(
        {{"rmse_hu", region.rmse()}, {"bias_hu", region.bias()}, {"max_abs_hu", region.largest}});
  }
  return json;
}

absl::Status Compare(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check({options.volume, options.truth}));
  ISO_ASSIGN_OR_RETURN(const formats::Volume volume, formats::ReadVolume(options.volume));
  ISO_RETURN_IF_ERROR(CheckNumbers(options.volume, volume));
  ISO_ASSIGN_OR_RETURN(const std::unique_ptr<Truth> truth, OpenTruth(options));
  ISO_ASSIGN_OR_RETURN(std::vector<std::string> warnings, Doubts(options, volume, *truth));
  const VolumeGrid& grid = volume.grid;
  imaging::DifferenceMeter meter(grid);
  imaging::Likeness likeness(grid);
  ProgressBar bar("compare", "slices", grid.nz);
  std::vector<float> expected;
  for (int z = 0; z < grid.nz; z += kSlab) {
    VolumeGrid slab = grid;
    slab.nz = std::min(kSlab, grid.nz - z);
    slab.origin = grid.VoxelToWorld(0, 0, z);
    expected.resize(slab.voxels());
    truth->Fill(slab, {expected.data(), slab.shape()});
    meter.Add(z, volume.view().slices(z, slab.nz), {expected.data(), slab.shape()});
    likeness.Add(z, volume.view().slices(z, slab.nz), {expected.data(), slab.shape()});
    bar.Update(z + slab.nz);
  }
  const int64_t compared = meter.regions().back().voxels;
  if (compared == 0) {
    return absl::InvalidArgumentError(absl::StrCat(options.volume, " and ", options.truth,
                                                   " do not overlap; check their origins"));
  }
  std::string partly = PartlyCompared(options, compared, grid.voxels());
  if (!partly.empty()) warnings.push_back(std::move(partly));
  std::string other = OtherPhantom(options, likeness);
  if (!other.empty()) warnings.push_back(std::move(other));
  PrintWarnings(warnings);
  if (const std::string part = PartlyCovered(options, meter); !part.empty()) {
    std::fprintf(stderr, "isocenter: %s\n", part.c_str());
  }
  if (const std::vector<std::string> silent = WithoutUnit(options, volume, *truth);
      !silent.empty()) {
    std::fprintf(stderr,
                 "isocenter: %s %s not say the unit of the numbers; the figures are in HU if they "
                 "are\n",
                 absl::StrJoin(silent, " and ").c_str(), silent.size() == 1 ? "does" : "do");
  }
  std::vector<TableRow> rows = {
      {"REGION", "VOXELS", "COVERED", "RMSE HU", "BIAS HU", "MAX |DIFF| HU"}};
  for (const imaging::RegionDifference& region : meter.regions()) {
    TableRow row = {region.name, absl::StrCat(region.voxels), ShareText(region.covered())};
    if (HasFigures(region)) {
      row.insert(row.end(),
                 {absl::StrFormat("%.3f", region.rmse()), absl::StrFormat("%.3f", region.bias()),
                  absl::StrFormat("%.2f", region.largest)});
    } else {
      row.insert(row.end(), 3, "-");
    }
    rows.push_back(std::move(row));
  }
  std::fprintf(stderr, "isocenter: truth: %s\n", truth->Sampling().c_str());
  return options.json.Report(FormatTable(rows), ToJson(options, volume, *truth, meter, warnings));
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
      "whole. All are centred at the isocentre. COVERED: how much of a region the volume and the\n"
      "truth have; below a half there are no figures. A truth on another grid is interpolated; "
      "voxels\n"
      "outside of it count nowhere. Warned of is what makes figures doubtful: numbers that hardly "
      "are\n"
      "HU, other axes, grids or frames of reference, little that lies within both, another "
      "phantom.");
  command.Add("volume", o.volume, "volume in HU").Required().Type("VOLUME");
  flags::Command truth = command.OneOfThese("Truth");
  truth.Add("--truth", o.truth, "volume in HU").Type("FILE");
  truth.Add("--phantom", o.phantom, "analytic phantom").OneOf(phantom::PhantomNames());
  command.Add("--scale-mm", o.scale_mm, "scale of the phantom (default: that of simulate)")
      .Range(1.0, 1000.0);
  command
      .Add("--subsamples", o.subsamples,
           "points per voxel and axis that the phantom is averaged over; 1, the voxel's centre, "
           "counts edges within voxels as errors")
      .ShowDefault()
      .Range(1, 16);
  o.json.AddFlag(command);
  command.Does([options] { return Compare(*options); });
}

}  // namespace isocenter::cli
