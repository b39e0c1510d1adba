#include "client/cli/options/physics_file.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "isocenter/v1/physics.pb.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "kernels/physics/spectrum.h"
#include "kernels/physics/tissue.h"
#include "proto/text/message_text.h"

namespace isocenter::cli {
namespace {

constexpr uint64_t kMostBytes = 64 << 10;

double Or(double value, double if_zero) { return value == 0 ? if_zero : value; }

int Saturated(uint32_t value) {
  return static_cast<int>(std::min<uint32_t>(value, std::numeric_limits<int>::max()));
}

physics::Tube TubeOf(const v1::TungstenTube& file) {
  const physics::Tube none;
  return {.kv = file.kv(),
          .anode_angle_deg = Or(file.anode_angle_deg(), none.anode_angle_deg),
          .aluminium_mm = Or(file.aluminium_mm(), none.aluminium_mm),
          .copper_mm = file.copper_mm()};
}

absl::StatusOr<physics::Blur> BlurOf(const v1::SimulatedBlur& file) {
  const physics::Blur blur{
      .focal_spot_mm = file.focal_spot_mm(),
      .exposure_share = file.exposure_share(),
      .samples = file.samples() == 0 ? physics::Blur().samples : Saturated(file.samples())};
  ISO_RETURN_IF_ERROR(physics::ValidateBlur(blur));
  return blur;
}

absl::StatusOr<physics::Spectrum> ReadSpectrumOf(const v1::SimulatedPhysics& file,
                                                 const std::filesystem::path& directory) {
  switch (file.spectrum_case()) {
    case v1::SimulatedPhysics::kTube:
      return physics::TungstenSpectrum(TubeOf(file.tube()));
    case v1::SimulatedPhysics::kSpectrumFile:
      return physics::ReadSpectrum("spectrum_file", directory / file.spectrum_file());
    case v1::SimulatedPhysics::SPECTRUM_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("spectrum is missing; legal is tube or spectrum_file");
}

physics::DetectorModel ModelOf(const v1::SimulatedDetector& file, uint64_t seed) {
  const physics::DetectorModel none;
  physics::DetectorModel model{
      .signal_counts = Or(file.signal_counts(), none.signal_counts),
      .photons = file.photons(),
      .electronic_counts = file.electronic_counts(),
      .saturation_counts = Or(file.saturation_counts(), none.saturation_counts),
      .offset_counts = file.offset_counts(),
      .offset_spread_counts = file.offset_spread_counts(),
      .gain_spread = file.gain_spread(),
      .defective_pixels = file.defective_pixels(),
      .dead_lines = Saturated(file.dead_lines()),
      .dead_clusters = Saturated(file.dead_clusters()),
      .cluster_radius_px = Or(file.cluster_radius_px(), none.cluster_radius_px),
      .glare_share = file.glare_share(),
      .glare_length_mm = Or(file.glare_length_mm(), none.glare_length_mm),
      .dose = Or(file.dose(), none.dose),
      .dose_flicker = file.dose_flicker(),
      .dose_swing = file.dose_swing(),
      .seed = seed};
  for (const v1::LagTerm& term : file.lag()) {
    model.lag.push_back({term.share(), term.release(), term.capacity_counts()});
  }
  return model;
}

absl::StatusOr<ScatterChoice> ScatterOf(const v1::SimulatedScatter& file,
                                        const std::filesystem::path& directory) {
  const physics::ScatterSettings none;
  const auto or_default = [](uint64_t value, int64_t if_zero) {
    return value == 0 ? if_zero
                      : static_cast<int64_t>(
                            std::min<uint64_t>(value, std::numeric_limits<int64_t>::max()));
  };
  const auto small = [&](uint32_t value, int if_zero) {
    return value == 0 ? if_zero : Saturated(value);
  };
  ScatterChoice choice{
      .settings = {.photons_per_view = or_default(file.photons_per_view(), none.photons_per_view),
                   .views = small(file.views(), none.views),
                   .columns = small(file.columns(), none.columns),
                   .rows = small(file.rows(), none.rows),
                   .grid = {.primary = Or(file.grid_primary(), none.grid.primary),
                            .scatter = Or(file.grid_scatter(), none.grid.scatter)}},
      .file = file.file().empty() ? "" : (directory / file.file()).string()};
  ISO_RETURN_IF_ERROR(physics::ValidateScatterSettings(choice.settings));
  return choice;
}

absl::StatusOr<physics::BowTie> BowTieOf(const v1::SimulatedPhysics& file) {
  if (file.has_scatter()) {
    return absl::InvalidArgumentError(
        "bow_tie and scatter are given; legal is one of them: scatter knows no bow-tie");
  }
  physics::BowTieProfile profile{
      .material = file.bow_tie().material(), .points = {}, .sway_deg = file.bow_tie().sway_deg()};
  for (const v1::SimulatedBowTie::Point& point : file.bow_tie().point()) {
    profile.points.push_back({.fan_deg = point.fan_deg(), .mm = point.mm()});
  }
  return physics::BowTie::Make(std::move(profile));
}

/// The middle of the filter is part of the spectrum.
absl::StatusOr<physics::Spectrum> BehindMiddle(const physics::BowTie& bow_tie,
                                               physics::Spectrum spectrum) {
  bow_tie.FilterByMiddle(spectrum.kev, spectrum.photons);
  return physics::MakeSpectrum(std::move(spectrum.kev), std::move(spectrum.photons));
}

absl::StatusOr<PhysicsSetup> SetUp(const v1::SimulatedPhysics& file,
                                   const std::filesystem::path& directory, uint64_t seed) {
  constexpr double kCsiMm = 0.6;
  const double csi_mm = Or(file.csi_mm(), kCsiMm);
  ISO_ASSIGN_OR_RETURN(physics::Spectrum spectrum, ReadSpectrumOf(file, directory));
  std::vector<physics::Material> materials = physics::TissueMaterials();
  std::optional<physics::BowTie> bow_tie;
  if (file.has_bow_tie()) {
    ISO_ASSIGN_OR_RETURN(bow_tie, BowTieOf(file));
    ISO_ASSIGN_OR_RETURN(spectrum, BehindMiddle(*bow_tie, std::move(spectrum)));
    materials.push_back(bow_tie->material());
  }
  ISO_ASSIGN_OR_RETURN(physics::Beam beam,
                       physics::Beam::Make(spectrum, csi_mm, std::move(materials)));
  physics::DetectorModel model = ModelOf(file.detector(), seed);
  ISO_RETURN_IF_ERROR(physics::ValidateDetectorModel(model));
  std::optional<ScatterChoice> scatter;
  if (file.has_scatter()) {
    ISO_ASSIGN_OR_RETURN(scatter, ScatterOf(file.scatter(), directory));
  }
  PhysicsSetup setup{.spectrum = std::move(spectrum),
                     .csi_mm = csi_mm,
                     .beam = std::move(beam),
                     .detector = std::move(model),
                     .scatter = std::move(scatter),
                     .bow_tie = std::move(bow_tie)};
  setup.tells_dose = file.detector().tells_dose();
  setup.effective_kev = physics::EffectiveKev(setup.beam);
  if (file.tube().heel()) setup.heel = TubeOf(file.tube());
  ISO_ASSIGN_OR_RETURN(setup.blur, BlurOf(file.blur()));
  return setup;
}

}  // namespace

absl::StatusOr<PhysicsSetup> ReadPhysicsFile(const std::string& path, uint64_t seed) {
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile("--physics", path, kMostBytes));
  v1::SimulatedPhysics file;
  ISO_RETURN_IF_ERROR(text::ParseMessage(text, path, "docs/physics.md", file));
  absl::StatusOr<PhysicsSetup> setup = SetUp(file, std::filesystem::path(path).parent_path(), seed);
  if (setup.ok()) return setup;
  return absl::Status(setup.status().code(), absl::StrCat(path, ": ", setup.status().message()));
}

}  // namespace isocenter::cli
