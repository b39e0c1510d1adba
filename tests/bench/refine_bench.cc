#include "tests/bench/refine_bench.h"

#include <chrono>
#include <cstdio>
#include <iterator>
#include <memory>

#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/plan_text.h"
#include "kernels/recon/reconstructor.h"
#include "tests/all_methods.h"
#include "tests/bench/machine.h"
#include "tests/bench/noise.h"
#include "tests/bench/refine_live.h"
#include "tests/bench/scan.h"
#include "tests/bench/summary.h"
#include "tests/bench/write_file.h"

#ifdef ISOCENTER_HAS_CUDA
#include "tests/bench/cuda_ceilings.h"
#endif

namespace isocenter::bench {
namespace {

constexpr double kMib = 1 << 20;

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What is around the iterations, in the order in which it is done.
constexpr const char* kAround[] = {"fdk", "buffers", "frames", "start", "read"};

struct Times {
  std::vector<double> iterations, whole;
  std::vector<double> around[std::size(kAround)];
  double last_residual = 0;
  std::vector<recon::DeviceSpan> trace;  // of the last run's iterations
};

// The table with the method before all others of the backend, so that it is the default. Errors:
// NOT_FOUND.
template <class Table>
absl::Status Prefer(const std::string& backend, const std::string& method, Table& table) {
  if (method.empty()) return absl::OkStatus();
  ISO_ASSIGN_OR_RETURN(const auto* wanted, table.FindEntry(backend, method));
  Table preferred;
  for (const ops::Precision precision : {ops::Precision::kExact, ops::Precision::kFast}) {
    preferred.Add(backend, method, wanted->factory, precision, wanted->order);
  }
  for (const auto& entry : table.List()) {
    preferred.Add(entry.backend, entry.method, entry.factory, entry.precision, entry.order);
  }
  table = std::move(preferred);
  return absl::OkStatus();
}

// All methods, the published among them, with those that were asked for as defaults.
absl::StatusOr<ops::Registry> MethodsOf(const RefineOptions& options) {
  ops::Registry registry = AllMethods();
  ISO_ASSIGN_OR_RETURN(const ops::ProjectorModel model, ops::ProjectorNamed(options.projector));
  ops::ProjectorMethods& methods = registry.projectors[model];
  ISO_RETURN_IF_ERROR(Prefer(options.backend, options.forward_method, methods.forward));
  ISO_RETURN_IF_ERROR(Prefer(options.backend, options.back_method, methods.back));
  return registry;
}

// One refinement, its buffers included in `whole`.
absl::Status RunOnce(const recon::RefinementPlan& plan, const std::vector<ops::Device*>& devices,
                     const ops::Registry& registry, const ops::RawFrames& frames,
                     HostView3<float> volume, Times& times) {
  const auto start = Clock::now();
  auto since = start;
  const auto end = [&](int part) {
    times.around[part].push_back(SecondsSince(since));
    since = Clock::now();
  };
  if (plan.warm_start) {
    ISO_ASSIGN_OR_RETURN(const auto reconstructor,
                         recon::Reconstructor::Create(*plan.warm_start, registry, devices));
    ISO_RETURN_IF_ERROR(reconstructor->Run(frames, volume));
  }
  end(0);
  ISO_ASSIGN_OR_RETURN(const auto refinement, recon::Refinement::Create(plan, registry, devices));
  end(1);
  for (int view = 0; view < plan.views(); view += plan.chunk_views) {
    const int count = std::min(plan.chunk_views, plan.views() - view);
    ISO_RETURN_IF_ERROR(refinement->Push(frames.views(view, count)));
  }
  end(2);
  ISO_RETURN_IF_ERROR(
      refinement->Start(plan.settings.warm_start ? volume : HostView3<const float>()));
  end(3);
  const auto stepping = Clock::now();
  bool done = false;
  while (!done) {
    ISO_ASSIGN_OR_RETURN(done, refinement->Step());
  }
  ISO_ASSIGN_OR_RETURN(times.trace, refinement->TakeTrace());  // waits for the devices
  times.iterations.push_back(SecondsSince(stepping));
  since = Clock::now();
  ISO_RETURN_IF_ERROR(refinement->Read(volume));
  end(4);
  times.whole.push_back(SecondsSince(start));
  times.last_residual = refinement->reports().back().relative_residual;
  return absl::OkStatus();
}

// The refinement while the arm turns: after a run that warms up.
absl::Status RunLive(const recon::RefinementPlan& plan, const RefineOptions& options,
                     const std::vector<ops::Device*>& devices, const ops::Registry& registry,
                     const ops::RawFrames& frames, HostView3<float> volume) {
  std::vector<double> fdk, refined;
  for (int i = 0; i <= options.repeats; ++i) {
    ISO_ASSIGN_OR_RETURN(const AfterLastFrame after,
                         RefineLive(plan, options.arm_seconds, registry, devices, frames, volume));
    if (i == 0) continue;
    fdk.push_back(after.fdk);
    refined.push_back(after.refined);
  }
  const Summary all = Summarize(refined);
  std::printf(
      "  %g s for the frames, %d early passes: after the last one FDK %.3f s, refined %.3f "
      "(%.3f-%.3f) s\n",
      options.arm_seconds, plan.settings.early_passes, Summarize(fdk).median, all.median, all.least,
      all.most);
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status RunCase(const std::string& name, int device_count, const RefineOptions& options) {
  ISO_ASSIGN_OR_RETURN(const ops::Registry registry, MethodsOf(options));
  ISO_ASSIGN_OR_RETURN(const ScanCase test, MakeScanCase(name, options.views, options.trajectory));
  const recon::Acquisition acquisition{
      .detector = test.detector, .i0_counts = 65535, .trajectory = test.trajectory};
  ISO_ASSIGN_OR_RETURN(
      const ChosenDevices chosen,
      OpenDevices(options.backend, {.own_memory = {.memory_bytes = options.device_memory_bytes},
                                    .count = device_count}));
  std::vector<ops::Device*> devices;
  for (const auto& device : chosen.devices) devices.push_back(device.get());
  const Shape3 shape{static_cast<int64_t>(test.trajectory.size()), test.detector.rows,
                     test.detector.columns};
  ISO_ASSIGN_OR_RETURN(const auto frame_memory,
                       devices[0]->NewHostMemory(shape.count() * int64_t{sizeof(uint16_t)}));
  auto* counts = reinterpret_cast<uint16_t*>(frame_memory->data());
  FillWithCounts({counts, static_cast<size_t>(shape.count())});
  ISO_ASSIGN_OR_RETURN(const auto volume_memory,
                       devices[0]->NewHostMemory(test.grid.voxels() * int64_t{sizeof(float)}));
  const HostView3<float> volume(reinterpret_cast<float*>(volume_memory->data()), test.grid.shape());
  for (const std::string& algorithm : options.algorithms) {
    recon::IterativeSettings settings = options.settings;
    ISO_ASSIGN_OR_RETURN(settings.algorithm, recon::AlgorithmNamed(algorithm));
    ISO_ASSIGN_OR_RETURN(settings.projector, ops::ProjectorNamed(options.projector));
    settings.matched = !options.unmatched;
    settings.warm_start = !options.from_zero;
    settings.precision = options.fast ? ops::Precision::kFast : ops::Precision::kExact;
    const recon::FdkSettings fdk{.precision = settings.precision};
    ISO_ASSIGN_OR_RETURN(
        const recon::RefinementPlan plan,
        recon::MakeRefinementPlan(acquisition, test.grid, fdk, settings, registry, devices));
    Times times;
    for (int i = 0; i < options.repeats; ++i) {
      ISO_RETURN_IF_ERROR(
          RunOnce(plan, devices, registry, {.counts = {counts, shape}}, volume, times));
    }
    const Summary iterations = Summarize(times.iterations), whole = Summarize(times.whole);
    std::printf(
        "%-6s %3d  %-9s %-20s %4d x %-3d  %8.3f (%.3f-%.3f) s  %8.3f s  %8.0f MiB %8.0f MiB %s%s"
        "  residual %.3g\n",
        name.c_str(), device_count, algorithm.c_str(),
        (options.projector + (options.unmatched ? " + fdk" : "")).c_str(), plan.settings.iterations,
        static_cast<int>(plan.subsets.size()), iterations.median, iterations.least, iterations.most,
        whole.median, static_cast<double>(plan.peak_bytes) / kMib,
        static_cast<double>(plan.host_bytes) / kMib,
        plan.pieces_in_host ? " volume in host memory" : "",
        plan.projections_in_host ? " projections in host memory" : "", times.last_residual);
    std::printf("  around:");
    for (size_t i = 0; i < std::size(kAround); ++i) {
      std::printf(" %s %.3f", kAround[i], Summarize(times.around[i]).median);
    }
    std::printf(" s\n");
    std::fflush(stdout);
    if (options.arm_seconds > 0) {
      ISO_RETURN_IF_ERROR(
          RunLive(plan, options, devices, registry, {.counts = {counts, shape}}, volume));
    }
    if (!options.trace.empty()) {
      ISO_RETURN_IF_ERROR(
          WriteFile(options.trace, recon::ChromeTrace(times.trace, recon::PlanText(plan))));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunRefine(const RefineOptions& options) {
  ISO_ASSIGN_OR_RETURN(const ChosenDevices chosen, OpenDevices(options.backend, {}));
  std::printf("%s, commit %s; median (min-max) of %d runs\n",
              chosen.devices[0]->description().c_str(), Commit().c_str(), options.repeats);
#ifdef ISOCENTER_HAS_CUDA
  if (chosen.devices[0]->backend() == "cuda") {
    ISO_ASSIGN_OR_RETURN(const CudaCeilings ceilings, MeasureCudaCeilings());
    std::printf("ceilings: upload %.1f GB/s, device copy %.0f GB/s, %.0f G texture samples/s\n",
                ceilings.upload_gb_s, ceilings.device_copy_gb_s, ceilings.texture_gsamples_s);
  }
#endif
  std::printf("%-6s %3s  %-9s %-20s %4s x %-3s  %-25s %10s %12s %12s\n", "case", "dev", "algorithm",
              "projector", "pass", "sub", "iterations", "whole", "device", "host");
  for (const std::string& name : options.cases) {
    for (const int count : options.devices) {
      ISO_RETURN_IF_ERROR(RunCase(name, count, options));
    }
  }
  return absl::OkStatus();
}

}  // namespace isocenter::bench
