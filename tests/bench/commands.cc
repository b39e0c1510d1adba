#include "tests/bench/commands.h"

#include <memory>

#include "tests/bench/arithmetic_bench.h"
#include "tests/bench/backproject_bench.h"
#include "tests/bench/bottleneck_bench.h"
#include "tests/bench/corrections_bench.h"
#include "tests/bench/fanbeam/bench.h"
#include "tests/bench/fanbeam/flags.h"
#include "tests/bench/fdk_bench.h"
#include "tests/bench/graphics/bench.h"
#include "tests/bench/ladder/bench.h"
#include "tests/bench/ladder/flags.h"
#include "tests/bench/project_bench.h"
#include "tests/bench/quality_bench.h"
#include "tests/bench/reconstruct_bench.h"
#include "tests/bench/refine_bench.h"
#include "tests/bench/rooms/rooms_flags.h"
#include "tests/bench/search/bench.h"
#include "tests/bench/siddon/bench.h"
#include "tests/bench/siddon/flags.h"
#include "tests/bench/voxel_driven_bench.h"

namespace isocenter::bench {
namespace {

Command AddFdk(CLI::App& app) {
  auto options = std::make_shared<FdkOptions>();
  CLI::App* command =
      app.add_subcommand("fdk", "Filter, back-projection and whole FDK on the CPU, in GUPS");
  command->add_option("--repeats", options->repeats, "Runs per case")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--size", options->sizes, "Voxels per axis")
      ->delimiter(',')
      ->check(CLI::Range(16, 2048))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Numbers of threads")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--simd", options->simd,
                   "Instruction sets: AVX-512, AVX2, SSE4, scalar (default: the first two)")
      ->delimiter(',');
  command
      ->add_option("--views", options->views,
                   "Views (default: 128 up to 256 voxels per axis, 64 above)")
      ->check(CLI::Range(2, 10000));
  command
      ->add_option("--trajectory", options->trajectory,
                   "Trajectory file for 1240x960 pixels of 0.308 mm (default: a wobbling C-arm)")
      ->check(CLI::ExistingFile);
  command->add_option("--json", options->json, "Also write the figures to this file");
  return {command, [options] { return RunFdk(*options); }};
}

Command AddBackproject(CLI::App& app) {
  auto options = std::make_shared<BackprojectOptions>();
  CLI::App* command =
      app.add_subcommand("backproject", "Back-projection alone, by backend and method, in GUPS");
  command->add_option("--backend", options->backend, "Backend")->capture_default_str();
  command->add_option("--method", options->methods, "Methods (default: all of the backend)")
      ->delimiter(',');
  command->add_option("--size", options->sizes, "Voxels per axis")
      ->delimiter(',')
      ->check(CLI::Range(16, 2048))
      ->capture_default_str();
  command->add_option("--views", options->views, "Views")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  command->add_option("--repeats", options->repeats, "Runs per case")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--trajectory", options->trajectory,
                   "Trajectory file for 1240x960 pixels of 0.308 mm (default: a wobbling C-arm)")
      ->check(CLI::ExistingFile);
  return {command, [options] { return RunBackproject(*options); }};
}

Command AddBottleneck(CLI::App& app) {
  auto options = std::make_shared<BottleneckOptions>();
  CLI::App* command = app.add_subcommand(
      "bottleneck", "What bounds back-projection on a CUDA device, by kernels with parts left out");
  command->add_option("--size", options->size, "Voxels per axis")
      ->check(CLI::Range(16, 2048))
      ->capture_default_str();
  // A layered texture has 2048 layers.
  command->add_option("--views", options->views, "Views")
      ->check(CLI::Range(2, 2048))
      ->capture_default_str();
  command->add_option("--repeats", options->repeats, "Runs per kernel")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--trajectory", options->trajectory,
                   "Trajectory file for 1240x960 pixels of 0.308 mm (default: a wobbling C-arm)")
      ->check(CLI::ExistingFile);
  command->add_option("--json", options->json, "Also write the figures to this file");
  return {command, [options] { return RunBottleneck(*options); }};
}

Command AddSearch(CLI::App& app) {
  auto options = std::make_shared<SearchOptions>();
  CLI::App* command = app.add_subcommand(
      "search", "Kernel B of Zinsser & Keck (2013) over views, voxels and threads, on CUDA");
  command->add_option("--size", options->size, "Voxels per axis")
      ->check(CLI::Range(16, 2048))
      ->capture_default_str();
  command->add_option("--views", options->views, "Views")
      ->check(CLI::Range(2, 2048))
      ->capture_default_str();
  command->add_option("--repeats", options->repeats, "Runs per configuration")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--best", options->best, "Configurations that are printed")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--trajectory", options->trajectory,
                   "Trajectory file for 1240x960 pixels of 0.308 mm (default: a wobbling C-arm)")
      ->check(CLI::ExistingFile);
  command->add_option("--out", options->out, "Directory for the whole table (.csv)");
  return {command, [options] { return RunSearch(*options); }};
}

Command AddGraphics(CLI::App& app) {
  auto options = std::make_shared<GraphicsOptions>();
  CLI::App* command = app.add_subcommand(
      "graphics", "The same work by fragments and by a compute shader of OpenGL ES");
  command->add_option("--size", options->size, "Fragments per axis")
      ->check(CLI::Range(16, 8192))
      ->capture_default_str();
  command->add_option("--steps", options->steps, "Multiplications of each")
      ->check(CLI::Range(16, 10000000))
      ->capture_default_str();
  command->add_option("--repeats", options->repeats, "Runs of each")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  return {command, [options] { return RunGraphics(*options); }};
}

Command AddProject(CLI::App& app) {
  auto options = std::make_shared<ProjectOptions>();
  CLI::App* command = app.add_subcommand(
      "project", "Forward projection and its adjoint alone, by backend, model and method");
  command->add_option("--backend", options->backend, "Backend")->capture_default_str();
  command->add_option("--model", options->models, "Models")->delimiter(',')->capture_default_str();
  command->add_option("--method", options->methods, "Methods (default: all of the backend)")
      ->delimiter(',');
  command->add_option("--case", options->cases, "R512, R1024, R2048, H256 (for CPUs), S512, C512")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--direction", options->directions, "forward, back")
      ->delimiter(',')
      ->check(CLI::IsMember({"forward", "back"}))
      ->capture_default_str();
  command->add_option("--views", options->views, "Views (default: those of the case)")
      ->check(CLI::Range(2, 10000));
  command->add_option("--batch", options->batch, "Views worked on at once (default: all)")
      ->check(CLI::Range(1, 10000));
  command->add_option("--repeats", options->repeats, "Runs per case")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--trajectory", options->trajectory,
                   "Trajectory file of C512, for 1240x960 pixels of 0.308 mm (default: a wobbling "
                   "C-arm)")
      ->check(CLI::ExistingFile);
  return {command, [options] { return RunProject(*options); }};
}

Command AddQuality(CLI::App& app) {
  auto options = std::make_shared<QualityOptions>();
  CLI::App* command = app.add_subcommand(
      "quality",
      "Iterative methods beside FDK on a noisy, sparse short scan: error at equal edges");
  command->add_option("--backend", options->backend, "Backend")->capture_default_str();
  command->add_option("--size", options->scan.size, "Voxels per axis")
      ->check(CLI::Range(32, 512))
      ->capture_default_str();
  command->add_option("--views", options->scan.full_views, "Views of the dense scan")
      ->check(CLI::Range(8, 10000))
      ->capture_default_str();
  command->add_option("--every", options->scan.every, "Takes every so many of its views")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--photons", options->scan.photons, "Per pixel and frame; 0: no noise")
      ->capture_default_str();
  command->add_option("--algorithm", options->algorithms, "Algorithms (default: all)")
      ->delimiter(',');
  command->add_option("--iterations", options->iterations, "Passes");
  command->add_option("--subsets", options->subsets, "Ordered subsets");
  command->add_option("--relaxation", options->relaxation, "Step length");
  command->add_option("--prior", options->prior_strength, "Strength of the prior");
  command->add_option("--huber-delta", options->huber_delta_per_mm, "1/mm");
  command->add_option("--tv-steps", options->tv_steps, "Steps per pass");
  command->add_option("--projector", options->projector, "Projector");
  command->add_option("--fdk-cutoff", options->fdk_cutoff, "Of the warm start's window");
  command->add_flag("--cold", options->cold, "Begin with zero");
  command->add_flag("--passes", options->passes, "Print the report of each pass");
  command->add_option("--sheet", options->sheet, "PNG file with all images");
  return {command, [options] { return RunQuality(*options); }};
}

Command AddReconstruct(CLI::App& app) {
  auto options = std::make_shared<ReconstructOptions>();
  CLI::App* command = app.add_subcommand(
      "reconstruct",
      "Raw frames in host memory to a volume in host memory, on devices with memory of their own");
  command->add_option("--backend", options->backend, "Backend")->capture_default_str();
  command->add_option("--case", options->cases, "R512, R1024, R2048, S512, C512")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--precision", options->precisions, "exact, fast")
      ->delimiter(',')
      ->check(CLI::IsMember({"exact", "fast"}))
      ->capture_default_str();
  command->add_option("--backproject-method", options->backproject_method,
                      "Method of the back-projection; another one lists them");
  command->add_flag("--equal-chunks", options->equal_chunks,
                    "Without the smaller chunks that a plan begins with: what they bring");
  command->add_flag("--equal-slabs", options->equal_slabs,
                    "Slabs of one size, without the smaller ones that a plan ends with");
  command->add_flag("--print-plan", options->print_plan,
                    "Print the plan of each case; the report of --json has it anyway");
  command->add_option("--devices", options->devices, "Numbers of devices")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      ->add_option("--device-memory-limit", options->device_memory_bytes,
                   "Memory of each device that may be used, e.g. 2GiB (default: all)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  command->add_option("--repeats", options->repeats, "Runs per case")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--trajectory", options->trajectory,
                   "Trajectory file of C512, for 1240x960 pixels of 0.308 mm (default: a wobbling "
                   "C-arm)")
      ->check(CLI::ExistingFile);
  command->add_option("--trace", options->trace,
                      "Also write what the devices did in the last run, for ui.perfetto.dev");
  command->add_option("--json", options->json, "Also write the figures to this file");
  return {command, [options] { return RunReconstruct(*options); }};
}

Command AddRefine(CLI::App& app) {
  auto options = std::make_shared<RefineOptions>();
  CLI::App* command = app.add_subcommand(
      "refine", "Whole iterative reconstructions, raw frames in host memory to a volume there");
  command->add_option("--backend", options->backend, "Backend")->capture_default_str();
  command->add_option("--case", options->cases, "R512, R1024, R2048, H256, S512, C512")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--views", options->views, "Views (default: those of the case)")
      ->check(CLI::Range(2, 10000));
  command->add_option("--algorithm", options->algorithms, "Algorithms")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--projector", options->projector, "Projector")->capture_default_str();
  command->add_option("--forward-method", options->forward_method,
                      "Method of the projector's forward direction (default: the backend's)");
  command->add_option("--back-method", options->back_method,
                      "Method of the projector's adjoint (default: the backend's)");
  command->add_flag("--unmatched", options->unmatched, "Back-project as FDK does");
  command->add_option("--iterations", options->settings.iterations, "Passes over all views")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--subsets", options->settings.subsets, "Ordered subsets");
  command->add_option("--prior", options->settings.prior_strength, "Strength of the prior");
  command->add_flag("--statistical-weights", options->settings.statistical_weights,
                    "Weigh rays by their counts");
  command->add_flag("--fast", options->fast, "Fast methods where the backend has them");
  command->add_option("--devices", options->devices, "Numbers of devices")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      ->add_option("--device-memory-limit", options->device_memory_bytes,
                   "Memory of each device that may be used, e.g. 2GiB (default: all)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  command->add_option("--repeats", options->repeats, "Runs per case")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--trajectory", options->trajectory,
                   "Trajectory file of C512, for 1240x960 pixels of 0.308 mm (default: a wobbling "
                   "C-arm)")
      ->check(CLI::ExistingFile);
  command->add_option(
      "--trace", options->trace,
      "Also write what the devices did in the last run's iterations, for ui.perfetto.dev");
  return {command, [options] { return RunRefine(*options); }};
}

Command AddVoxelDriven(CLI::App& app) {
  auto options = std::make_shared<VoxelDrivenOptions>();
  CLI::App* command = app.add_subcommand(
      "voxel-driven", "Voxel-driven forward projection in the case of Du et al. (2017)");
  command->add_option("--backend", options->backend, "Backend")->capture_default_str();
  command->add_option("--slices", options->slices, "Slices of 512x512 voxels")
      ->delimiter(',')
      ->check(CLI::Range(1, 2048))
      ->capture_default_str();
  command->add_option("--subvoxels", options->subvoxels, "Pieces of a voxel: 1, 8")
      ->delimiter(',')
      ->check(CLI::IsMember({1, 8}))
      ->capture_default_str();
  command->add_option("--views", options->views, "Views around the circle")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  command->add_option("--repeats", options->repeats, "Runs per method")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--sad-over-sdd", options->ratios,
                   "Source to axis, of source to detector: 0.6 to 0.999; the paper: 0.6 to 1")
      ->delimiter(',')
      ->check(CLI::Range(0.1, 0.999))
      ->capture_default_str();
  command->add_option("--json", options->json, "Also write the figures to this file");
  command->add_option("--out", options->out, "Directory for tables (.csv) and pictures (.png)");
  return {command, [options] { return RunVoxelDriven(*options); }};
}

Command AddArithmetic(CLI::App& app) {
  auto options = std::make_shared<ArithmeticOptions>();
  CLI::App* command =
      app.add_subcommand("arithmetic", "Vector arithmetic and priors on volumes, in GB/s");
  command->add_option("--backend", options->backend, "Backend")->capture_default_str();
  command->add_option("--size", options->size, "Voxels per axis")
      ->check(CLI::Range(16, 1024))
      ->capture_default_str();
  command->add_option("--repeats", options->repeats, "Runs per operation")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  return {command, [options] { return RunArithmetic(*options); }};
}

Command AddCorrections(CLI::App& app) {
  auto options = std::make_shared<CorrectionsOptions>();
  CLI::App* command = app.add_subcommand(
      "corrections", "The chain from raw counts to line integrals, step by step, without uploads");
  command->add_option("--backend", options->backend, "Backend")->capture_default_str();
  command->add_option("--views", options->views, "Frames")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_option("--batch", options->batch, "Frames worked on at once")
      ->check(CLI::Range(1, 512))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Of the CPU (default: all)")
      ->check(CLI::Range(1, 1024));
  command->add_option("--repeats", options->repeats, "Runs per step")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  return {command, [options] { return RunCorrections(*options); }};
}

Command AddFanBeam(CLI::App& app) {
  auto options = std::make_shared<FanBeamOptions>();
  CLI::App* command = AddFanBeamCommand(app, *options);
  return {command, [options] { return RunFanBeam(*options); }};
}

Command AddSiddon(CLI::App& app) {
  auto options = std::make_shared<SiddonOptions>();
  CLI::App* command = AddSiddonCommand(app, *options);
  return {command, [options] { return RunSiddon(*options); }};
}

Command AddLadder(CLI::App& app) {
  auto options = std::make_shared<LadderOptions>();
  CLI::App* command = AddLadderCommand(app, *options);
  return {command, [options] { return RunLadder(*options); }};
}

Command AddRabbitCt(CLI::App& app) {
  auto options = std::make_shared<RabbitCtOptions>();
  CLI::App* command = AddRabbitCtCommand(app, *options);
  return {command, [options] { return RunRabbitCt(*options); }};
}

Command AddRooms(CLI::App& app) {
  auto options = std::make_shared<RoomsOptions>();
  CLI::App* command = AddRoomsCommand(app, *options);
  return {command, [options] { return RunRooms(*options); }};
}

}  // namespace

std::vector<Command> AddCommands(CLI::App& app) {
  return {AddFdk(app),      AddBackproject(app), AddBottleneck(app), AddSearch(app),
          AddGraphics(app), AddProject(app),     AddQuality(app),    AddReconstruct(app),
          AddRefine(app),   AddVoxelDriven(app), AddArithmetic(app), AddCorrections(app),
          AddFanBeam(app),  AddSiddon(app),      AddLadder(app),     AddRabbitCt(app),
          AddRooms(app)};
}

}  // namespace isocenter::bench
