#include "tests/bench/reconstruct_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/plan_text.h"
#include "kernels/recon/reconstructor.h"
#include "tests/all_methods.h"
#include "tests/bench/machine.h"
#include "tests/bench/noise.h"
#include "tests/bench/scan.h"
#include "tests/bench/summary.h"
#include "tests/bench/write_file.h"

#ifdef ISOCENTER_HAS_CUDA
#include "tests/bench/cuda_ceilings.h"
#endif

namespace isocenter::bench {
namespace {

constexpr double kMib = 1 << 20;

struct Measured {
  std::vector<double> whole, backproject, filter, preprocess, upload, download, exposed;  // s
};

// Seconds in which copies to the host go on after the last kernel.
double ExposedSeconds(const std::vector<recon::DeviceSpan>& trace) {
  double kernels = 0, copies = 0;
  for (const recon::DeviceSpan& entry : trace) {
    const bool copy =
        entry.span.stage == ops::Stage::kUpload || entry.span.stage == ops::Stage::kDownload;
    double& end = copy ? copies : kernels;
    end = std::max(end, entry.span.end);
  }
  return std::max(0.0, copies - kernels);
}

absl::StatusOr<Measured> Measure(recon::Reconstructor& reconstructor, const ops::RawFrames& frames,
                                 HostView3<float> volume, int repeats,
                                 std::vector<recon::DeviceSpan>& trace) {
  Measured measured;
  for (int i = 0; i <= repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ISO_RETURN_IF_ERROR(reconstructor.Run(frames, volume));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    ISO_ASSIGN_OR_RETURN(trace, reconstructor.TakeTrace());
    if (i == 0) continue;  // the first one loads kernels and makes room
    const recon::StageSeconds seconds = recon::SecondsOf(trace);
    measured.whole.push_back(elapsed.count());
    measured.backproject.push_back(seconds.backproject);
    measured.filter.push_back(seconds.filter);
    measured.preprocess.push_back(seconds.preprocess);
    measured.upload.push_back(seconds.upload);
    measured.download.push_back(seconds.download);
    measured.exposed.push_back(ExposedSeconds(trace));
  }
  return measured;
}

// What the first chunks' smaller sizes bring: the plan's chunks without them.
std::vector<recon::Chunk> EqualChunks(const recon::ReconstructionPlan& plan) {
  const int size = recon::LargestChunk(plan);
  std::vector<recon::Chunk> chunks;
  for (int first = 0; first < plan.views(); first += size) {
    chunks.push_back({first, std::min(size, plan.views() - first)});
  }
  return chunks;
}

// What the last slabs' smaller sizes bring: the plan's slabs without them.
std::vector<recon::Slab> EqualSlabs(const recon::ReconstructionPlan& plan, size_t devices,
                                    int step) {
  int most = 0;
  for (const recon::Slab& slab : plan.slabs) most = std::max(most, slab.slices);
  return recon::DivideSlices(plan.grid.nz, static_cast<int>(devices), step, most);
}

absl::Status RunCase(const std::string& name, const ReconstructOptions& options,
                     nlohmann::json& report) {
  ISO_ASSIGN_OR_RETURN(const ScanCase scan, MakeScanCase(name, 0, options.trajectory));
  const recon::Acquisition acquisition{.detector = scan.detector, .trajectory = scan.trajectory};
  const Shape3 shape{static_cast<int64_t>(acquisition.trajectory.size()), acquisition.detector.rows,
                     acquisition.detector.columns};
  for (const int count : options.devices) {
    ISO_ASSIGN_OR_RETURN(
        const ChosenDevices chosen,
        OpenDevices(options.backend,
                    {.own_memory = {.memory_bytes = options.device_memory_bytes}, .count = count}));
    std::vector<ops::Device*> devices;
    for (const auto& device : chosen.devices) devices.push_back(device.get());
    ISO_ASSIGN_OR_RETURN(const auto frame_memory,
                         devices[0]->NewHostMemory(shape.count() * int64_t{sizeof(uint16_t)}));
    auto* counts = reinterpret_cast<uint16_t*>(frame_memory->data());
    FillWithCounts({counts, static_cast<size_t>(shape.count())});
    const ops::RawFrames frames{.counts = {counts, shape}};
    ISO_ASSIGN_OR_RETURN(const auto volume_memory,
                         devices[0]->NewHostMemory(scan.grid.voxels() * int64_t{sizeof(float)}));
    const HostView3<float> volume(reinterpret_cast<float*>(volume_memory->data()),
                                  scan.grid.shape());
    for (const std::string& precision : options.precisions) {
      const recon::FdkSettings settings{
          .precision = precision == "fast" ? ops::Precision::kFast : ops::Precision::kExact,
          .backproject_method = options.backproject_method};
      ISO_ASSIGN_OR_RETURN(recon::ReconstructionPlan plan,
                           recon::MakePlan(acquisition, scan.grid, settings, AllMethods(), devices,
                                           recon::Arrival::kComplete));
      if (options.equal_chunks) plan.chunks = EqualChunks(plan);
      if (options.equal_slabs) {
        plan.slabs = EqualSlabs(plan, devices.size(), devices[0]->traits().slab_slices);
      }
      ISO_ASSIGN_OR_RETURN(const auto reconstructor,
                           recon::Reconstructor::Create(plan, AllMethods(), devices));
      std::vector<recon::DeviceSpan> trace;
      ISO_ASSIGN_OR_RETURN(const Measured measured,
                           Measure(*reconstructor, frames, volume, options.repeats, trace));
      const Summary whole = Gups(measured.whole, plan.voxel_updates);
      const Summary kernel = Gups(measured.backproject, plan.voxel_updates);
      const Summary whole_s = Summarize(measured.whole);
      const auto ms = [](const std::vector<double>& seconds) {
        return 1e3 * Summarize(seconds).median;
      };
      std::printf(
          "%-6s %3d  %-6s %6.0f %5d %s %9.1f (%.1f-%.1f) %8.0f %8.0f %8.1f %6.1f %6.1f %6.1f "
          "%6.1f %7.1f\n",
          name.c_str(), count, precision.c_str(), static_cast<double>(plan.peak_bytes) / kMib,
          static_cast<int>(plan.slabs.size()),
          plan.order == recon::Order::kChunksFirst ? "together"
          : plan.keep_projections                  ? "in turn "
                                                   : "re-read ",
          1e3 * whole_s.median, 1e3 * whole_s.least, 1e3 * whole_s.most, whole.median,
          kernel.median, ms(measured.backproject), ms(measured.filter), ms(measured.preprocess),
          ms(measured.upload), ms(measured.download), ms(measured.exposed));
      if (options.print_plan) std::fputs(recon::PlanText(plan).c_str(), stdout);
      std::fflush(stdout);
      report["cases"].push_back({{"case", name},
                                 {"devices", count},
                                 {"precision", precision},
                                 {"peak_bytes", plan.peak_bytes},
                                 {"plan", recon::PlanText(plan)},
                                 {"slabs", plan.slabs.size()},
                                 {"whole_seconds", ToJson(whole_s)},
                                 {"whole_gups", ToJson(whole)},
                                 {"kernel_gups", ToJson(kernel)},
                                 {"filter_seconds", ToJson(Summarize(measured.filter))},
                                 {"preprocess_seconds", ToJson(Summarize(measured.preprocess))},
                                 {"upload_seconds", ToJson(Summarize(measured.upload))},
                                 {"download_seconds", ToJson(Summarize(measured.download))},
                                 {"exposed_seconds", ToJson(Summarize(measured.exposed))}});
      if (!options.trace.empty()) {
        ISO_RETURN_IF_ERROR(
            WriteFile(options.trace, recon::ChromeTrace(trace, recon::PlanText(plan))));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunReconstruct(const ReconstructOptions& options) {
  ISO_ASSIGN_OR_RETURN(const ChosenDevices chosen, OpenDevices(options.backend, {}));
  const ops::Device& device = *chosen.devices[0];
  nlohmann::json report = {{"benchmark", "reconstruct"},
                           {"device", device.description()},
                           {"commit", Commit()},
                           {"repeats", options.repeats},
                           {"device_memory_bytes", options.device_memory_bytes}};
  std::printf("%s, commit %s, median (min-max) of %d runs\n", device.description().c_str(),
              Commit().c_str(), options.repeats);
#ifdef ISOCENTER_HAS_CUDA
  if (device.backend() == "cuda") {
    ISO_ASSIGN_OR_RETURN(const CudaCeilings ceilings, MeasureCudaCeilings());
    std::printf(
        "ceilings: upload %.1f GB/s, download %.1f GB/s, both at once %.1f + %.1f GB/s, device "
        "copy %.0f GB/s, %.0f G texture samples/s at %.0f MHz\n",
        ceilings.upload_gb_s, ceilings.download_gb_s, ceilings.upload_beside_gb_s,
        ceilings.download_beside_gb_s, ceilings.device_copy_gb_s, ceilings.texture_gsamples_s,
        ceilings.clock_mhz);
    report["ceilings"] = {{"upload_gb_per_second", ceilings.upload_gb_s},
                          {"download_gb_per_second", ceilings.download_gb_s},
                          {"upload_beside_download_gb_per_second", ceilings.upload_beside_gb_s},
                          {"download_beside_upload_gb_per_second", ceilings.download_beside_gb_s},
                          {"device_copy_gb_per_second", ceilings.device_copy_gb_s},
                          {"texture_gsamples_per_second", ceilings.texture_gsamples_s},
                          {"clock_mhz", ceilings.clock_mhz}};
  }
#endif
  std::printf("%-6s %3s  %-6s %6s %5s %8s %-20s %8s %8s %8s %6s %6s %6s %6s %7s\n", "case", "dev",
              "prec.", "MiB", "slabs", "in mem.", "whole ms", "GUPS", "kernel", "bp ms", "filter",
              "prep", "up", "down", "exposed");
  for (const std::string& name : options.cases) {
    ISO_RETURN_IF_ERROR(RunCase(name, options, report));
  }
  if (options.json.empty()) return absl::OkStatus();
  return WriteFile(options.json, report.dump(2) + "\n");
}

}  // namespace isocenter::bench
