#include "tests/bench/project_bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "kernels/base/status_macros.h"
#include "tests/all_methods.h"
#include "tests/bench/machine.h"
#include "tests/bench/noise.h"
#include "tests/bench/scan.h"
#include "tests/bench/summary.h"
#include "tests/opened_session.h"

#ifdef ISOCENTER_HAS_CUDA
#include "tests/bench/cuda_ceilings.h"
#endif

namespace isocenter::bench {
namespace {

// Slices or views of noise that are made at once; they are repeated.
constexpr int kNoiseSlices = 8;

// Fills a volume or a stack of `whole` with noise.
template <class Buffer>
absl::Status FillWithNoise(Shape3 whole, Buffer& buffer) {
  const Shape3 part{std::min<int64_t>(kNoiseSlices, whole.slow), whole.middle, whole.fast};
  const std::vector<float> noise = Noise(part.count());
  const HostView3<const float> slices(noise.data(), part);
  for (int64_t first = 0; first < whole.slow; first += part.slow) {
    const int64_t count = std::min(part.slow, whole.slow - first);
    ISO_RETURN_IF_ERROR(buffer.Upload(first, slices.slices(0, count)));
  }
  return absl::OkStatus();
}

// Planes of voxels across the major axis of the detector's middle ray: what a ray of the view
// crosses in Joseph's sense, whatever the model.
int SlabsOf(const ProjectionMatrix& matrix, const ScanCase& scan) {
  const std::array<double, 9> inverse = InverseLeft(ToVoxelIndices(matrix, scan.grid));
  const double u = 0.5 * (scan.detector.columns - 1), v = 0.5 * (scan.detector.rows - 1);
  const int counts[] = {scan.grid.nx, scan.grid.ny, scan.grid.nz};
  int major = 0;
  double longest = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double* const row = &inverse[3 * axis];
    const double d = std::abs(row[0] * u + row[1] * v + row[2]);
    if (d > longest) {
      longest = d;
      major = axis;
    }
  }
  return counts[major];
}

// Seconds of `work` (first view, views), over all views in batches.
template <class Work>
absl::StatusOr<std::vector<double>> Measure(ops::Session& session, int views, int batch,
                                            int repeats, const Work& work) {
  std::vector<double> seconds;
  for (int i = 0; i <= repeats; ++i) {
    ISO_RETURN_IF_ERROR(session.Synchronize());
    const auto start = std::chrono::steady_clock::now();
    for (int first = 0; first < views; first += batch) {
      ISO_RETURN_IF_ERROR(work(first, std::min(batch, views - first)));
    }
    ISO_RETURN_IF_ERROR(session.Synchronize());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (i > 0) seconds.push_back(elapsed.count());  // the first one allocates
  }
  return seconds;
}

template <class Factory>
std::vector<std::string> MethodsOf(const ops::MethodTable<Factory>& table,
                                   const ProjectOptions& options) {
  std::vector<std::string> methods;
  for (const auto& entry : table.List()) {
    if (entry.backend != options.backend) continue;
    const auto& wanted = options.methods;
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), entry.method) != wanted.end()) {
      methods.push_back(entry.method);
    }
  }
  return methods;
}

// What the runs of one case share.
struct Resident {
  const ScanCase& scan;
  ops::Session& session;
  ops::VolumeBuffer& volume;
  ops::ProjectionStack& projections;
  double ray_slabs, updates;  // of all views
};

void Print(const std::string& name, const std::string& model, const std::string& method,
           const char* direction, const std::vector<double>& seconds, double amount,
           const char* unit, int64_t workspace) {
  const Summary time = Summarize(seconds);
  const Summary rate = Gups(seconds, amount);
  std::printf("%-6s %-19s %-12s %-7s %9.1f ms (%.1f-%.1f) %8.1f %s, workspace %.0f MiB\n",
              name.c_str(), model.c_str(), method.c_str(), direction, 1e3 * time.median,
              1e3 * time.least, 1e3 * time.most, rate.median, unit,
              static_cast<double>(workspace) / (1 << 20));
  std::fflush(stdout);
}

absl::Status RunModel(const std::string& name, const std::string& model_name,
                      const ops::ProjectorMethods& methods, const ProjectOptions& options,
                      const Resident& on) {
  const auto views_of = [&on](int first, int count) {
    return std::span(on.scan.trajectory).subspan(first, count);
  };
  const int views = static_cast<int>(on.scan.trajectory.size());
  const int batch = static_cast<int>(on.projections.shape().slow);
  const Shape3& shape = on.projections.shape();
  const auto wanted = [&options](const char* direction) {
    return std::find(options.directions.begin(), options.directions.end(), direction) !=
           options.directions.end();
  };
  if (wanted("forward")) {
    for (const std::string& method : MethodsOf(methods.forward, options)) {
      ISO_ASSIGN_OR_RETURN(const auto factory, methods.forward.Find(options.backend, method));
      ISO_ASSIGN_OR_RETURN(const auto operation, factory(on.session));
      ISO_ASSIGN_OR_RETURN(
          const auto seconds,
          Measure(on.session, views, batch, options.repeats, [&](int first, int count) {
            return operation->Run(views_of(first, count), on.volume, on.projections);
          }));
      Print(name, model_name, method, "forward", seconds, on.ray_slabs, "G ray-slabs/s",
            operation->WorkspaceBytes(on.scan.grid, shape));
    }
  }
  if (wanted("back")) {
    for (const std::string& method : MethodsOf(methods.back, options)) {
      ISO_ASSIGN_OR_RETURN(const auto factory, methods.back.Find(options.backend, method));
      ISO_ASSIGN_OR_RETURN(const auto operation, factory(on.session));
      ISO_ASSIGN_OR_RETURN(
          const auto seconds,
          Measure(on.session, views, batch, options.repeats, [&](int first, int count) {
            return operation->Run(views_of(first, count), on.projections, on.volume);
          }));
      Print(name, model_name, method, "back", seconds, on.updates, "GUPS",
            operation->WorkspaceBytes(on.scan.grid, shape));
    }
  }
  return absl::OkStatus();
}

absl::Status RunCase(const std::string& name, const ProjectOptions& options,
                     ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(const ScanCase scan, MakeScanCase(name, options.views, options.trajectory));
  const int views = static_cast<int>(scan.trajectory.size());
  const int batch = options.batch > 0 ? std::min(options.batch, views) : views;
  const Shape3 shape{batch, scan.detector.rows, scan.detector.columns};
  ISO_ASSIGN_OR_RETURN(const auto volume, session.NewVolume(scan.grid));
  ISO_RETURN_IF_ERROR(FillWithNoise(scan.grid.shape(), *volume));
  ISO_ASSIGN_OR_RETURN(const auto stack,
                       session.NewProjectionStack(shape, ops::StackUse::kProjections));
  ISO_RETURN_IF_ERROR(FillWithNoise(shape, *stack));
  double ray_slabs = 0;
  for (const ProjectionMatrix& matrix : scan.trajectory) {
    ray_slabs += static_cast<double>(shape.middle * shape.fast) * SlabsOf(matrix, scan);
  }
  std::printf("%s: %d views of %dx%d in batches of %d, %dx%dx%d voxels\n", name.c_str(), views,
              scan.detector.columns, scan.detector.rows, batch, scan.grid.nx, scan.grid.ny,
              scan.grid.nz);
  const Resident on{scan,   session,   *volume,
                    *stack, ray_slabs, static_cast<double>(scan.grid.voxels()) * views};
  for (const std::string& model_name : options.models) {
    ISO_ASSIGN_OR_RETURN(const ops::ProjectorModel model, ops::ProjectorNamed(model_name));
    const auto methods = AllMethods().projectors.find(model);
    if (methods == AllMethods().projectors.end()) continue;  // no backend has it
    ISO_RETURN_IF_ERROR(RunModel(name, model_name, methods->second, options, on));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunProject(const ProjectOptions& options) {
  ISO_ASSIGN_OR_RETURN(const auto session,
                       OpenSession(AllMethods(), options.backend, {.threads = 0}));
  std::printf("%s, commit %s; median (min-max) of %d runs\n",
              session->device().description().c_str(), Commit().c_str(), options.repeats);
#ifdef ISOCENTER_HAS_CUDA
  if (options.backend == "cuda") {
    ISO_ASSIGN_OR_RETURN(const CudaCeilings ceilings, MeasureCudaCeilings());
    std::printf("ceilings: device copy %.0f GB/s, %.0f G texture samples/s at %.0f MHz\n",
                ceilings.device_copy_gb_s, ceilings.texture_gsamples_s, ceilings.clock_mhz);
  }
#endif
  for (const std::string& name : options.cases) {
    ISO_RETURN_IF_ERROR(RunCase(name, options, *session));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::bench
