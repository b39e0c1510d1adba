#include "client/cli/options/physics_file.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

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
#include "kernels/physics/tungsten.h"

namespace isocenter::cli {
namespace {

constexpr uint64_t kMostBytes = 64 << 10;

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text.empty()) {
      text = absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
    }
  }
  std::string text;
};

double Or(double value, double if_zero) { return value == 0 ? if_zero : value; }

int Saturated(uint32_t value) {
  return static_cast<int>(std::min<uint32_t>(value, std::numeric_limits<int>::max()));
}

absl::StatusOr<physics::Spectrum> ReadSpectrumOf(const v1::SimulatedPhysics& file,
                                                 const std::filesystem::path& directory) {
  switch (file.spectrum_case()) {
    case v1::SimulatedPhysics::kTube: {
      const physics::Tube none;
      return physics::TungstenSpectrum(
          {.kv = file.tube().kv(),
           .anode_angle_deg = Or(file.tube().anode_angle_deg(), none.anode_angle_deg),
           .aluminium_mm = Or(file.tube().aluminium_mm(), none.aluminium_mm),
           .copper_mm = file.tube().copper_mm()});
    }
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
      .dose_flicker = file.dose_flicker(),
      .dose_swing = file.dose_swing(),
      .seed = seed};
  for (const v1::LagTerm& term : file.lag()) model.lag.push_back({term.share(), term.release()});
  return model;
}

absl::StatusOr<PhysicsSetup> SetUp(const v1::SimulatedPhysics& file,
                                   const std::filesystem::path& directory, uint64_t seed) {
  constexpr double kCsiMm = 0.6;
  ISO_ASSIGN_OR_RETURN(const physics::Spectrum spectrum, ReadSpectrumOf(file, directory));
  ISO_ASSIGN_OR_RETURN(physics::Beam beam, physics::Beam::Make(spectrum, Or(file.csi_mm(), kCsiMm),
                                                               physics::TissueMaterials()));
  physics::DetectorModel model = ModelOf(file.detector(), seed);
  ISO_RETURN_IF_ERROR(physics::ValidateDetectorModel(model));
  const double effective_kev = physics::EffectiveKev(beam);
  return PhysicsSetup{std::move(beam), effective_kev, std::move(model)};
}

}  // namespace

absl::StatusOr<PhysicsSetup> ReadPhysicsFile(const std::string& path, uint64_t seed) {
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile("--physics", path, kMostBytes));
  v1::SimulatedPhysics file;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(text, &file)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.text));
  }
  absl::StatusOr<PhysicsSetup> setup = SetUp(file, std::filesystem::path(path).parent_path(), seed);
  if (setup.ok()) return setup;
  return absl::Status(setup.status().code(), absl::StrCat(path, ": ", setup.status().message()));
}

}  // namespace isocenter::cli
