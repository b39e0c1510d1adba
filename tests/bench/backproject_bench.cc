#include "tests/bench/backproject_bench.h"

#include <chrono>
#include <cstdio>

#include "kernels/base/status_macros.h"
#include "kernels/geometry/volume_grid.h"
#include "tests/all_methods.h"
#include "tests/bench/machine.h"
#include "tests/bench/noise.h"
#include "tests/bench/scan.h"
#include "tests/bench/summary.h"
#include "tests/opened_session.h"

namespace isocenter::bench {
namespace {

// Edge of the cube that is reconstructed, whatever the number of voxels.
constexpr double kEdgeMm = 256;

absl::StatusOr<std::vector<double>> Measure(ops::Backproject& method, ops::Session& session,
                                            const Trajectory& matrices,
                                            const ops::ProjectionStack& filtered,
                                            ops::VolumeBuffer& volume, int repeats) {
  std::vector<double> seconds;
  for (int i = 0; i <= repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ISO_RETURN_IF_ERROR(method.Run(matrices, filtered, volume));
    ISO_RETURN_IF_ERROR(session.Synchronize());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (i > 0) seconds.push_back(elapsed.count());  // the first one allocates
  }
  return seconds;
}

}  // namespace

absl::Status RunBackproject(const BackprojectOptions& options) {
  const auto& table = AllMethods().backproject;
  std::vector<std::string> methods = options.methods;
  if (methods.empty()) {
    for (const auto& entry : table.List()) {
      if (entry.backend == options.backend) methods.push_back(entry.method);
    }
  }
  ISO_ASSIGN_OR_RETURN(const auto session,
                       OpenSession(AllMethods(), options.backend, {.threads = 0}));
  ISO_ASSIGN_OR_RETURN(const Trajectory matrices,
                       MakeTrajectory(options.trajectory, options.views));
  const Shape3 shape{options.views, kFullDetector.rows, kFullDetector.columns};
  ISO_ASSIGN_OR_RETURN(const auto filtered,
                       session->NewProjectionStack(shape, ops::StackUse::kProjections));
  ISO_RETURN_IF_ERROR(filtered->Upload(0, {Noise(shape.count()).data(), shape}));
  std::printf("%s, commit %s\n", session->device().description().c_str(), Commit().c_str());
  std::printf("%d views of %dx%d, cube of %g mm; GUPS: median (min-max) of %d runs\n",
              options.views, kFullDetector.columns, kFullDetector.rows, kEdgeMm, options.repeats);
  for (const int size : options.sizes) {
    const double mm = kEdgeMm / size;
    const VolumeGrid grid = CenteredGrid(size, size, size, {mm, mm, mm});
    ISO_ASSIGN_OR_RETURN(const auto volume, session->NewVolume(grid));
    for (const std::string& name : methods) {
      ISO_ASSIGN_OR_RETURN(const auto factory, table.Find(options.backend, name));
      ISO_ASSIGN_OR_RETURN(const auto method, factory(*session));
      ISO_ASSIGN_OR_RETURN(
          const std::vector<double> seconds,
          Measure(*method, *session, matrices, *filtered, *volume, options.repeats));
      const Summary gups = Gups(seconds, static_cast<double>(grid.voxels()) * options.views);
      std::printf("%5d^3  %-12s %8.1f (%.1f-%.1f)\n", size, name.c_str(), gups.median, gups.least,
                  gups.most);
      std::fflush(stdout);
    }
  }
  return absl::OkStatus();
}

}  // namespace isocenter::bench
