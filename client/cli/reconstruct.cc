// isocenter reconstruct: an acquisition on disk becomes a volume on disk, without a server.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/cli/commands.h"
#include "client/cli/fan_beam.h"
#include "client/cli/gated/reconstruct_gates.h"
#include "client/cli/local_acquisition.h"
#include "client/cli/new_defects.h"
#include "client/cli/options/acquisition_flags.h"
#include "client/cli/options/calibrated_acquisition.h"
#include "client/cli/options/iterative_flags.h"
#include "client/cli/options/phantom_flags.h"
#include "client/cli/output/convergence_file.h"
#include "client/cli/output/iteration_printer.h"
#include "client/cli/output/job_text.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/motion_text.h"
#include "client/cli/output/table.h"
#include "client/flags/wrong_usage.h"
#include "client/formats/destination.h"
#include "client/formats/fan_beam_scan.h"
#include "client/formats/file.h"
#include "client/formats/volume_writer.h"
#include "client/imaging/convergence_plot.h"
#include "kernels/backends.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/geometry/limited_arc.h"
#include "kernels/geometry/motion_curve.h"
#include "kernels/geometry/patient_position.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/motion/compensation.h"
#include "kernels/recon/motion/find_motion.h"
#include "kernels/recon/plan_text.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/rings.h"
#include "kernels/recon/second_pass/second_pass.h"
#include "proto/wire/geometry.h"

namespace isocenter::cli {
namespace {

constexpr int64_t kMib = 1 << 20;

struct Options {
  AcquisitionFlags acquisition;
  std::string calibration;
  std::string out;
  int size = 256;
  std::string window = "ram-lak";
  std::string truncation = "none";
  recon::FdkSettings fdk{.mu_water_per_mm = kMuWaterPerMm};
  std::string precision = "exact";
  std::string algorithm = "fdk";
  IterativeFlags iterative;
  GatingFlags gating;
  std::string curve;
  std::string fan_beam_kernel = "exact";
  int fan_beam_decrease = 0;
  std::string backend;
  int devices = 1;
  int threads = 0;
  int64_t memory_mib = 0;
  double deadline_seconds = 0;
  bool print_plan = false;
  bool find_defects = false;
  bool metal = false;
  bool bone = false;
  bool rings = false;
  bool stripes = false;
  bool scatter = false;
  bool cone_beam = false;
  bool motion = false;
  std::string poses;
  JsonOutput json;
};

/// What came of it beside the volume.
struct Outcome {
  std::vector<recon::IterationReport> iterations;
  std::vector<std::string> findings;
  std::optional<recon::FoundMotion> motion;
};

ops::FilterWindow WindowNamed(const std::string& name) {
  if (name == "shepp-logan") return ops::FilterWindow::kSheppLogan;
  if (name == "cosine") return ops::FilterWindow::kCosine;
  if (name == "hamming") return ops::FilterWindow::kHamming;
  if (name == "hann") return ops::FilterWindow::kHann;
  return ops::FilterWindow::kRamLak;
}

ops::Truncation TruncationNamed(const std::string& name) {
  if (name == "mirror") return ops::Truncation::kMirror;
  if (name == "cylinder") return ops::Truncation::kCylinder;
  if (name == "atract") return ops::Truncation::kAtract;
  return ops::Truncation::kNone;
}

absl::StatusOr<VolumeGrid> GridOf(const Options& options, const recon::Acquisition& acquisition) {
  ISO_ASSIGN_OR_RETURN(const std::optional<VolumeGrid> grid, ChosenGrid(options.acquisition));
  if (grid) return *grid;
  return AutoGrid(acquisition.trajectory, acquisition.detector, options.size);
}

void PrintReport(const recon::IterationReport& report, std::FILE* file) {
  const std::string objective =
      report.objective ? absl::StrFormat("  objective %.6g", *report.objective) : "";
  std::fprintf(file, "iteration %3d  residual %.3e%s  %.2f s\n", report.iteration,
               report.relative_residual, objective.c_str(), report.seconds);
  std::fflush(file);
}

/// What is known before a frame is read, of filtered back-projection, once or twice, or of
/// iterations.
using Plan = std::variant<recon::ReconstructionPlan, recon::SecondPassPlan, recon::RefinementPlan>;

recon::SecondPassSettings SecondPassOf(const Options& options) {
  recon::SecondPassSettings settings{.stripes = options.stripes,
                                     .scatter = options.scatter,
                                     .bone = options.bone,
                                     .cone_beam = options.cone_beam};
  if (options.metal) settings.metal.emplace();
  return settings;
}

absl::StatusOr<Plan> MakePlan(const Options& options, const recon::Acquisition& acquisition,
                              const VolumeGrid& grid,
                              const std::optional<recon::IterativeSettings>& iterative,
                              const std::vector<ops::Device*>& devices) {
  if (iterative) {
    return recon::MakeRefinementPlan(acquisition, grid, options.fdk, *iterative, Backends(),
                                     devices);
  }
  if (options.metal || options.bone || options.stripes || options.scatter || options.cone_beam) {
    return recon::MakeSecondPassPlan(acquisition, grid, options.fdk, SecondPassOf(options),
                                     Backends(), devices);
  }
  return recon::MakePlan(acquisition, grid, options.fdk, Backends(), devices,
                         recon::Arrival::kComplete);
}

/// Whether this machine has the memory for all frames, the volume, and the devices that have none
/// of their own. Errors: RESOURCE_EXHAUSTED.
absl::Status CheckMemory(const Plan& plan, int64_t frames_bytes,
                         const std::vector<ops::Device*>& devices) {
  return std::visit(
      [&](const auto& made) {
        int64_t bytes = frames_bytes + made.host_bytes;
        for (const ops::Device* device : devices) {
          if (!device->traits().own_memory) bytes += made.peak_bytes;
        }
        const VolumeGrid& grid = made.grid;
        return CheckAvailableMemory(absl::StrCat("a volume of ", grid.nx, "x", grid.ny, "x",
                                                 grid.nz, " voxels from ", made.views(), " frames"),
                                    bytes);
      },
      plan);
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

/// How the object moved; the host's cores search where the device has no derivatives by matrices.
absl::StatusOr<recon::FoundMotion> FindMotion(const recon::ReconstructionPlan& plan,
                                              const Options& options, ops::Device& device,
                                              const LocalFrames& frames) {
  ops::Device* searches = &device;
  std::unique_ptr<ops::Device> host;
  if (!Backends().matrix_gradient.Find(device.backend()).ok()) {
    ISO_ASSIGN_OR_RETURN(host, Backends().OpenDevice("cpu", {.threads = options.threads}));
    searches = host.get();
  }
  const recon::Acquisition& acquisition = plan.acquisition;
  const recon::MotionSearch search = recon::DefaultMotionSearch(plan.views(), plan.settings);
  ISO_ASSIGN_OR_RETURN(const recon::MotionMemory memory,
                       recon::MotionMemoryOf(acquisition, search, Backends(), *searches));
  ISO_RETURN_IF_ERROR(CheckAvailableMemory(
      "the search for motion",
      memory.host_bytes + (searches->traits().own_memory ? 0 : memory.device_bytes)));
  std::fprintf(options.json.progress(), "motion: searched for on %s\n",
               searches->description().c_str());
  std::fflush(options.json.progress());
  return recon::FindMotion(acquisition, search, frames.view(), frames.doses(), Backends(),
                           *searches);
}

absl::Status ReconstructFrames(const recon::ReconstructionPlan& plan,
                               const std::vector<ops::Device*>& devices, const LocalFrames& frames,
                               HostView3<float> volume) {
  ISO_ASSIGN_OR_RETURN(const auto reconstructor,
                       recon::Reconstructor::Create(plan, Backends(), devices));
  return reconstructor->Run(frames.view(), volume, frames.doses());
}

absl::StatusOr<Outcome> Run(const recon::ReconstructionPlan& plan, const Options& options,
                            const std::vector<ops::Device*>& devices, const LocalFrames& frames,
                            HostView3<float> volume) {
  Outcome outcome;
  if (options.motion) {
    ISO_ASSIGN_OR_RETURN(outcome.motion, FindMotion(plan, options, *devices[0], frames));
    outcome.findings.push_back(MotionSummary(*outcome.motion));
    std::fprintf(stderr, "isocenter: %s\n", outcome.findings.back().c_str());
  }
  if (outcome.motion && outcome.motion->moved) {
    ISO_ASSIGN_OR_RETURN(const recon::ReconstructionPlan at_rest,
                         recon::WithMotion(plan, outcome.motion->poses));
    ISO_RETURN_IF_ERROR(ReconstructFrames(at_rest, devices, frames, volume));
  } else {
    ISO_RETURN_IF_ERROR(ReconstructFrames(plan, devices, frames, volume));
  }
  return outcome;
}

absl::StatusOr<Outcome> Run(const recon::SecondPassPlan& plan, const Options&,
                            const std::vector<ops::Device*>& devices, const LocalFrames& frames,
                            HostView3<float> volume) {
  Outcome outcome;
  ISO_RETURN_IF_ERROR(recon::ReconstructTwice(plan, Backends(), devices, frames.view(), volume,
                                              frames.doses(), &outcome.findings));
  for (const std::string& finding : outcome.findings) {
    std::fprintf(stderr, "isocenter: %s\n", finding.c_str());
  }
  return outcome;
}

absl::StatusOr<Outcome> Run(const recon::RefinementPlan& plan, const Options& options,
                            const std::vector<ops::Device*>& devices, const LocalFrames& frames,
                            HostView3<float> volume) {
  std::FILE* const file = options.json.progress();
  std::fprintf(file, "%s, projector %s, %d iterations with %d subsets of the views\n%s",
               std::string(recon::AlgorithmName(plan.settings.algorithm)).c_str(),
               std::string(ops::ProjectorName(plan.settings.projector)).c_str(),
               plan.settings.iterations, static_cast<int>(plan.subsets.size()), kIterationTerms);
  const absl::Time begin = absl::Now();
  const auto report = [&](const recon::IterationReport& done) {
    PrintReport(done, file);
    return options.deadline_seconds <= 0 ||
           absl::Now() - begin < absl::Seconds(options.deadline_seconds);
  };
  Outcome outcome;
  std::vector<recon::IterationReport>& reports = outcome.iterations;
  ISO_ASSIGN_OR_RETURN(reports, recon::RefineAll(plan, Backends(), devices, frames.view(), volume,
                                                 report, frames.doses()));
  if (static_cast<int>(reports.size()) < plan.settings.iterations) {
    std::fprintf(file, "ended after %d of %d iterations\n", static_cast<int>(reports.size()),
                 plan.settings.iterations);
  }
  if (options.curve.empty()) return outcome;
  std::vector<imaging::ConvergencePoint> points;
  for (const recon::IterationReport& done : reports) {
    points.push_back({done.iteration, done.relative_residual, done.objective, done.seconds});
  }
  ISO_RETURN_IF_ERROR(imaging::WriteConvergence(options.curve, points));
  return outcome;
}

/// What the plan knows already of the result.
std::vector<std::string> WarningsOf(const Plan& plan) {
  const auto* refinement = std::get_if<recon::RefinementPlan>(&plan);
  if (refinement == nullptr || !refinement->limited_arc) return {};
  return {LimitedArcText(*refinement->limited_arc)};
}

void PrintWarnings(std::span<const std::string> warnings) {
  for (const std::string& warning : warnings) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
}

absl::Status ReportVolume(const Options& options, const VolumeGrid& grid, int64_t frames,
                          const std::vector<ops::Device*>& devices, const Outcome& outcome,
                          const std::vector<std::string>& warnings, double seconds) {
  nlohmann::ordered_json json{{"input", options.acquisition.input},
                              {"out", options.out},
                              {"frames", frames},
                              {"grid", ToJson(wire::ToProto(grid))},
                              {"algorithm", options.algorithm},
                              {"backend", std::string(devices[0]->backend())},
                              {"device", devices[0]->description()},
                              {"device_count", devices.size()},
                              {"seconds", seconds},
                              {"findings", outcome.findings},
                              {"warnings", warnings}};
  for (const recon::IterationReport& done : outcome.iterations) {
    nlohmann::ordered_json& entry = json["iterations"].emplace_back(
        nlohmann::ordered_json{{"iteration", done.iteration},
                               {"relative_residual", done.relative_residual},
                               {"seconds", done.seconds}});
    if (done.objective) entry["objective"] = *done.objective;
  }
  if (outcome.motion) json["motion"] = MotionJson(*outcome.motion);
  return options.json.Report(
      absl::StrFormat("%dx%dx%d voxels of %.4g mm in %.2f s on %d x %s\n", grid.nx, grid.ny,
                      grid.nz, grid.spacing.x, seconds, devices.size(), devices[0]->description()),
      json);
}

formats::Destination VolumeDestination(const Options& options) {
  return {.flag = "--out",
          .path = options.out,
          .endings = formats::VolumeEndings(),
          .inputs = {options.acquisition.input, options.acquisition.projections}};
}

/// What gating does not go with. Errors: wrong usage.
absl::Status CheckGatingFlags(const Options& options) {
  if (!options.gating.given()) return absl::OkStatus();
  const bool iterative = options.algorithm != "fdk";
  for (const auto& [flag, given, why] :
       {std::tuple("--metal", options.metal, "second passes are of all frames"),
        {"--bone", options.bone, "second passes are of all frames"},
        {"--scatter", options.scatter, "second passes are of all frames"},
        {"--cone-beam", options.cone_beam, "second passes are of all frames"},
        {"--stripes", options.stripes, "second passes are of all frames"},
        {"--motion", options.motion, "it is looked for in all frames"},
        {"--curve", !options.curve.empty(), "there is a curve of one volume only"},
        {"--deadline", options.deadline_seconds > 0, "all gates have the same passes"},
        {"--cycle-smoothing or --cycle-rounds with fdk", options.gating.together() && !iterative,
         "phases learn of each other between iterations"}}) {
    if (given) return flags::WrongUsage(absl::StrCat(flag, " with --phase or --gates: ", why));
  }
  return absl::OkStatus();
}

formats::Destination PosesDestination(const Options& options) {
  return {.flag = "--poses",
          .path = options.poses,
          .endings = {".csv"},
          .inputs = {options.acquisition.input, options.acquisition.projections,
                     options.acquisition.matrices}};
}

/// Matrices of a motion are those of filtered back-projection alone, once.
absl::Status CheckMotionFlags(const Options& options) {
  if (!options.poses.empty()) {
    if (!options.motion) return flags::WrongUsage("--poses without --motion, which finds them");
    ISO_RETURN_IF_ERROR(formats::CheckFileDestination(PosesDestination(options)));
  }
  if (!options.motion) return absl::OkStatus();
  for (const auto& [flag, given] : {std::pair("--metal", options.metal),
                                    {"--bone", options.bone},
                                    {"--scatter", options.scatter},
                                    {"--cone-beam", options.cone_beam},
                                    {"--stripes", options.stripes}}) {
    if (!given) continue;
    return flags::WrongUsage(
        absl::StrCat(flag, " with --motion; legal is one of them, both begin with the frames"));
  }
  return absl::OkStatus();
}

/// Settings of the algorithm; none for fdk. Checks all flags that need no acquisition.
absl::StatusOr<std::optional<recon::IterativeSettings>> CheckFlags(const Options& options) {
  ISO_RETURN_IF_ERROR(ChosenGrid(options.acquisition).status());
  ISO_RETURN_IF_ERROR(formats::CheckFileDestination(VolumeDestination(options)));
  ISO_RETURN_IF_ERROR(options.json.Check({options.acquisition.input}));
  ISO_RETURN_IF_ERROR(CheckMotionFlags(options));
  const bool iterative = options.algorithm != "fdk";
  std::vector<std::string> of_passes = ChangedFlags(options.iterative);
  if (!options.curve.empty()) of_passes.emplace_back("--curve");
  if (options.deadline_seconds > 0) of_passes.emplace_back("--deadline");
  if (!iterative && !of_passes.empty()) {
    const std::vector<std::string> all = AlgorithmChoices();  // fdk is the first
    return flags::WrongUsage(
        absl::StrCat(absl::StrJoin(of_passes, ", "),
                     " without an iterative --algorithm, fdk has no passes; legal with it are ",
                     absl::StrJoin(all.begin() + 1, all.end(), ", ")));
  }
  if (!options.curve.empty()) ISO_RETURN_IF_ERROR(CheckConvergenceFile(options.curve));
  ISO_RETURN_IF_ERROR(CheckGatingFlags(options));
  if (!iterative) return std::nullopt;
  for (const auto& [flag, given] : {std::pair("--metal", options.metal),
                                    {"--bone", options.bone},
                                    {"--scatter", options.scatter},
                                    {"--cone-beam", options.cone_beam},
                                    {"--motion", options.motion},
                                    {"--stripes", options.stripes}}) {
    if (!given) continue;
    return flags::WrongUsage(absl::StrCat(flag, " with --algorithm ", options.algorithm,
                                          "; legal is fdk, of which it is a second pass"));
  }
  ISO_ASSIGN_OR_RETURN(const recon::IterativeSettings settings,
                       ToSettings(options.iterative, options.algorithm, options.fdk.precision));
  return settings;
}

absl::StatusOr<ChosenDevices> OpenDevices(const Options& options) {
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

/// Fan beams have a recipe of their own, of which some flags are none.
absl::Status ReconstructSlices(const Options& o) {
  const std::pair<const char*, bool> refused[] = {
      {"--algorithm", o.algorithm != "fdk"},
      {"--truncation", o.truncation != "none"},
      {"--calibration", !o.calibration.empty()},
      {"--metal", o.metal},
      {"--bone", o.bone},
      {"--scatter", o.scatter},
      {"--cone-beam", o.cone_beam},
      {"--motion", o.motion},
      {"--stripes", o.stripes},
      {"--projections", !o.acquisition.projections.empty()},
      {"--i0", o.acquisition.i0.has_value()},
      {"--rings", o.rings},
      {"--phase or --gates", o.gating.given()},
      {"--find-defects", o.find_defects},
      {"--print-plan", o.print_plan}};
  for (const auto& [flag, given] : refused) {
    if (given) return absl::InvalidArgumentError(absl::StrCat(flag, " is not for fan-beam scans"));
  }
  ISO_ASSIGN_OR_RETURN(const std::optional<VolumeGrid> grid, ChosenGrid(o.acquisition));
  ISO_ASSIGN_OR_RETURN(const ChosenDevices chosen, OpenDevices(o));
  return ReconstructFanBeamScan(
      {.input = o.acquisition.input,
       .out = o.out,
       .size = o.size,
       .grid = grid ? o.acquisition.grid : std::vector<int>(),
       .voxel_mm = o.acquisition.voxel_mm,
       .settings = {.decrease = {o.fan_beam_decrease, o.fan_beam_decrease},
                    .form = o.fan_beam_kernel == "exact" ? ops::FanBeamKernelForm::kExact
                                                         : ops::FanBeamKernelForm::kSampledRamp,
                    .window = WindowNamed(o.window),
                    .cutoff = o.fdk.cutoff,
                    .mu_water_per_mm = o.fdk.mu_water_per_mm,
                    .backproject_method = o.fdk.backproject_method},
       .json = o.json},
      *chosen.devices.front());
}

absl::Status Reconstruct(Options options) {
  if (formats::IsFanBeamScan(options.acquisition.input)) return ReconstructSlices(options);
  options.fdk.window = WindowNamed(options.window);
  options.fdk.truncation = TruncationNamed(options.truncation);
  options.fdk.precision =
      options.precision == "fast" ? ops::Precision::kFast : ops::Precision::kExact;
  ISO_ASSIGN_OR_RETURN(const std::optional<recon::IterativeSettings> iterative,
                       CheckFlags(options));
  ISO_ASSIGN_OR_RETURN(const std::vector<PhaseWindow> windows, WindowsOf(options.gating));
  ISO_ASSIGN_OR_RETURN(const auto source, OpenAcquisition(options.acquisition));
  std::vector<float> phases;
  if (!windows.empty()) {
    ISO_ASSIGN_OR_RETURN(phases, PhasesOf(*source));
  }
  std::vector<std::string> warnings;
  ISO_ASSIGN_OR_RETURN(recon::Acquisition acquisition,
                       CalibratedAcquisition(source->header(), options.calibration, warnings));
  ISO_ASSIGN_OR_RETURN(const PatientPosition patient_position, PatientPositionOf(source->header()));
  formats::Volume volume;
  ISO_ASSIGN_OR_RETURN(volume.grid, GridOf(options, acquisition));
  ISO_RETURN_IF_ERROR(ValidateGrid(volume.grid));
  ISO_ASSIGN_OR_RETURN(const ChosenDevices chosen, OpenDevices(options));
  std::vector<ops::Device*> devices;
  for (const auto& device : chosen.devices) devices.push_back(device.get());
  absl::StatusOr<Plan> plan = MakePlan(options, acquisition, volume.grid, iterative, devices);
  if (!plan.ok()) return OthersHelp(SmallerSizeHelps(plan.status()), acquisition);
  for (std::string& warning : WarningsOf(*plan)) warnings.push_back(std::move(warning));
  PrintWarnings(warnings);
  const GatedRequest gated{.flags = options.gating,
                           .windows = windows,
                           .phases = phases,
                           .scan = acquisition,
                           .grid = volume.grid,
                           .position = patient_position,
                           .fdk = options.fdk,
                           .iterative = iterative,
                           .rings = options.rings,
                           .input = options.acquisition.input,
                           .out = options.out,
                           .algorithm = options.algorithm,
                           .warnings = warnings};
  if (!windows.empty()) ISO_RETURN_IF_ERROR(CheckGates(gated));
  if (options.print_plan) {
    std::fputs(std::visit([](const auto& made) { return recon::PlanText(made); }, *plan).c_str(),
               options.json.progress());
    std::fflush(options.json.progress());
  }
  int64_t frames_bytes = source->frame_bytes() * source->header().frame_count();
  if (!windows.empty()) frames_bytes += GatedBytes(gated);
  ISO_RETURN_IF_ERROR(SmallerSizeHelps(CheckMemory(*plan, frames_bytes, devices)));
  formats::Destination destination = VolumeDestination(options);
  destination.bytes =
      std::max<size_t>(1, windows.size()) * static_cast<uint64_t>(recon::VolumeBytes(volume.grid));
  for (size_t i = 0; i < std::max<size_t>(1, windows.size()); ++i) {
    destination.path = GateFile(options.out, options.gating, i);
    ISO_RETURN_IF_ERROR(formats::CheckFileDestination(destination));
  }

  ISO_ASSIGN_OR_RETURN(const LocalFrames frames, LocalFrames::Read(*source));
  if (options.fdk.truncation == ops::Truncation::kNone) {
    if (const auto cut = CutRowsText(acquisition, frames)) {
      warnings.push_back(absl::StrCat(
          *cut, "; without --truncation cylinder the volume is wrong by tens of per cent"));
      PrintWarnings(std::span(warnings).last(1));
    }
  }
  if (options.find_defects) {
    ISO_ASSIGN_OR_RETURN(acquisition,
                         WithNewDefects(std::move(acquisition), frames.view(),
                                        devices[0]->limits().threads, options.json.progress()));
    plan = MakePlan(options, acquisition, volume.grid, iterative, devices);
    if (!plan.ok()) return plan.status();
  }
  if (!windows.empty()) return ReconstructGates(gated, frames, devices, options.json);
  volume.voxels.resize(volume.grid.voxels());
  const HostView3<float> voxels(volume.voxels.data(), volume.grid.shape());
  const absl::Time begin = absl::Now();
  ISO_ASSIGN_OR_RETURN(
      const Outcome outcome,
      std::visit([&](const auto& made) { return Run(made, options, devices, frames, voxels); },
                 *plan));
  if (options.rings) {
    ISO_RETURN_IF_ERROR(
        recon::RemoveRings(acquisition.trajectory, volume.grid, Backends(), *devices[0], voxels));
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  const VolumeGrid grid = volume.grid;
  volume.grid = PatientGrid(volume.grid, patient_position);
  ISO_RETURN_IF_ERROR(formats::WriteVolume(options.out, volume));
  if (!options.poses.empty()) {
    ISO_RETURN_IF_ERROR(formats::WriteText(options.poses, MotionText(outcome.motion->poses)));
  }
  return ReportVolume(options, grid, source->header().frame_count(), devices, outcome, warnings,
                      seconds);
}

void AddFilterFlags(flags::Command filter, Options& o) {
  filter
      .Add("--window", o.window,
           "of the ramp filter: how much it damps fine detail, and with it noise; ram-lak least, "
           "hann most")
      .ShowDefault()
      .OneOf({"ram-lak", "shepp-logan", "cosine", "hamming", "hann"});
  filter
      .Add("--cutoff", o.fdk.cutoff,
           "where the window ends, as a fraction of the finest detail that the pixels hold "
           "(Nyquist)")
      .ShowDefault()
      .Range(0.01, 1.0);
  filter
      .Add("--truncation", o.truncation,
           "what becomes of rows that the detector's edge cuts (docs/truncation.md)")
      .ShowDefault()
      .OneOf({"none", "mirror", "cylinder", "atract"});
  filter.Add("--mu-water", o.fdk.mu_water_per_mm, "attenuation of water in 1/mm")
      .ShowDefault()
      .Range(0.001, 0.1);
  filter
      .Add("--fan-beam-kernel", o.fan_beam_kernel,
           "of fan-beam scans: exact, or the ramp sampled at a padded row's frequencies")
      .ShowDefault()
      .OneOf({"exact", "sampled-ramp"});
  filter
      .Add("--fan-beam-decrease", o.fan_beam_decrease,
           "channels over which rows of fan-beam scans fall to zero on either side, where the "
           "detector cuts them")
      .ShowDefault()
      .Range(0, 65536);
}

void AddCorrectionFlags(flags::Command correct, Options& o) {
  correct
      .Add("--calibration", o.calibration,
           "set of the detector that took the frames, to correct them with (docs/corrections.md)")
      .Type("FILE");
  correct.AddSwitch("--find-defects", o.find_defects,
                    "pixels that are implausible in many frames are defective, too");
  correct.AddSwitch("--metal", o.metal,
                    "a second pass that takes metal's shadows out (docs/second-pass.md)");
  correct.AddSwitch("--bone", o.bone,
                    "a second pass against hardening by bone; needs a --calibration that has a "
                    "bone table");
  correct.AddSwitch("--scatter", o.scatter,
                    "a second pass against scatter that is computed from a coarse volume; needs a "
                    "--calibration that has a scatter model");
  correct.AddSwitch("--cone-beam", o.cone_beam,
                    "a second pass that takes the cone-beam artefact of bone and air off");
  correct.AddSwitch("--stripes", o.stripes,
                    "a second pass that takes off what pixels have too much in all views");
  correct.AddSwitch("--motion", o.motion,
                    "find how the object moved as a whole during the scan, and take it out "
                    "(docs/motion.md)");
  correct
      .Add("--poses", o.poses,
           "also write the pose of each frame that --motion found, as `simulate --motion` reads "
           "them, to this .csv")
      .Type("FILE");
  correct.AddSwitch("--rings", o.rings,
                    "take rings around the axis off the volume (docs/second-pass.md)");
}

void AddDeviceFlags(flags::Command device, Options& o) {
  device
      .Add("--backend", o.backend,
           "cpu or cuda (default: the fastest there is), of fan beams gles, too")
      .OneOf({"cpu", "cuda", "gles", "reference"});
  device.Add("--devices", o.devices, "GPUs that share the work; 0: all").ShowDefault().Range(0, 64);
  device.Add("--threads", o.threads, "of the CPU; 0: one per core").ShowDefault().Range(0, 1024);
  device.Add("--memory-mib", o.memory_mib, "memory of each device to use; 0: all")
      .Range(int64_t{0}, int64_t{1} << 24);
  device.Add("--precision", o.precision, "exact, or fast where a device has it")
      .ShowDefault()
      .OneOf({"exact", "fast"});
  device
      .Add("--backproject-method", o.fdk.backproject_method,
           "of the backend, for fdk; another one lists them (default: its first of the "
           "precision)")
      .Type("NAME");
  device.AddSwitch("--print-plan", o.print_plan, "say how the work is divided and what it takes");
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
      "  isocenter reconstruct heart --out rest.mha --phase 0.8 --phase-width 0.2\n"
      "  isocenter reconstruct heart --out beat.mha --gates 8 --algorithm asd_pocs --prior 3\n"
      "INPUT may be a fan-beam scan, too: a directory with fan_beam.json.\n"
      "On an arc that is too short for fdk (limited angle) iterative algorithms begin with "
      "nothing, and say so.");
  const auto options = std::make_shared<Options>();
  Options& o = *options;
  const flags::Option grid = AddAcquisitionFlags(command, o.acquisition);
  command.Add("--out", o.out, "volume in HU, .mha, .mhd or .nii; a file that is there is replaced")
      .Required()
      .Type("FILE");
  command.Add("--size", o.size, "without --grid: voxels per axis over the field of view")
      .ShowDefault()
      .Range(16, 2048)
      .Excludes(grid);
  command
      .Add("--algorithm", o.algorithm,
           "fdk: filtered back-projection; or an iterative one, which begins with it")
      .ShowDefault()
      .OneOf(AlgorithmChoices());
  o.json.AddFlag(command);
  AddFilterFlags(command.Under("Filter"), o);
  AddCorrectionFlags(command.Under("Corrections"), o);
  AddIterativeFlags(command, o.iterative);
  flags::Command iterations = command.Under(kIterativeGroup);
  iterations
      .Add("--curve", o.curve,
           "residual (what the volume does not explain of the frames) and objective of each pass: "
           ".csv or .png")
      .Type("FILE");
  iterations
      .Add("--deadline", o.deadline_seconds, "seconds after which no further pass begins; 0: none")
      .Range(0.0, 604800.0);
  AddGatingFlags(command.Under("Phases of a moving organ"), o.gating);
  AddDeviceFlags(command.Under("Device"), o);
  command.Does([options] { return Reconstruct(*options); });
}

}  // namespace isocenter::cli
