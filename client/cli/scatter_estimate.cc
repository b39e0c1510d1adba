#include "client/cli/scatter_estimate.h"

#include <cmath>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/options/phantom_flags.h"
#include "client/cli/output/progress_bar.h"
#include "client/flags/command.h"
#include "client/formats/destination.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/status_macros.h"
#include "kernels/photon_engines.h"
#include "kernels/physics/scatter/simulation.h"

namespace isocenter::cli {
namespace {

uint32_t Checksum(std::span<const double> numbers, uint32_t before = 0) {
  return ExtendCrc32c(before, std::as_bytes(numbers));
}

formats::ScatterKey KeyOf(const ScatteringScan& scan, const physics::ScatterVolume& volume,
                          std::span<const int> frames) {
  const double screen[] = {scan.setup.csi_mm};
  const Detector& detector = scan.detector;
  const double panel[] = {static_cast<double>(detector.columns), static_cast<double>(detector.rows),
                          detector.pitch_u_mm, detector.pitch_v_mm,
                          static_cast<double>(scan.trajectory.size())};
  formats::ScatterKey key{.object = volume.Checksum(),
                          .beam = Checksum(scan.setup.spectrum.kev, Checksum(screen)),
                          .geometry = Checksum(panel)};
  key.beam = Checksum(scan.setup.spectrum.photons, key.beam);
  key.beam = Checksum(scan.row_intensity, key.beam);
  for (int frame : frames) key.geometry = Checksum(scan.trajectory[frame].m, key.geometry);
  return key;
}

/// What of a stored file is not what is wanted.
absl::Status CheckFits(const std::string& path, const formats::StoredScatter& stored,
                       const formats::ScatterKey& key, const physics::ScatterSettings& wanted) {
  std::vector<std::string> differences;
  if (stored.key.object != key.object) differences.push_back("another object");
  if (stored.key.beam != key.beam) differences.push_back("another spectrum or screen");
  if (stored.key.geometry != key.geometry) differences.push_back("other matrices or detector");
  const auto compare = [&](absl::string_view name, int64_t is, int64_t expected) {
    if (is != expected) {
      differences.push_back(absl::StrCat(name, " of ", is, ", not ", expected));
    }
  };
  compare("photons_per_view", stored.photons_per_view, wanted.photons_per_view);
  compare("views", stored.views.views, wanted.views);
  compare("columns", stored.views.columns, wanted.columns);
  compare("rows", stored.views.rows, wanted.rows);
  if (differences.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("scatter.file ", path, " is of another scan: it has ",
                   absl::StrJoin(differences, ", "), "; remove it or name another"));
}

absl::StatusOr<formats::StoredScatter> FollowPhotons(const physics::ScatterSimulation& simulation,
                                                     const physics::ScatterSettings& settings,
                                                     const ScatteringScan& scan, ThreadPool& pool,
                                                     const Interrupt& interrupt) {
  formats::StoredScatter scatter{.photons_per_view = settings.photons_per_view};
  scatter.views = {settings.views, settings.columns, settings.rows, {}};
  ProgressBar bar("scatter", "views", settings.views);
  double squares = 0;
  std::unique_ptr<physics::PhotonEngine> engine;
  if (scan.backend != "cpu") {
    ISO_ASSIGN_OR_RETURN(
        engine, OpenPhotonEngine(scan.backend, {.memory_bytes = scan.memory_bytes}, simulation));
  }
  const std::vector<int> frames =
      physics::ScatterFrames(settings.views, static_cast<int>(scan.trajectory.size()));
  for (int view = 0; view < settings.views; ++view) {
    if (interrupt.happened()) {
      return flags::Interrupted("interrupted; no acquisition was written");
    }
    const physics::ScatterSimulation::Settings of_view{.photons = settings.photons_per_view,
                                                       .columns = settings.columns,
                                                       .rows = settings.rows,
                                                       .seed = scan.setup.detector.seed,
                                                       .view = static_cast<uint64_t>(view),
                                                       .row_intensity = scan.row_intensity};
    const ProjectionMatrix& matrix = scan.trajectory[frames[view]];
    ISO_ASSIGN_OR_RETURN(const physics::ScatterImage image,
                         engine ? simulation.View(matrix, scan.detector, of_view, *engine)
                                : simulation.View(matrix, scan.detector, of_view, pool));
    for (const physics::Reading& reading : image.readings) {  // as precise as a file
      scatter.views.readings.push_back(
          {static_cast<float>(reading.signal), static_cast<float>(reading.variance)});
    }
    squares += image.relative_error * image.relative_error / settings.views;
    bar.Update(view + 1);
  }
  scatter.relative_error = std::sqrt(squares);
  return scatter;
}

}  // namespace

absl::StatusOr<formats::StoredScatter> EstimateScatter(const ScatteringScan& scan, ThreadPool& pool,
                                                       const Interrupt& interrupt) {
  const PhysicsSetup& setup = scan.setup;
  const int frames = static_cast<int>(scan.trajectory.size());
  physics::ScatterSettings settings = setup.scatter->settings;
  settings.views = std::min(settings.views, frames);
  physics::ScatterVolume volume(*scan.exposed.object, kMuWaterPerMm,
                                physics::TissueMap(setup.effective_kev, scan.exposed.metal), pool);
  const formats::ScatterKey key =
      KeyOf(scan, volume, physics::ScatterFrames(settings.views, frames));
  const std::string& path = setup.scatter->file;
  std::error_code unreadable;  // is said when it is opened
  if (!path.empty() && (std::filesystem::exists(path, unreadable) || unreadable)) {
    ISO_ASSIGN_OR_RETURN(formats::StoredScatter stored, formats::ReadScatter(path));
    ISO_RETURN_IF_ERROR(CheckFits(path, stored, key, settings));
    return stored;
  }
  if (!path.empty()) {
    ISO_RETURN_IF_ERROR(formats::CheckFileDestination({.flag = "scatter.file", .path = path}));
  }
  ISO_ASSIGN_OR_RETURN(
      const physics::ScatterSimulation simulation,
      physics::ScatterSimulation::Make(setup.spectrum, setup.csi_mm, physics::TissueMaterials(),
                                       std::move(volume), pool));
  ISO_ASSIGN_OR_RETURN(formats::StoredScatter scatter,
                       FollowPhotons(simulation, settings, scan, pool, interrupt));
  scatter.key = key;
  if (!path.empty()) ISO_RETURN_IF_ERROR(formats::WriteScatter(path, scatter));
  return scatter;
}

}  // namespace isocenter::cli
