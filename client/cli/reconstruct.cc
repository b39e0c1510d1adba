// isocenter reconstruct: an acquisition on disk becomes a volume on disk, without a server.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/commands.h"
#include "client/cli/local_acquisition.h"
#include "client/cli/options/acquisition_flags.h"
#include "client/cli/options/iterative_flags.h"
#include "client/cli/options/phantom_flags.h"
#include "client/cli/output/convergence_file.h"
#include "client/cli/output/table.h"
#include "client/formats/meta_image.h"
#include "client/imaging/convergence_plot.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/geometry/patient_position.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/plan_text.h"
#include "kernels/recon/reconstructor.h"
#include "proto/wire/acquisition.h"

namespace isocenter::cli {
namespace {

constexpr int64_t kMib = 1 << 20;

struct Options {
  AcquisitionFlags acquisition;
  std::string out;
  int size = 256;
  std::string window = "ram-lak";
  recon::FdkSettings fdk{.mu_water_per_mm = kMuWaterPerMm};
  std::string precision = "exact";
  std::string algorithm = "fdk";
  IterativeFlags iterative;
  std::string curve;
  std::string backend;
  int devices = 1;
  int threads = 0;
  int64_t memory_mib = 0;
  double deadline_seconds = 0;
  bool print_plan = false;
};

ops::FilterWindow WindowNamed(const std::string& name) {
  if (name == "shepp-logan") return ops::FilterWindow::kSheppLogan;
  if (name == "cosine") return ops::FilterWindow::kCosine;
  if (name == "hamming") return ops::FilterWindow::kHamming;
  if (name == "hann") return ops::FilterWindow::kHann;
  return ops::FilterWindow::kRamLak;
}

absl::StatusOr<VolumeGrid> GridOf(const Options& options, const recon::Acquisition& acquisition) {
  ISO_ASSIGN_OR_RETURN(const std::optional<VolumeGrid> grid, ChosenGrid(options.acquisition));
  if (grid) return *grid;
  return AutoGrid(acquisition.trajectory, acquisition.detector, options.size);
}

void PrintReport(const recon::IterationReport& report) {
  const std::string objective =
      report.objective ? absl::StrFormat("  objective %.6g", *report.objective) : "";
  std::printf("iteration %3d  residual %.3e%s  %.2f s\n", report.iteration,
              report.relative_residual, objective.c_str(), report.seconds);
  std::fflush(stdout);
}

absl::Status RunFdk(const Options& options, const recon::Acquisition& acquisition,
                    const VolumeGrid& grid, const std::vector<ops::Device*>& devices,
                    const ops::RawFrames& frames, HostView3<float> volume) {
  ISO_ASSIGN_OR_RETURN(const recon::ReconstructionPlan plan,
                       recon::MakePlan(acquisition, grid, options.fdk, Backends(), devices,
                                       recon::Arrival::kComplete));
  if (options.print_plan) std::fputs(recon::PlanText(plan).c_str(), stdout);
  ISO_ASSIGN_OR_RETURN(const auto reconstructor,
                       recon::Reconstructor::Create(plan, Backends(), devices));
  return reconstructor->Run(frames, volume);
}

absl::Status RunIterative(const Options& options, const recon::Acquisition& acquisition,
                          const VolumeGrid& grid, const recon::IterativeSettings& settings,
                          const std::vector<ops::Device*>& devices, const ops::RawFrames& frames,
                          HostView3<float> volume) {
  ISO_ASSIGN_OR_RETURN(
      const recon::RefinementPlan plan,
      recon::MakeRefinementPlan(acquisition, grid, options.fdk, settings, Backends(), devices));
  if (options.print_plan) std::fputs(recon::PlanText(plan).c_str(), stdout);
  std::printf("%s, %s, %d subsets, %d iterations\n",
              std::string(recon::AlgorithmName(settings.algorithm)).c_str(),
              std::string(ops::ProjectorName(settings.projector)).c_str(),
              static_cast<int>(plan.subsets.size()), plan.settings.iterations);
  const absl::Time begin = absl::Now();
  const auto report = [&](const recon::IterationReport& done) {
    PrintReport(done);
    return options.deadline_seconds <= 0 ||
           absl::Now() - begin < absl::Seconds(options.deadline_seconds);
  };
  ISO_ASSIGN_OR_RETURN(const std::vector<recon::IterationReport> reports,
                       recon::RefineAll(plan, Backends(), devices, frames, volume, report));
  if (static_cast<int>(reports.size()) < plan.settings.iterations) {
    std::printf("ended after %d of %d iterations\n", static_cast<int>(reports.size()),
                plan.settings.iterations);
  }
  if (options.curve.empty()) return absl::OkStatus();
  std::vector<imaging::ConvergencePoint> points;
  for (const recon::IterationReport& done : reports) {
    points.push_back({done.iteration, done.relative_residual, done.objective, done.seconds});
  }
  return imaging::WriteConvergence(options.curve, points);
}

absl::Status Reconstruct(Options options) {
  options.fdk.window = WindowNamed(options.window);
  options.fdk.precision =
      options.precision == "fast" ? ops::Precision::kFast : ops::Precision::kExact;
  const bool iterative = options.algorithm != "fdk";
  recon::IterativeSettings settings;
  if (iterative) {
    ISO_ASSIGN_OR_RETURN(settings,
                         ToSettings(options.iterative, options.algorithm, options.fdk.precision));
  } else if (!options.curve.empty()) {
    return absl::InvalidArgumentError("--curve needs an iterative --algorithm; fdk has no passes");
  }
  if (!options.curve.empty()) ISO_RETURN_IF_ERROR(CheckConvergenceFile(options.curve));
  ISO_ASSIGN_OR_RETURN(const auto source, OpenAcquisition(options.acquisition));
  ISO_ASSIGN_OR_RETURN(const recon::Acquisition acquisition,
                       wire::AcquisitionFromProto(source->header()));
  const std::string& position = source->header().patient_position();
  ISO_ASSIGN_OR_RETURN(const PatientPosition patient_position,
                       ParsePatientPosition(position.empty() ? "HFS" : position));
  ISO_ASSIGN_OR_RETURN(formats::Volume volume, [&]() -> absl::StatusOr<formats::Volume> {
    ISO_ASSIGN_OR_RETURN(const VolumeGrid grid, GridOf(options, acquisition));
    ISO_RETURN_IF_ERROR(ValidateGrid(grid));
    return formats::Volume{.grid = grid};
  }());
  ISO_ASSIGN_OR_RETURN(
      const ChosenDevices chosen,
      OpenDevices(options.backend,
                  {.host = {.memory_bytes = options.memory_mib * kMib, .threads = options.threads},
                   .own_memory = {.memory_bytes = options.memory_mib * kMib},
                   .count = options.devices}));
  std::vector<ops::Device*> devices;
  for (const auto& device : chosen.devices) devices.push_back(device.get());
  ISO_ASSIGN_OR_RETURN(const LocalFrames frames, LocalFrames::Read(*source));
  volume.voxels.resize(volume.grid.voxels());
  const HostView3<float> voxels(volume.voxels.data(), volume.grid.shape());

  const absl::Time begin = absl::Now();
  ISO_RETURN_IF_ERROR(
      iterative ? RunIterative(options, acquisition, volume.grid, settings, devices, frames.view(),
                               voxels)
                : RunFdk(options, acquisition, volume.grid, devices, frames.view(), voxels));
  std::printf("%dx%dx%d voxels of %.4g mm in %.2f s on %d x %s\n", volume.grid.nx, volume.grid.ny,
              volume.grid.nz, volume.grid.spacing.x, absl::ToDoubleSeconds(absl::Now() - begin),
              static_cast<int>(devices.size()), devices[0]->description().c_str());
  volume.grid = PatientGrid(volume.grid, patient_position);
  return formats::WriteMetaImage(options.out, volume);
}

}  // namespace

void AddReconstructCommand(flags::Command program) {
  flags::Command command = program.Subcommand(
      "reconstruct", "Reconstruct an acquisition on disk on this machine, without a server");
  const auto options = std::make_shared<Options>();
  Options& o = *options;
  AddAcquisitionFlags(command, o.acquisition);
  command.Add("--out", o.out, "volume in HU, .mha or .mhd").Required().Type("FILE");
  command.Add("--size", o.size, "without --grid: voxels per axis over the field of view")
      .ShowDefault()
      .Range(16, 2048);
  command.Add("--window", o.window, "of the ramp filter")
      .ShowDefault()
      .OneOf({"ram-lak", "shepp-logan", "cosine", "hamming", "hann"});
  command.Add("--cutoff", o.fdk.cutoff, "of the window, as a fraction of Nyquist")
      .ShowDefault()
      .Range(0.01, 1.0);
  command.AddSwitch("--extend-rows", o.fdk.extend_truncated_rows,
                    "continue rows that the detector's edge cuts");
  command.Add("--mu-water", o.fdk.mu_water_per_mm, "attenuation of water in 1/mm")
      .ShowDefault()
      .Range(0.001, 0.1);
  command.Add("--precision", o.precision, "exact, or fast where a device has it")
      .ShowDefault()
      .OneOf({"exact", "fast"});
  command
      .Add("--backproject-method", o.fdk.backproject_method,
           "of the backend, for fdk; another one lists them (default: its first of the "
           "precision)")
      .Type("NAME");
  command.Add("--algorithm", o.algorithm, "fdk, or an iterative one that begins with it")
      .ShowDefault()
      .OneOf(AlgorithmChoices());
  AddIterativeFlags(command, o.iterative);
  command.Add("--curve", o.curve, "residual and objective of each pass: .csv or .png").Type("FILE");
  command
      .Add("--deadline", o.deadline_seconds, "seconds after which no further pass begins; 0: none")
      .Range(0.0, 604800.0);
  command.Add("--backend", o.backend, "cpu or cuda (default: the fastest there is)")
      .OneOf({"cpu", "cuda", "reference"});
  command.Add("--devices", o.devices, "GPUs that share the work; 0: all")
      .ShowDefault()
      .Range(0, 64);
  command.Add("--threads", o.threads, "of the CPU; 0: one per core").ShowDefault().Range(0, 1024);
  command.Add("--memory-mib", o.memory_mib, "memory of each device to use; 0: all")
      .Range(int64_t{0}, int64_t{1} << 24);
  command.AddSwitch("--print-plan", o.print_plan, "say how the work is divided and what it takes");
  command.Does([options] { return Reconstruct(*options); });
}

}  // namespace isocenter::cli
