// isocenter reconstruct: an acquisition on disk becomes a volume on disk, without a server.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/commands.h"
#include "client/cli/local_acquisition.h"
#include "client/cli/options/calibrated_acquisition.h"
#include "client/cli/options/simulate_trajectory.h"
#include "client/cli/output/motion_text.h"
#include "client/cli/output/self_calibration_text.h"
#include "client/cli/output/warnings.h"
#include "client/cli/reconstruct/facts.h"
#include "client/cli/reconstruct/fan_beam.h"
#include "client/cli/reconstruct/flag_checks.h"
#include "client/cli/reconstruct/gates.h"
#include "client/cli/reconstruct/new_defects.h"
#include "client/cli/reconstruct/options.h"
#include "client/cli/reconstruct/recipe.h"
#include "client/cli/reconstruct/report.h"
#include "client/cli/reconstruct/self_calibration.h"
#include "client/formats/fan_beam_scan.h"
#include "client/formats/file.h"
#include "client/formats/volume_writer.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/geometry/limited_arc.h"
#include "kernels/geometry/motion_curve.h"
#include "kernels/geometry/patient_position.h"
#include "kernels/geometry/phases/phase_order.h"
#include "kernels/ops/calibration_scope.h"
#include "kernels/recon/completeness/hounsfield_levels.h"
#include "kernels/recon/completeness/whole_scan.h"
#include "kernels/recon/iterative/surroundings.h"
#include "kernels/recon/plan_text.h"
#include "kernels/recon/rings.h"
#include "proto/wire/plausible.h"

namespace isocenter::cli {
namespace {

constexpr int64_t kMib = 1 << 20;
// Water at 120 and at 40 keV has 0.016 and 0.027.
constexpr double kLeastUsualMuWater = 0.015, kMostUsualMuWater = 0.03;

/// What is known of a scan before a frame is read.
struct Scan {
  std::unique_ptr<formats::FrameSource> source;
  recon::Acquisition acquisition;
  PatientPosition position{};
  VolumeGrid grid;
  std::vector<std::string> warnings;
  std::optional<recon::SelfCalibration> self_calibration;
};

absl::StatusOr<VolumeGrid> GridOf(const ReconstructOptions& options,
                                  const recon::Acquisition& acquisition) {
  ISO_ASSIGN_OR_RETURN(const std::optional<VolumeGrid> grid, ChosenGrid(options.acquisition));
  if (grid) return *grid;
  return AutoGrid(acquisition.trajectory, acquisition.detector, options.size);
}

absl::StatusOr<ChosenDevices> OpenDevices(const ReconstructOptions& options) {
  return isocenter::OpenDevices(
      options.backend,
      {.host = {.memory_bytes = options.memory_mib * kMib, .threads = options.threads},
       .own_memory = {.memory_bytes = options.memory_mib * kMib},
       .count = options.devices});
}

absl::StatusOr<PatientPosition> PatientPositionOf(const v1::AcquisitionHeader& header) {
  const std::string& position = header.patient_position();
  return ParsePatientPosition(position.empty() ? "HFS" : position);
}

/// Adds why --mu-water is not what the user may think.
void WarnOfWater(const ReconstructOptions& options, Scan& scan) {
  const double mu = options.fdk.mu_water_per_mm;
  const ops::Calibration* const calibration = scan.acquisition.calibration.get();
  if (calibration != nullptr && calibration->mu_water_per_mm > 0) {
    if (mu == kMuWaterPerMm) return;
    scan.warnings.push_back(
        absl::StrFormat("--mu-water is %g and not used: calibration '%s' has %g", mu,
                        calibration->name, calibration->mu_water_per_mm));
  } else if (mu < kLeastUsualMuWater || mu > kMostUsualMuWater) {
    scan.warnings.push_back(absl::StrFormat(
        "--mu-water is %g; usual is %g to %g, in 1/mm: all HU go by it, and will be wrong if the "
        "beam's is another",
        mu, kLeastUsualMuWater, kMostUsualMuWater));
  }
}

/// Adds why the volume's HU are not those of the room.
void WarnOfHounsfield(const ReconstructOptions& options, Scan& scan) {
  WarnOfWater(options, scan);
  if (scan.acquisition.pixel_type != recon::PixelType::kUint16Counts) return;
  const ops::Calibration* const calibration = scan.acquisition.calibration.get();
  const std::string& mode = scan.source->header().detector_mode();
  if (calibration == nullptr && !mode.empty()) {
    scan.warnings.push_back(
        absl::StrCat("the frames are raw counts of detector mode '", mode,
                     "' and are not corrected; --calibration takes a set of it"));
  } else if (calibration != nullptr && !(calibration->mu_water_per_mm > 0)) {
    scan.warnings.push_back(ops::NoWaterText(calibration->name));
  }
  if (calibration == nullptr) return;
  if (std::string stale = ops::StaleTableText(*calibration, options.scatter); !stale.empty()) {
    scan.warnings.push_back(std::move(stale));
  }
}

absl::StatusOr<Scan> OpenScan(const ReconstructOptions& options) {
  Scan scan;
  ISO_ASSIGN_OR_RETURN(scan.source, OpenAcquisition(options.acquisition));
  scan.warnings = scan.source->warnings();
  ISO_ASSIGN_OR_RETURN(scan.acquisition, CalibratedAcquisition(scan.source->header(),
                                                               options.calibration, scan.warnings));
  WarnOfHounsfield(options, scan);
  ISO_ASSIGN_OR_RETURN(scan.position, PatientPositionOf(scan.source->header()));
  ISO_ASSIGN_OR_RETURN(scan.grid, GridOf(options, scan.acquisition));
  ISO_RETURN_IF_ERROR(ValidateGrid(scan.grid));
  if (!options.acquisition.grid.empty()) {
    for (std::string& doubt : wire::ImplausibleGrid(
             "--grid", scan.grid, scan.acquisition.trajectory, scan.acquisition.detector)) {
      scan.warnings.push_back(std::move(doubt));
    }
  }
  if (!options.rings) return scan;
  if (const absl::Status legal = recon::CheckRingVoxels(scan.grid); !legal.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--rings: ", legal.message()));
  }
  if (auto coarse = recon::CoarseRingsText(scan.acquisition, scan.grid)) {
    scan.warnings.push_back(absl::StrCat("--rings: ", *coarse));
  }
  return scan;
}

/// What fdk cannot do on a limited arc, others can.
absl::Status OthersHelp(const absl::Status& status, const recon::Acquisition& acquisition) {
  if (!FindLimitedArc(acquisition.trajectory, acquisition.detector)) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(),
                                   "; --algorithm os_sart and others begin with nothing and "
                                   "iterate what there is"));
}

absl::Status SmallerSizeHelps(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; choose a smaller --size or --grid"));
}

void PrintPlan(const Plan& plan, std::FILE* file) {
  std::fputs(std::visit([](const auto& made) { return recon::PlanText(made); }, plan).c_str(),
             file);
  std::fflush(file);
}

/// Whether there is room for `volumes` files. Errors: those of CheckFileDestination.
absl::Status CheckRoom(const ReconstructOptions& options, const VolumeGrid& grid, size_t volumes) {
  formats::Destination destination = VolumeDestination(options);
  destination.bytes = volumes * static_cast<uint64_t>(recon::VolumeBytes(grid));
  for (size_t i = 0; i < volumes; ++i) {
    destination.path = GateFile(options.out, options.gating, i);
    ISO_RETURN_IF_ERROR(formats::CheckFileDestination(destination));
  }
  return absl::OkStatus();
}

recon::WholeScan AllOf(const Scan& scan, const LocalFrames& frames) {
  return {scan.acquisition, frames.view(), frames.doses()};
}

/// What the frames as a whole show, under the matrices that the volume is made with.
void WarnOfFrames(const ReconstructOptions& options, const LocalFrames& frames, Scan& scan) {
  recon::FoundInScan in_scan = recon::ScanFindings(AllOf(scan, frames));
  if (in_scan.unchecked_order) {
    std::fprintf(stderr, "isocenter: %s\n", in_scan.unchecked_order->c_str());
  }
  std::vector<std::string>& found = in_scan.texts;
  if (options.motion && in_scan.misfit) {
    found[*in_scan.misfit] += ". This is of the frames before --motion takes anything out";
  }
  std::erase_if(found, [&](const std::string& text) {
    return std::ranges::find(scan.warnings, text) != scan.warnings.end();
  });
  scan.warnings.insert(scan.warnings.end(), found.begin(), found.end());
  PrintWarnings(found);
}

/// Rows that the detector's edge cuts, where nothing continues them.
void WarnOfCutRows(const ReconstructOptions& options, const LocalFrames& frames, Scan& scan) {
  if (options.fdk.truncation != ops::Truncation::kNone || options.complete_rows) return;
  auto cut =
      recon::CutRowsText(AllOf(scan, frames),
                         "; without --truncation cylinder the volume is wrong by tens of per cent");
  if (!cut) return;
  scan.warnings.push_back(*std::move(cut));
  PrintWarnings(std::span(scan.warnings).last(1));
}

/// What lies beyond the voxels of an iterative algorithm.
void WarnOfLargeObject(const Plan& plan, const LocalFrames& frames, Scan& scan) {
  const auto* refinement = std::get_if<recon::RefinementPlan>(&plan);
  if (refinement == nullptr) return;
  const bool alone = refinement->settings.surroundings_factor == 0;
  for (const std::string& text :
       recon::BeyondGridTexts(AllOf(scan, frames), recon::GridWithSurroundings(*refinement),
                              recon::SurroundedGrid(*refinement))) {
    scan.warnings.push_back(absl::StrCat(text, alone ? " (--surroundings 4)" : ""));
    PrintWarnings(std::span(scan.warnings).last(1));
  }
}

absl::Status ReportVolume(const ReconstructOptions& options, const Scan& scan,
                          const std::vector<ops::Device*>& devices, const Outcome& outcome,
                          double seconds) {
  const VolumeGrid& grid = scan.grid;
  nlohmann::ordered_json json =
      ReportOf(options, scan.source->header().frame_count(), grid, devices, seconds);
  json["out"] = options.out;
  json["findings"] = outcome.findings;
  if (scan.self_calibration) {
    json["findings"].insert(json["findings"].begin(), recon::ToText(*scan.self_calibration));
    json["self_calibration"] = SelfCalibrationJson(*scan.self_calibration);
  }
  json["warnings"] = scan.warnings;
  for (const std::string& warning : outcome.warnings) json["warnings"].push_back(warning);
  for (const recon::IterationReport& done : outcome.iterations) {
    nlohmann::ordered_json& entry = json["iterations"].emplace_back(
        nlohmann::ordered_json{{"iteration", done.iteration},
                               {"relative_residual", done.relative_residual},
                               {"seconds", done.seconds}});
    if (done.objective) entry["objective"] = *done.objective;
    if (!done.taken) entry["taken"] = false;
  }
  if (outcome.motion) json["motion"] = MotionJson(*outcome.motion);
  return options.json.Report(
      absl::StrFormat("%dx%dx%d voxels of %.4g mm in %.2f s on %d x %s\n", grid.nx, grid.ny,
                      grid.nz, grid.spacing.x, seconds, devices.size(), devices[0]->description()),
      json);
}

/// One volume of all frames.
absl::Status ReconstructVolume(const ReconstructOptions& options, const Scan& scan,
                               const Plan& plan, const LocalFrames& frames,
                               const std::vector<ops::Device*>& devices) {
  formats::Volume volume{
      .grid = PatientGrid(scan.grid, scan.position),
      .facts = FactsOf(options, scan.source->header(), scan.acquisition, frames)};
  volume.voxels.resize(scan.grid.voxels());
  const HostView3<float> voxels(volume.voxels.data(), scan.grid.shape());
  const absl::Time begin = absl::Now();
  ISO_ASSIGN_OR_RETURN(Outcome outcome, Run(plan, options, devices, frames, voxels));
  if (options.rings) {
    ISO_ASSIGN_OR_RETURN(const recon::RingsTakenOff rings,
                         recon::RemoveRings(scan.acquisition.trajectory, scan.grid, Backends(),
                                            *devices[0], voxels));
    outcome.findings.push_back(recon::ToText(rings));
    std::fprintf(stderr, "isocenter: %s\n", outcome.findings.back().c_str());
  }
  if (auto other = recon::ImplausibleHounsfieldText({volume.voxels.data(), scan.grid.shape()},
                                                    scan.acquisition.pixel_type)) {
    outcome.warnings.push_back(*std::move(other));
    PrintWarnings(std::span(outcome.warnings).last(1));
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  ISO_RETURN_IF_ERROR(formats::WriteVolume(options.out, volume));
  if (!options.poses.empty()) {
    ISO_RETURN_IF_ERROR(formats::WriteText(options.poses, MotionText(outcome.motion->poses)));
  }
  return ReportVolume(options, scan, devices, outcome, seconds);
}

/// Fan beams have a recipe of their own.
absl::Status ReconstructSlices(const ReconstructOptions& options) {
  ISO_RETURN_IF_ERROR(CheckFanBeamFlags(options));
  ISO_RETURN_IF_ERROR(ChosenGrid(options.acquisition).status());
  ISO_ASSIGN_OR_RETURN(const ChosenDevices chosen, OpenDevices(options));
  return ReconstructFanBeamScan(options, *chosen.devices.front());
}

absl::Status Reconstruct(ReconstructOptions options) {
  options.fdk = FdkOf(options);
  if (formats::IsFanBeamScan(options.acquisition.input)) return ReconstructSlices(options);
  ISO_ASSIGN_OR_RETURN(const std::optional<recon::IterativeSettings> iterative,
                       CheckFlags(options));
  ISO_ASSIGN_OR_RETURN(const std::vector<PhaseWindow> windows, WindowsOf(options.gating));
  ISO_ASSIGN_OR_RETURN(Scan scan, OpenScan(options));
  std::vector<float> phases;
  if (!windows.empty()) {
    ISO_ASSIGN_OR_RETURN(phases, PhasesOf(*scan.source));
  }
  ISO_ASSIGN_OR_RETURN(const ChosenDevices chosen, OpenDevices(options));
  std::vector<ops::Device*> devices;
  for (const auto& device : chosen.devices) devices.push_back(device.get());
  absl::StatusOr<Plan> plan = MakePlan(options, scan.acquisition, scan.grid, iterative, devices);
  if (!plan.ok()) return OthersHelp(SmallerSizeHelps(plan.status()), scan.acquisition);
  for (std::string& warning : WarningsOf(*plan, scan.acquisition)) {
    scan.warnings.push_back(std::move(warning));
  }
  if (auto disorder =
          PhaseOrderText(std::vector<std::optional<float>>(phases.begin(), phases.end()))) {
    scan.warnings.push_back(*std::move(disorder));
  }
  PrintWarnings(scan.warnings);
  const GatedScan gated{options,       scan.acquisition, scan.grid, scan.position,
                        scan.warnings, windows,          phases,    iterative};
  ISO_ASSIGN_OR_RETURN(std::vector<Gate> gates, GatesOf(gated));
  for (const Gate& gate : gates) PrintWarnings(gate.warnings);
  if (options.print_plan) PrintPlan(*plan, options.json.progress());
  int64_t frames_bytes = scan.source->frame_bytes() * scan.source->header().frame_count();
  if (!gates.empty()) frames_bytes += GatedBytes(gated);
  ISO_RETURN_IF_ERROR(SmallerSizeHelps(CheckMemory(*plan, frames_bytes, devices)));
  ISO_RETURN_IF_ERROR(CheckRoom(options, scan.grid, std::max<size_t>(1, gates.size())));

  ISO_ASSIGN_OR_RETURN(const auto reference,
                       ReadReference(scan.acquisition, scan.position, options));
  ISO_ASSIGN_OR_RETURN(const LocalFrames frames, LocalFrames::Read(*scan.source));
  scan.warnings.insert(scan.warnings.end(), frames.repairs().begin(), frames.repairs().end());
  PrintWarnings(frames.repairs());
  if (options.find_defects) {
    ISO_ASSIGN_OR_RETURN(scan.acquisition,
                         WithNewDefects(std::move(scan.acquisition), frames.view(),
                                        devices[0]->limits().threads, options.json.progress()));
    plan = MakePlan(options, scan.acquisition, scan.grid, iterative, devices);
    if (!plan.ok()) return plan.status();
  }
  WarnOfCutRows(options, frames, scan);
  WarnOfLargeObject(*plan, frames, scan);
  absl::Status calibrated;
  if (options.self_calibrate) {
    auto found = SelfCalibrate(scan.acquisition, reference.get(), options, frames, *devices[0]);
    calibrated = found.status();
    if (found.ok()) {
      scan.self_calibration = *std::move(found);
      Trajectory& trajectory = scan.acquisition.trajectory;
      trajectory = recon::Corrected(trajectory, scan.acquisition.detector, *scan.self_calibration);
    }
  }
  // What self-calibration has taken out is no warning any more.
  WarnOfFrames(options, frames, scan);
  ISO_RETURN_IF_ERROR(calibrated);
  if (scan.self_calibration) {
    if (scan.self_calibration->found()) {
      plan = MakePlan(options, scan.acquisition, scan.grid, iterative, devices);
    }
    if (!plan.ok()) return plan.status();
    if (!options.matrices_out.empty()) {
      ISO_RETURN_IF_ERROR(
          formats::WriteText(options.matrices_out, TrajectoryCsv(scan.acquisition.trajectory)));
    }
  }
  return gates.empty() ? ReconstructVolume(options, scan, *plan, frames, devices)
                       : ReconstructGates(gated, gates, *plan, frames, devices);
}

}  // namespace

void AddReconstructCommand(flags::Command program) {
  flags::Command command = program.Subcommand(
      "reconstruct", "Reconstruct an acquisition on disk on this machine, without a server");
  command.Footer(
      "Examples:\n"
      "  isocenter reconstruct head --out head.mha --grid 256x256x256 --voxel-mm 0.9\n"
      "  isocenter reconstruct head --out smooth.nii --window hann --cutoff 0.7\n"
      "  isocenter reconstruct raw --out corrected.mha --calibration room3.isocal\n"
      "  isocenter reconstruct head --out sart.mha --algorithm os_sart --iterations 10 --curve "
      "curve.png\n"
      "  isocenter reconstruct head --out sharp.mha --self-calibrate --matrices-out arm.csv\n"
      "  isocenter reconstruct head --out sharp.mha --self-calibrate --reference earlier.mha\n"
      "  isocenter reconstruct heart --out rest.mha --phase 0.8 --phase-width 0.2\n"
      "  isocenter reconstruct heart --out beat.mha --gates 8 --algorithm asd_pocs --prior 3\n"
      "INPUT may be a fan-beam scan, too: a directory with fan_beam.json.\n"
      "On an arc that is too short for fdk (limited angle) iterative algorithms begin with "
      "nothing, and say so.");
  const auto options = std::make_shared<ReconstructOptions>();
  AddReconstructFlags(command, *options);
  command.Does([options] { return Reconstruct(*options); });
}

}  // namespace isocenter::cli
