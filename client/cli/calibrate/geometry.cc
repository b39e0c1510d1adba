// isocenter calibrate geometry: the matrices of an arm, from a sweep of a phantom of small balls.
#include "proto/wire/geometry.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/calibrate/commands.h"
#include "client/cli/calibrate/geometry_report.h"
#include "client/cli/calibrate/pictures.h"
#include "client/cli/calibrate/set_file.h"
#include "client/cli/calibrate/sweep_source.h"
#include "client/cli/options/overwrite_flag.h"
#include "client/cli/options/simulate_trajectory.h"
#include "client/cli/output/table.h"
#include "client/cli/output/warnings.h"
#include "client/formats/destination.h"
#include "client/formats/file.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/thread_pool.h"
#include "kernels/calibrate/geometry/geometry_fit.h"
#include "kernels/geometry/orbits/trajectory_alignment.h"
#include "proto/wire/calibration.h"

namespace isocenter::cli {
namespace {

using calibrate::GeometryFit;
using calibrate::GeometryModel;
using calibrate::GeometryWorld;

struct Options {
  std::string sweep, beads, model = "auto", world = "phantom";
  std::string matrices;
  SetOutput output;
  std::string station, mode, name, description;
  int valid_days = 0;
};

absl::Status CheckDestinations(const Options& options) {
  if (options.matrices.empty() && options.output.out.empty()) {
    return absl::InvalidArgumentError(
        "neither --matrices nor --out is given; legal is one of them, or both");
  }
  if (!options.output.out.empty() &&
      (options.station.empty() || options.mode.empty() || options.valid_days == 0)) {
    return absl::InvalidArgumentError("--out needs --station, --mode and --valid-days");
  }
  const std::vector<std::filesystem::path> inputs = {options.sweep, options.beads};
  for (const auto& [flag, path, ending] : {std::tuple("--matrices", &options.matrices, ".csv"),
                                           {"--out", &options.output.out, ""},
                                           {"--picture", &options.output.picture, ".png"}}) {
    if (path->empty()) continue;
    std::vector<std::string> endings;
    if (*ending != '\0') endings.emplace_back(ending);
    const bool replaces = path == &options.output.picture || options.output.overwrite;
    ISO_RETURN_IF_ERROR(formats::CheckFileDestination(
        {.flag = flag, .path = *path, .endings = endings, .replaces = replaces, .inputs = inputs}));
  }
  return options.output.json.Check(inputs);
}

/// All of a set but its matrices.
v1::CalibrationSet LabelOf(const Options& options, const Detector& detector) {
  const absl::Time now = absl::Now();
  v1::CalibrationSet label;
  label.set_name(options.name.empty()
                     ? absl::StrCat(options.station, "_geometry_",
                                    absl::FormatTime("%Y%m%dT%H%M%S", now, absl::UTCTimeZone()))
                     : options.name);
  label.set_station_name(options.station);
  label.set_detector_mode(options.mode);
  label.set_description(options.description);
  *label.mutable_detector() = wire::ToProto(detector);
  wire::SetTime(now, *label.mutable_created());
  wire::SetTime(now, *label.mutable_valid_from());
  wire::SetTime(now + absl::Hours(24) * options.valid_days, *label.mutable_valid_until());
  return label;
}

/// Frames are decoded one by one and measured beside each other.
absl::Status AddFrames(SweepSource& source, calibrate::GeometrySweep& sweep, ThreadPool& pool) {
  const auto batch = static_cast<size_t>(2 * pool.threads());
  std::vector<std::vector<uint16_t>> counts;
  int first = 0;
  const auto measure = [&] {
    pool.ParallelFor(static_cast<int64_t>(counts.size()),
                     [&](int64_t i, int) { sweep.Add(first + static_cast<int>(i), counts[i]); });
    first += static_cast<int>(counts.size());
    counts.clear();
  };
  ISO_RETURN_IF_ERROR(source.Read(1, [&](int frame, std::span<const uint16_t> frame_counts) {
    counts.emplace_back(frame_counts.begin(), frame_counts.end());
    const bool last = frame + 1 == source.frames();
    if (!sweep.oriented() || last || counts.size() == batch) measure();
    return absl::OkStatus();
  }));
  return absl::OkStatus();
}

void PrintModel(const GeometryFit& fit, std::FILE* file) {
  std::fprintf(file, "model %s: residuals for each degree of freedom %.4f px with frames alone%s\n",
               ModelName(fit.model), fit.rms_frames_px,
               fit.rms_arm_px == 0
                   ? ""
                   : absl::StrFormat(", %.4f px with a smooth arm", fit.rms_arm_px).c_str());
  for (const std::string& text : Observability(fit)) std::fprintf(file, "%s\n", text.c_str());
  PrintWarnings(fit.warnings);
}

/// Distances of source and origin, and of source and detector: means over a trajectory.
struct Distances {
  double origin_mm = 0, detector_mm = 0;
};

absl::StatusOr<Distances> DistancesOf(const SweepSource& source) {
  Distances distances;
  for (const ProjectionMatrix& matrix : source.trajectory()) {
    ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
    distances.origin_mm += Norm(camera.source) / source.frames();
    distances.detector_mm += camera.focal_u_px * source.detector().pitch_u_mm / source.frames();
  }
  return distances;
}

/// Adds what the matrices found and those of the sweep's own header say differently, and what the
/// header says: a table of another scale, of the other hand or upside down explains all shadows.
absl::Status CompareWithSweepsOwn(const SweepSource& source, GeometryFit& fit) {
  ISO_ASSIGN_OR_RETURN(const Distances own, DistancesOf(source));
  ISO_ASSIGN_OR_RETURN(const TrajectoryAlignment alignment,
                       Align(source.trajectory(), fit.matrices));
  for (const std::string& text : Misalignments(alignment, "the sweep's own")) {
    fit.warnings.push_back(absl::StrCat(
        "the matrices that were found ", text,
        ". Is the table of balls of this phantom, in millimetres, with all signs and columns "
        "right, and did it stand upright, along the patient's axes? It is as it should be only "
        "where the sweep's matrices are nominal, or of another read-out"));
  }
  if (100 * std::abs(fit.source_to_detector_mm / own.detector_mm - 1) > kMostFocalPercent) {
    fit.warnings.push_back(absl::StrFormat(
        "source to detector is %.1f mm, and %.1f mm by the sweep's own matrices; expected is "
        "within %g %%: are the header's pitches right, or are the sweep's matrices nominal?",
        fit.source_to_detector_mm, own.detector_mm, kMostFocalPercent));
  }
  fit.figures.push_back(
      {"source to detector, mean", fit.source_to_detector_mm, "mm",
       absl::StrFormat("within %g %% of %.1f", kMostFocalPercent, own.detector_mm)});
  fit.figures.push_back({"source to origin, mean", fit.source_to_origin_mm, "mm"});
  fit.figures.push_back({"source to origin, by the sweep's own matrices", own.origin_mm, "mm"});
  if (alignment.scale) {
    fit.figures.push_back({"source's path, against the sweep's own", 100 * (*alignment.scale - 1),
                           "%", calibrate::Within(kMostPathPercent)});
  }
  return absl::OkStatus();
}

absl::Status Calibrate(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckDestinations(options));
  ISO_ASSIGN_OR_RETURN(BeadTable table, FindBeadTable("--beads", options.beads));
  ISO_ASSIGN_OR_RETURN(SweepSource source, SweepSource::Open("--sweep", options.sweep));
  v1::CalibrationSet set = LabelOf(options, source.detector());
  if (!options.output.out.empty()) {
    ISO_RETURN_IF_ERROR(wire::CheckCalibrationLabel(set));
    ISO_RETURN_IF_ERROR(CheckLabel(set, source, "--station and --mode"));
  }
  ISO_ASSIGN_OR_RETURN(const std::unique_ptr<calibrate::GeometrySweep> sweep,
                       calibrate::GeometrySweep::Make(std::move(table), source.detector(),
                                                      source.i0_counts(), source.frames()));
  ThreadPool pool(UsableCores());
  ISO_RETURN_IF_ERROR(AddFrames(source, *sweep, pool));
  ISO_ASSIGN_OR_RETURN(GeometryFit fit,
                       sweep->Fit({.model = options.model == "auto"     ? GeometryModel::kAuto
                                            : options.model == "frames" ? GeometryModel::kFrames
                                                                        : GeometryModel::kArm,
                                   .world = options.world == "phantom" ? GeometryWorld::kPhantom
                                                                       : GeometryWorld::kOrbit},
                                  pool));
  ISO_RETURN_IF_ERROR(CompareWithSweepsOwn(source, fit));
  if (!options.matrices.empty()) {
    ISO_RETURN_IF_ERROR(formats::WriteText(options.matrices, TrajectoryCsv(fit.matrices)));
  }
  const formats::GrayImage picture = PictureOf(fit);
  const SetOutput& output = options.output;
  PrintModel(fit, output.json.progress());
  if (output.out.empty()) {
    if (!output.picture.empty()) ISO_RETURN_IF_ERROR(formats::WritePng(output.picture, picture));
    return output.json.Report(FigureTable(fit.figures), GeometryReport(fit));
  }
  wire::SetGeometry(fit.matrices, set);
  return WriteSet(std::move(set), {"geometry", fit.figures, picture}, output, GeometryReport(fit));
}

}  // namespace

void AddCalibrateGeometryCommand(flags::Command calibrate) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command = calibrate.Subcommand(
      "geometry", "Projection matrices of an arm, from a sweep of a phantom of small balls");
  command.Footer(
      "Example:\n"
      "  isocenter calibrate geometry --sweep beads --beads helix --matrices arm.csv \\\n"
      "      --picture arm.png --json arm.json\n"
      "  isocenter calibrate geometry --sweep beads --beads balls.txt --station room3 \\\n"
      "      --mode bin2 --valid-days 90 --out room3_geometry.isocal\n"
      "A table has x, y, z and diameter in mm on each line. docs/geometry.md says what the phantom "
      "must be,\nin which frame the matrices are, and when they are good enough.");
  command
      .Add("--sweep", o.sweep,
           "acquisition of the phantom; of its matrices only distances, hand and turn are held "
           "against those found")
      .Required()
      .Type("PATH");
  command.Add("--beads", o.beads, "the phantom: helix, rings, or a table of its balls")
      .Required()
      .Type("helix|rings|FILE");
  command
      .Add("--model", o.model,
           "frames: each frame for itself; arm: focal length and principal point change smoothly "
           "over the sweep; auto: arm where it explains the balls as well as frames does")
      .OneOf({"auto", "frames", "arm"})
      .ShowDefault();
  command
      .Add("--world", o.world,
           "frame of the matrices: the phantom's own, or the orbit's (z is its axis, the origin "
           "where the rays of the detector's middle meet)")
      .OneOf({"phantom", "orbit"})
      .ShowDefault();
  command.Add("--matrices", o.matrices, "write the matrices to this .csv").Type("FILE");
  command.Add("--picture", o.output.picture, "write residuals and path of the source to this .png")
      .Type("FILE");
  command.Add("--out", o.output.out, "write a calibration set, for `isocenter calibrations add`")
      .Type("FILE");
  AddOverwriteFlag(command, o.output.overwrite);
  command.Add("--station", o.station, "station name, as in the acquisitions' headers").Identifier();
  command.Add("--mode", o.mode, "binning, read-out and frame rate, in the station's words")
      .Identifier();
  command.Add("--valid-days", o.valid_days, "how long the set is valid, from now").Range(1, 3650);
  command.Add("--name", o.name, "of the set (default: station and time)").Identifier();
  command.Add("--description", o.description, "who measured, and what with");
  o.output.json.AddFlag(command);
  command.Does([options] { return Calibrate(*options); });
}

}  // namespace isocenter::cli
