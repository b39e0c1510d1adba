#include "tests/bench/commands.h"

#include <memory>
#include <string>
#include <vector>

#include "kernels/backends.h"
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

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (const auto& [name, open] : Backends().devices) names.push_back(name);
  return names;
}

void AddFdk(flags::Command program) {
  auto options = std::make_shared<FdkOptions>();
  flags::Command command =
      program.Subcommand("fdk", "Filter, back-projection and whole FDK on the CPU, in GUPS");
  command.Add("--repeats", options->repeats, "Runs per case").Range(1, 1000).ShowDefault();
  command.Add("--size", options->sizes, "Voxels per axis")
      .Separator(',')
      .Range(16, 2048)
      .ShowDefault();
  command.Add("--threads", options->threads, "Numbers of threads")
      .Separator(',')
      .Range(1, 1024)
      .ShowDefault();
  command
      .Add("--simd", options->simd,
           "Instruction sets: AVX-512, AVX2, SSE4, scalar (default: the first two)")
      .Separator(',');
  command.Add("--views", options->views, "Views (default: 128 up to 256 voxels per axis, 64 above)")
      .Range(2, 10000);
  command
      .Add("--trajectory", options->trajectory,
           "Trajectory file for 1240x960 pixels of 0.308 mm (default: a wobbling C-arm)")
      .Type("FILE");
  command.Add("--json", options->json, "Also write the figures to this file").Type("FILE");
  command.Does([options] { return RunFdk(*options); });
}

void AddBackproject(flags::Command program) {
  auto options = std::make_shared<BackprojectOptions>();
  flags::Command command =
      program.Subcommand("backproject", "Back-projection alone, by backend and method, in GUPS");
  command.Add("--backend", options->backend, "Backend").OneOf(BackendNames()).ShowDefault();
  command.Add("--method", options->methods, "Methods (default: all of the backend)").Separator(',');
  command.Add("--size", options->sizes, "Voxels per axis")
      .Separator(',')
      .Range(16, 2048)
      .ShowDefault();
  command.Add("--views", options->views, "Views").Range(2, 10000).ShowDefault();
  command.Add("--repeats", options->repeats, "Runs per case").Range(1, 1000).ShowDefault();
  command
      .Add("--trajectory", options->trajectory,
           "Trajectory file for 1240x960 pixels of 0.308 mm (default: a wobbling C-arm)")
      .Type("FILE");
  command.Does([options] { return RunBackproject(*options); });
}

void AddBottleneck(flags::Command program) {
  auto options = std::make_shared<BottleneckOptions>();
  flags::Command command = program.Subcommand(
      "bottleneck", "What bounds back-projection on a CUDA device, by kernels with parts left out");
  command.Add("--size", options->size, "Voxels per axis").Range(16, 2048).ShowDefault();
  // A layered texture has 2048 layers.
  command.Add("--views", options->views, "Views").Range(2, 2048).ShowDefault();
  command.Add("--repeats", options->repeats, "Runs per kernel").Range(1, 1000).ShowDefault();
  command
      .Add("--trajectory", options->trajectory,
           "Trajectory file for 1240x960 pixels of 0.308 mm (default: a wobbling C-arm)")
      .Type("FILE");
  command.Add("--json", options->json, "Also write the figures to this file").Type("FILE");
  command.Does([options] { return RunBottleneck(*options); });
}

void AddSearch(flags::Command program) {
  auto options = std::make_shared<SearchOptions>();
  flags::Command command = program.Subcommand(
      "search", "Kernel B of Zinsser & Keck (2013) over views, voxels and threads, on CUDA");
  command.Add("--size", options->size, "Voxels per axis").Range(16, 2048).ShowDefault();
  command.Add("--views", options->views, "Views").Range(2, 2048).ShowDefault();
  command.Add("--repeats", options->repeats, "Runs per configuration").Range(1, 1000).ShowDefault();
  command.Add("--best", options->best, "Configurations that are printed")
      .Range(1, 1000)
      .ShowDefault();
  command
      .Add("--trajectory", options->trajectory,
           "Trajectory file for 1240x960 pixels of 0.308 mm (default: a wobbling C-arm)")
      .Type("FILE");
  command.Add("--out", options->out, "Directory for the whole table (.csv)").Type("DIRECTORY");
  command.Does([options] { return RunSearch(*options); });
}

void AddGraphics(flags::Command program) {
  auto options = std::make_shared<GraphicsOptions>();
  flags::Command command = program.Subcommand(
      "graphics", "The same work by fragments and by a compute shader of OpenGL ES");
  command.Add("--size", options->size, "Fragments per axis").Range(16, 8192).ShowDefault();
  command.Add("--steps", options->steps, "Multiplications of each")
      .Range(16, 10000000)
      .ShowDefault();
  command.Add("--repeats", options->repeats, "Runs of each").Range(1, 1000).ShowDefault();
  command.Does([options] { return RunGraphics(*options); });
}

void AddProject(flags::Command program) {
  auto options = std::make_shared<ProjectOptions>();
  flags::Command command = program.Subcommand(
      "project", "Forward projection and its adjoint alone, by backend, model and method");
  command.Add("--backend", options->backend, "Backend").OneOf(BackendNames()).ShowDefault();
  command.Add("--model", options->models, "Models").Separator(',').ShowDefault();
  command.Add("--method", options->methods, "Methods (default: all of the backend)").Separator(',');
  command.Add("--case", options->cases, "Size and geometry")
      .OneOf({"R512", "R1024", "R2048", "H256", "S512", "C512"})
      .Separator(',')
      .ShowDefault();
  command.Add("--direction", options->directions, "Direction")
      .Separator(',')
      .OneOf({"forward", "back"})
      .ShowDefault();
  command.Add("--views", options->views, "Views (default: those of the case)").Range(2, 10000);
  command.Add("--batch", options->batch, "Views worked on at once (default: all)").Range(1, 10000);
  command.Add("--repeats", options->repeats, "Runs per case").Range(1, 1000).ShowDefault();
  command
      .Add("--trajectory", options->trajectory,
           "Trajectory file of C512, for 1240x960 pixels of 0.308 mm (default: a wobbling "
           "C-arm)")
      .Type("FILE");
  command.Does([options] { return RunProject(*options); });
}

void AddQuality(flags::Command program) {
  auto options = std::make_shared<QualityOptions>();
  flags::Command command = program.Subcommand(
      "quality",
      "Iterative methods beside FDK on a noisy, sparse short scan: error at equal edges");
  command.Add("--backend", options->backend, "Backend").OneOf(BackendNames()).ShowDefault();
  command.Add("--size", options->scan.size, "Voxels per axis").Range(32, 512).ShowDefault();
  command.Add("--views", options->scan.full_views, "Views of the dense scan")
      .Range(8, 10000)
      .ShowDefault();
  command.Add("--every", options->scan.every, "Takes every so many of its views")
      .Range(1, 100)
      .ShowDefault();
  command.Add("--photons", options->scan.photons, "Per pixel and frame; 0: no noise").ShowDefault();
  command.Add("--algorithm", options->algorithms, "Algorithms (default: all)").Separator(',');
  command.Add("--iterations", options->iterations, "Passes");
  command.Add("--early-passes", options->early_passes, "Of os_sart --cold, before the others");
  command.Add("--subsets", options->subsets, "Ordered subsets");
  command.Add("--relaxation", options->relaxation, "Step length");
  command.Add("--momentum", options->momentum, "How far steps look ahead");
  command.Add("--prior", options->prior_strength, "Strength of the prior");
  command.Add("--huber-delta", options->huber_delta_per_mm, "1/mm");
  command.Add("--tv-steps", options->tv_steps, "Steps per pass");
  command.Add("--projector", options->projector, "Projector");
  command.Add("--fdk-cutoff", options->fdk_cutoff, "Of the warm start's window");
  command.AddSwitch("--cold", options->cold, "Begin with zero");
  command.AddSwitch("--passes", options->passes, "Print the report of each pass");
  command.Add("--sheet", options->sheet, "PNG file with all images");
  command.Does([options] { return RunQuality(*options); });
}

void AddReconstruct(flags::Command program) {
  auto options = std::make_shared<ReconstructOptions>();
  flags::Command command = program.Subcommand(
      "reconstruct",
      "Raw frames in host memory to a volume in host memory, on devices with memory of their own");
  command.Add("--backend", options->backend, "Backend").OneOf(BackendNames()).ShowDefault();
  command.Add("--case", options->cases, "Size and geometry")
      .OneOf({"R512", "R1024", "R2048", "S512", "C512"})
      .Separator(',')
      .ShowDefault();
  command.Add("--precision", options->precisions, "Precision")
      .Separator(',')
      .OneOf({"exact", "fast"})
      .ShowDefault();
  command.Add("--backproject-method", options->backproject_method,
              "Method of the back-projection; another one lists them");
  command.AddSwitch("--equal-chunks", options->equal_chunks,
                    "Without the smaller chunks that a plan begins with: what they bring");
  command.AddSwitch("--equal-slabs", options->equal_slabs,
                    "Slabs of one size, without the smaller ones that a plan ends with");
  command.AddSwitch("--print-plan", options->print_plan,
                    "Print the plan of each case; the report of --json has it anyway");
  command.Add("--devices", options->devices, "Numbers of devices")
      .Separator(',')
      .Range(1, 64)
      .ShowDefault();
  command
      .Add("--device-memory-limit", options->device_memory_bytes,
           "Memory of each device that may be used, e.g. 2GiB (default: all)")
      .Bytes();
  command.Add("--repeats", options->repeats, "Runs per case").Range(1, 1000).ShowDefault();
  command
      .Add("--trajectory", options->trajectory,
           "Trajectory file of C512, for 1240x960 pixels of 0.308 mm (default: a wobbling "
           "C-arm)")
      .Type("FILE");
  command.Add("--trace", options->trace,
              "Also write what the devices did in the last run, for ui.perfetto.dev");
  command.Add("--json", options->json, "Also write the figures to this file").Type("FILE");
  command.Does([options] { return RunReconstruct(*options); });
}

void AddRefine(flags::Command program) {
  auto options = std::make_shared<RefineOptions>();
  flags::Command command = program.Subcommand(
      "refine", "Whole iterative reconstructions, raw frames in host memory to a volume there");
  command.Add("--backend", options->backend, "Backend").OneOf(BackendNames()).ShowDefault();
  command.Add("--case", options->cases, "Size and geometry")
      .OneOf({"R512", "R1024", "R2048", "H256", "S512", "C512"})
      .Separator(',')
      .ShowDefault();
  command.Add("--views", options->views, "Views (default: those of the case)").Range(2, 10000);
  command.Add("--algorithm", options->algorithms, "Algorithms").Separator(',').ShowDefault();
  command.Add("--projector", options->projector, "Projector").ShowDefault();
  command.Add("--forward-method", options->forward_method,
              "Method of the projector's forward direction (default: the backend's)");
  command.Add("--back-method", options->back_method,
              "Method of the projector's adjoint (default: the backend's)");
  command.AddSwitch("--unmatched", options->unmatched, "Back-project as FDK does");
  command.Add("--iterations", options->settings.iterations, "Passes over all views")
      .Range(1, 1000)
      .ShowDefault();
  command.Add("--subsets", options->settings.subsets, "Ordered subsets");
  command.Add("--momentum", options->settings.momentum, "How far steps look ahead").ShowDefault();
  command.AddSwitch("--from-zero", options->from_zero, "Begin with nothing instead of with FDK");
  command
      .Add("--early-passes", options->settings.early_passes,
           "Of os_sart, while views come: sums of rows and columns, from zero passes")
      .Range(0, 64);
  command
      .Add("--arm-seconds", options->arm_seconds,
           "Frames come evenly in so many seconds, FDK and early passes go on meanwhile; also says "
           "what is left after the last frame (default: they are there)")
      .Range(0.0, 600.0);
  command.Add("--prior", options->settings.prior_strength, "Strength of the prior");
  command.AddSwitch("--statistical-weights", options->settings.statistical_weights,
                    "Weigh rays by their counts");
  command.AddSwitch("--fast", options->fast, "Fast methods where the backend has them");
  command.Add("--devices", options->devices, "Numbers of devices")
      .Separator(',')
      .Range(1, 64)
      .ShowDefault();
  command
      .Add("--device-memory-limit", options->device_memory_bytes,
           "Memory of each device that may be used, e.g. 2GiB (default: all)")
      .Bytes();
  command.Add("--repeats", options->repeats, "Runs per case").Range(1, 1000).ShowDefault();
  command
      .Add("--trajectory", options->trajectory,
           "Trajectory file of C512, for 1240x960 pixels of 0.308 mm (default: a wobbling "
           "C-arm)")
      .Type("FILE");
  command.Add("--trace", options->trace,
              "Also write what the devices did in the last run's iterations, for ui.perfetto.dev");
  command.Does([options] { return RunRefine(*options); });
}

void AddVoxelDriven(flags::Command program) {
  auto options = std::make_shared<VoxelDrivenOptions>();
  flags::Command command = program.Subcommand(
      "voxel-driven", "Voxel-driven forward projection in the case of Du et al. (2017)");
  command.Add("--backend", options->backend, "Backend").OneOf(BackendNames()).ShowDefault();
  command.Add("--slices", options->slices, "Slices of 512x512 voxels")
      .Separator(',')
      .Range(1, 2048)
      .ShowDefault();
  command.Add("--subvoxels", options->subvoxels, "Pieces of a voxel: 1, 8")
      .Separator(',')
      .OneOfNumbers({1, 8})
      .ShowDefault();
  command.Add("--views", options->views, "Views around the circle").Range(2, 10000).ShowDefault();
  command.Add("--repeats", options->repeats, "Runs per method").Range(1, 1000).ShowDefault();
  command
      .Add("--sad-over-sdd", options->ratios,
           "Source to axis, of source to detector: 0.6 to 0.999; the paper: 0.6 to 1")
      .Separator(',')
      .Range(0.1, 0.999)
      .ShowDefault();
  command.Add("--json", options->json, "Also write the figures to this file").Type("FILE");
  command.Add("--out", options->out, "Directory for tables (.csv) and pictures (.png)")
      .Type("DIRECTORY");
  command.Does([options] { return RunVoxelDriven(*options); });
}

void AddArithmetic(flags::Command program) {
  auto options = std::make_shared<ArithmeticOptions>();
  flags::Command command =
      program.Subcommand("arithmetic", "Vector arithmetic and priors on volumes, in GB/s");
  command.Add("--backend", options->backend, "Backend").OneOf(BackendNames()).ShowDefault();
  command.Add("--size", options->size, "Voxels per axis").Range(16, 1024).ShowDefault();
  command.Add("--repeats", options->repeats, "Runs per operation").Range(1, 1000).ShowDefault();
  command.Does([options] { return RunArithmetic(*options); });
}

void AddCorrections(flags::Command program) {
  auto options = std::make_shared<CorrectionsOptions>();
  flags::Command command = program.Subcommand(
      "corrections", "The chain from raw counts to line integrals, step by step, without uploads");
  command.Add("--backend", options->backend, "Backend").OneOf(BackendNames()).ShowDefault();
  command.Add("--views", options->views, "Frames").Range(1, 10000).ShowDefault();
  command.Add("--batch", options->batch, "Frames worked on at once").Range(1, 512).ShowDefault();
  command.Add("--threads", options->threads, "Of the CPU (default: all)").Range(1, 1024);
  command.Add("--repeats", options->repeats, "Runs per step").Range(1, 1000).ShowDefault();
  command.Does([options] { return RunCorrections(*options); });
}

void AddFanBeam(flags::Command program) {
  auto options = std::make_shared<FanBeamOptions>();
  flags::Command command = AddFanBeamCommand(program, *options);
  command.Does([options] { return RunFanBeam(*options); });
}

void AddSiddon(flags::Command program) {
  auto options = std::make_shared<SiddonOptions>();
  flags::Command command = AddSiddonCommand(program, *options);
  command.Does([options] { return RunSiddon(*options); });
}

void AddLadder(flags::Command program) {
  auto options = std::make_shared<LadderOptions>();
  flags::Command command = AddLadderCommand(program, *options);
  command.Does([options] { return RunLadder(*options); });
}

void AddRabbitCt(flags::Command program) {
  auto options = std::make_shared<RabbitCtOptions>();
  flags::Command command = AddRabbitCtCommand(program, *options);
  command.Does([options] { return RunRabbitCt(*options); });
}

void AddRooms(flags::Command program) {
  auto options = std::make_shared<RoomsOptions>();
  flags::Command command = AddRoomsCommand(program, *options);
  command.Does([options] { return RunRooms(*options); });
}

}  // namespace

void AddCommands(flags::Command program) {
  AddFdk(program);
  AddBackproject(program);
  AddBottleneck(program);
  AddSearch(program);
  AddGraphics(program);
  AddProject(program);
  AddQuality(program);
  AddReconstruct(program);
  AddRefine(program);
  AddVoxelDriven(program);
  AddArithmetic(program);
  AddCorrections(program);
  AddFanBeam(program);
  AddSiddon(program);
  AddLadder(program);
  AddRabbitCt(program);
  AddRooms(program);
  program.Group("The whole way", {"fdk", "reconstruct", "refine", "quality"});
  program.Group("One operation", {"backproject", "project", "corrections", "arithmetic"});
  program.Group("A CUDA device, or OpenGL ES", {"bottleneck", "search", "graphics"});
  program.Group("Studies of papers", {"fan-beam", "ladder", "rabbitct", "siddon", "voxel-driven"});
  program.Group("Servers", {"rooms"});
}

}  // namespace isocenter::bench
