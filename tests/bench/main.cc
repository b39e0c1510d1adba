// isocenter-bench: prints how fast this machine reconstructs.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "tests/bench/backproject_bench.h"
#include "tests/bench/bottleneck_bench.h"
#include "tests/bench/fdk_bench.h"
#include "tests/bench/project_bench.h"
#include "tests/bench/reconstruct_bench.h"
#include "tests/bench/rooms_flags.h"

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

  isocenter::bench::RoomsOptions rooms;
  CLI::App* rooms_command = isocenter::bench::AddRoomsCommand(app, rooms);

  CLI11_PARSE(app, argc, argv);
  const absl::Status status =
      backproject_command->parsed()   ? isocenter::bench::RunBackproject(backproject)
      : bottleneck_command->parsed()  ? isocenter::bench::RunBottleneck(bottleneck)
      : project_command->parsed()     ? isocenter::bench::RunProject(project)
      : rooms_command->parsed()       ? isocenter::bench::RunRooms(rooms)
      : reconstruct_command->parsed() ? isocenter::bench::RunReconstruct(reconstruct)
                                      : isocenter::bench::RunFdk(fdk);
  if (!status.ok()) {
    std::fprintf(stderr, "isocenter-bench: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
