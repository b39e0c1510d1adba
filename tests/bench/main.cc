// isocenter-bench: prints how fast this machine reconstructs.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "tests/bench/arithmetic_bench.h"
#include "tests/bench/backproject_bench.h"
#include "tests/bench/bottleneck_bench.h"
#include "tests/bench/corrections_bench.h"
#include "tests/bench/fanbeam/bench.h"
#include "tests/bench/fanbeam/flags.h"
#include "tests/bench/fdk_bench.h"
#include "tests/bench/project_bench.h"
#include "tests/bench/quality_bench.h"
#include "tests/bench/reconstruct_bench.h"
#include "tests/bench/refine_bench.h"
#include "tests/bench/rooms/rooms_flags.h"
#include "tests/bench/voxel_driven_bench.h"

int main(int argc, char** argv) {
  CLI::App app("Measures Isocenter's kernels on this machine, and servers under load.");
  app.require_subcommand(1);

  isocenter::bench::FdkOptions fdk;
  CLI::App* fdk_command =
      app.add_subcommand("fdk", "Filter, back-projection and whole FDK on the CPU, in GUPS");
  fdk_command->add_option("--repeats", fdk.repeats, "Runs per case")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  fdk_command->add_option("--size", fdk.sizes, "Voxels per axis")
      ->delimiter(',')
      ->check(CLI::Range(16, 2048))
      ->capture_default_str();
  fdk_command->add_option("--threads", fdk.threads, "Numbers of threads")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  fdk_command
      ->add_option("--simd", fdk.simd,
                   "Instruction sets: AVX-512, AVX2, SSE4, scalar (default: the first two)")
      ->delimiter(',');
  fdk_command
      ->add_option("--views", fdk.views, "Views (default: 128 up to 256 voxels per axis, 64 above)")
      ->check(CLI::Range(2, 10000));
  fdk_command
      ->add_option("--trajectory", fdk.trajectory,
                   "Trajectory file for 1240x960 pixels of 0.308 mm (default: a wobbling C-arm)")
      ->check(CLI::ExistingFile);
  fdk_command->add_option("--json", fdk.json, "Also write the figures to this file");

  isocenter::bench::BackprojectOptions backproject;
  CLI::App* backproject_command =
      app.add_subcommand("backproject", "Back-projection alone, by backend and method, in GUPS");
  backproject_command->add_option("--backend", backproject.backend, "Backend")
      ->capture_default_str();
  backproject_command
      ->add_option("--method", backproject.methods, "Methods (default: all of the backend)")
      ->delimiter(',');
  backproject_command->add_option("--size", backproject.sizes, "Voxels per axis")
      ->delimiter(',')
      ->check(CLI::Range(16, 2048))
      ->capture_default_str();
  backproject_command->add_option("--views", backproject.views, "Views")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  backproject_command->add_option("--repeats", backproject.repeats, "Runs per case")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  backproject_command
      ->add_option("--trajectory", backproject.trajectory,
                   "Trajectory file for 1240x960 pixels of 0.308 mm (default: a wobbling C-arm)")
      ->check(CLI::ExistingFile);

  isocenter::bench::BottleneckOptions bottleneck;
  CLI::App* bottleneck_command = app.add_subcommand(
      "bottleneck", "What bounds back-projection on a CUDA device, by kernels with parts left out");
  bottleneck_command->add_option("--size", bottleneck.size, "Voxels per axis")
      ->check(CLI::Range(16, 2048))
      ->capture_default_str();
  // A layered texture has 2048 layers.
  bottleneck_command->add_option("--views", bottleneck.views, "Views")
      ->check(CLI::Range(2, 2048))
      ->capture_default_str();
  bottleneck_command->add_option("--repeats", bottleneck.repeats, "Runs per kernel")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  bottleneck_command
      ->add_option("--trajectory", bottleneck.trajectory,
                   "Trajectory file for 1240x960 pixels of 0.308 mm (default: a wobbling C-arm)")
      ->check(CLI::ExistingFile);
  bottleneck_command->add_option("--json", bottleneck.json, "Also write the figures to this file");

  isocenter::bench::ProjectOptions project;
  CLI::App* project_command = app.add_subcommand(
      "project", "Forward projection and its adjoint alone, by backend, model and method");
  project_command->add_option("--backend", project.backend, "Backend")->capture_default_str();
  project_command->add_option("--model", project.models, "Models")
      ->delimiter(',')
      ->capture_default_str();
  project_command->add_option("--method", project.methods, "Methods (default: all of the backend)")
      ->delimiter(',');
  project_command
      ->add_option("--case", project.cases, "R512, R1024, R2048, H256 (for CPUs), S512, C512")
      ->delimiter(',')
      ->capture_default_str();
  project_command->add_option("--direction", project.directions, "forward, back")
      ->delimiter(',')
      ->check(CLI::IsMember({"forward", "back"}))
      ->capture_default_str();
  project_command->add_option("--views", project.views, "Views (default: those of the case)")
      ->check(CLI::Range(2, 10000));
  project_command->add_option("--batch", project.batch, "Views worked on at once (default: all)")
      ->check(CLI::Range(1, 10000));
  project_command->add_option("--repeats", project.repeats, "Runs per case")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  project_command
      ->add_option("--trajectory", project.trajectory,
                   "Trajectory file of C512, for 1240x960 pixels of 0.308 mm (default: a wobbling "
                   "C-arm)")
      ->check(CLI::ExistingFile);

  isocenter::bench::QualityOptions quality;
  CLI::App* quality_command = app.add_subcommand(
      "quality",
      "Iterative methods beside FDK on a noisy, sparse short scan: error at equal edges");
  quality_command->add_option("--backend", quality.backend, "Backend")->capture_default_str();
  quality_command->add_option("--size", quality.scan.size, "Voxels per axis")
      ->check(CLI::Range(32, 512))
      ->capture_default_str();
  quality_command->add_option("--views", quality.scan.full_views, "Views of the dense scan")
      ->check(CLI::Range(8, 10000))
      ->capture_default_str();
  quality_command->add_option("--every", quality.scan.every, "Takes every so many of its views")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  quality_command->add_option("--photons", quality.scan.photons, "Per pixel and frame; 0: no noise")
      ->capture_default_str();
  quality_command->add_option("--algorithm", quality.algorithms, "Algorithms (default: all)")
      ->delimiter(',');
  quality_command->add_option("--iterations", quality.iterations, "Passes");
  quality_command->add_option("--subsets", quality.subsets, "Ordered subsets");
  quality_command->add_option("--relaxation", quality.relaxation, "Step length");
  quality_command->add_option("--prior", quality.prior_strength, "Strength of the prior");
  quality_command->add_option("--huber-delta", quality.huber_delta_per_mm, "1/mm");
  quality_command->add_option("--tv-steps", quality.tv_steps, "Steps per pass");
  quality_command->add_option("--projector", quality.projector, "Projector");
  quality_command->add_option("--fdk-cutoff", quality.fdk_cutoff, "Of the warm start's window");
  quality_command->add_flag("--cold", quality.cold, "Begin with zero");
  quality_command->add_flag("--passes", quality.passes, "Print the report of each pass");
  quality_command->add_option("--sheet", quality.sheet, "PNG file with all images");

  isocenter::bench::ReconstructOptions reconstruct;
  CLI::App* reconstruct_command = app.add_subcommand(
      "reconstruct",
      "Raw frames in host memory to a volume in host memory, on devices with memory of their own");
  reconstruct_command->add_option("--backend", reconstruct.backend, "Backend")
      ->capture_default_str();
  reconstruct_command->add_option("--case", reconstruct.cases, "R512, R1024, R2048, S512, C512")
      ->delimiter(',')
      ->capture_default_str();
  reconstruct_command->add_option("--precision", reconstruct.precisions, "exact, fast")
      ->delimiter(',')
      ->check(CLI::IsMember({"exact", "fast"}))
      ->capture_default_str();
  reconstruct_command->add_option("--backproject-method", reconstruct.backproject_method,
                                  "Method of the back-projection; another one lists them");
  reconstruct_command->add_flag("--print-plan", reconstruct.print_plan,
                                "Print the plan of each case; the report of --json has it anyway");
  reconstruct_command->add_option("--devices", reconstruct.devices, "Numbers of devices")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  reconstruct_command
      ->add_option("--device-memory-limit", reconstruct.device_memory_bytes,
                   "Memory of each device that may be used, e.g. 2GiB (default: all)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  reconstruct_command->add_option("--repeats", reconstruct.repeats, "Runs per case")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  reconstruct_command
      ->add_option("--trajectory", reconstruct.trajectory,
                   "Trajectory file of C512, for 1240x960 pixels of 0.308 mm (default: a wobbling "
                   "C-arm)")
      ->check(CLI::ExistingFile);
  reconstruct_command->add_option(
      "--trace", reconstruct.trace,
      "Also write what the devices did in the last run, for ui.perfetto.dev");
  reconstruct_command->add_option("--json", reconstruct.json,
                                  "Also write the figures to this file");

  isocenter::bench::RefineOptions refine;
  CLI::App* refine_command = app.add_subcommand(
      "refine", "Whole iterative reconstructions, raw frames in host memory to a volume there");
  refine_command->add_option("--backend", refine.backend, "Backend")->capture_default_str();
  refine_command->add_option("--case", refine.cases, "R512, R1024, R2048, H256, S512, C512")
      ->delimiter(',')
      ->capture_default_str();
  refine_command->add_option("--views", refine.views, "Views (default: those of the case)")
      ->check(CLI::Range(2, 10000));
  refine_command->add_option("--algorithm", refine.algorithms, "Algorithms")
      ->delimiter(',')
      ->capture_default_str();
  refine_command->add_option("--projector", refine.projector, "Projector")->capture_default_str();
  refine_command->add_flag("--unmatched", refine.unmatched, "Back-project as FDK does");
  refine_command->add_option("--iterations", refine.settings.iterations, "Passes over all views")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  refine_command->add_option("--subsets", refine.settings.subsets, "Ordered subsets");
  refine_command->add_option("--prior", refine.settings.prior_strength, "Strength of the prior");
  refine_command->add_flag("--statistical-weights", refine.settings.statistical_weights,
                           "Weigh rays by their counts");
  refine_command->add_flag("--fast", refine.fast, "Fast methods where the backend has them");
  refine_command->add_option("--devices", refine.devices, "Numbers of devices")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  refine_command
      ->add_option("--device-memory-limit", refine.device_memory_bytes,
                   "Memory of each device that may be used, e.g. 2GiB (default: all)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  refine_command->add_option("--repeats", refine.repeats, "Runs per case")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  refine_command
      ->add_option("--trajectory", refine.trajectory,
                   "Trajectory file of C512, for 1240x960 pixels of 0.308 mm (default: a wobbling "
                   "C-arm)")
      ->check(CLI::ExistingFile);
  refine_command->add_option(
      "--trace", refine.trace,
      "Also write what the devices did in the last run's iterations, for ui.perfetto.dev");

  isocenter::bench::VoxelDrivenOptions voxel_driven;
  CLI::App* voxel_driven_command = app.add_subcommand(
      "voxel-driven", "Voxel-driven forward projection in the case of Du et al. (2017)");
  voxel_driven_command->add_option("--backend", voxel_driven.backend, "Backend")
      ->capture_default_str();
  voxel_driven_command->add_option("--slices", voxel_driven.slices, "Slices of 512x512 voxels")
      ->delimiter(',')
      ->check(CLI::Range(1, 2048))
      ->capture_default_str();
  voxel_driven_command->add_option("--subvoxels", voxel_driven.subvoxels, "Pieces of a voxel: 1, 8")
      ->delimiter(',')
      ->check(CLI::IsMember({1, 8}))
      ->capture_default_str();
  voxel_driven_command->add_option("--views", voxel_driven.views, "Views around the circle")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  voxel_driven_command->add_option("--repeats", voxel_driven.repeats, "Runs per method")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  voxel_driven_command->add_option("--json", voxel_driven.json,
                                   "Also write the figures to this file");

  isocenter::bench::ArithmeticOptions arithmetic;
  CLI::App* arithmetic_command =
      app.add_subcommand("arithmetic", "Vector arithmetic and priors on volumes, in GB/s");
  arithmetic_command->add_option("--backend", arithmetic.backend, "Backend")->capture_default_str();
  arithmetic_command->add_option("--size", arithmetic.size, "Voxels per axis")
      ->check(CLI::Range(16, 1024))
      ->capture_default_str();
  arithmetic_command->add_option("--repeats", arithmetic.repeats, "Runs per operation")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();

  isocenter::bench::CorrectionsOptions corrections;
  CLI::App* corrections_command = app.add_subcommand(
      "corrections", "The chain from raw counts to line integrals, step by step, without uploads");
  corrections_command->add_option("--backend", corrections.backend, "Backend")
      ->capture_default_str();
  corrections_command->add_option("--views", corrections.views, "Frames")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  corrections_command->add_option("--batch", corrections.batch, "Frames worked on at once")
      ->check(CLI::Range(1, 512))
      ->capture_default_str();
  corrections_command->add_option("--threads", corrections.threads, "Of the CPU (default: all)")
      ->check(CLI::Range(1, 1024));
  corrections_command->add_option("--repeats", corrections.repeats, "Runs per step")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  isocenter::bench::FanBeamOptions fan_beam;
  CLI::App* fan_beam_command = isocenter::bench::AddFanBeamCommand(app, fan_beam);

  isocenter::bench::RoomsOptions rooms;
  CLI::App* rooms_command = isocenter::bench::AddRoomsCommand(app, rooms);

  CLI11_PARSE(app, argc, argv);
  const absl::Status status =
      backproject_command->parsed()    ? isocenter::bench::RunBackproject(backproject)
      : bottleneck_command->parsed()   ? isocenter::bench::RunBottleneck(bottleneck)
      : fan_beam_command->parsed()     ? isocenter::bench::RunFanBeam(fan_beam)
      : project_command->parsed()      ? isocenter::bench::RunProject(project)
      : quality_command->parsed()      ? isocenter::bench::RunQuality(quality)
      : refine_command->parsed()       ? isocenter::bench::RunRefine(refine)
      : rooms_command->parsed()        ? isocenter::bench::RunRooms(rooms)
      : voxel_driven_command->parsed() ? isocenter::bench::RunVoxelDriven(voxel_driven)
      : arithmetic_command->parsed()   ? isocenter::bench::RunArithmetic(arithmetic)
      : corrections_command->parsed()  ? isocenter::bench::RunCorrections(corrections)
      : reconstruct_command->parsed()  ? isocenter::bench::RunReconstruct(reconstruct)
                                       : isocenter::bench::RunFdk(fdk);
  if (!status.ok()) {
    std::fprintf(stderr, "isocenter-bench: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
