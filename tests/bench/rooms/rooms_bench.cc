#include "tests/bench/rooms/rooms_bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "tests/bench/machine.h"
#include "tests/bench/noise.h"
#include "tests/bench/rooms/acquisition_log.h"
#include "tests/bench/rooms/arrivals.h"
#include "tests/bench/write_file.h"

namespace isocenter::bench {
namespace {

constexpr size_t kErrorsShown = 10;
constexpr int kNoiseFrames = 4;
constexpr double kDetectorWidthMm = 382;
constexpr double kGridWidthMm = 200;
// A console that was refused asks again after this pause.
constexpr absl::Duration kRefusalPause = absl::Milliseconds(500);

v1::AcquisitionHeader MakeHeader(const RoomsOptions& options, bool batch, int number) {
  v1::AcquisitionHeader header;
  const double pitch = kDetectorWidthMm / options.columns;
  header.mutable_detector()->set_columns(options.columns);
  header.mutable_detector()->set_rows(options.rows);
  header.mutable_detector()->set_pitch_u_mm(pitch);
  header.mutable_detector()->set_pitch_v_mm(pitch);
  header.set_pixel_type(options.pixel == "float32" ? v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS
                                                   : v1::PIXEL_TYPE_UINT16_COUNTS);
  header.set_i0_counts(65535);
  header.set_frame_count(options.frames);
  v1::CircularTrajectory& orbit = *header.mutable_circular();
  orbit.set_source_to_isocenter_mm(750);
  orbit.set_source_to_detector_mm(1200);
  orbit.set_arc_deg(204);
  if (options.grid > 0) {
    v1::VolumeGrid& grid = *header.mutable_grid();
    grid.set_nx(options.grid);
    grid.set_ny(options.grid);
    grid.set_nz(options.grid);
    grid.set_spacing_x_mm(kGridWidthMm / options.grid);
    grid.set_spacing_y_mm(kGridWidthMm / options.grid);
    grid.set_spacing_z_mm(kGridWidthMm / options.grid);
    grid.set_centered(true);
  }
  header.set_protocol(options.protocol);
  header.set_station_name(absl::StrCat(batch ? "batch-" : "room-", number));
  header.mutable_patient_study()->set_patient_id(absl::StrCat("BENCH-", header.station_name()));
  header.set_job_class(batch ? v1::JOB_CLASS_BATCH : v1::JOB_CLASS_LIVE);
  if (!batch) header.set_frame_rate_hz(options.fps);
  return header;
}

std::vector<std::vector<std::byte>> MakeNoise(const RoomsOptions& options, uint32_t seed) {
  const size_t pixels = size_t(options.columns) * options.rows;
  std::vector<std::vector<std::byte>> frames;
  for (uint32_t i = 0; i < kNoiseFrames; ++i) {
    std::vector<uint16_t> counts(pixels);
    FillWithCounts(counts, seed + i);
    std::vector<std::byte>& frame = frames.emplace_back();
    if (options.pixel == "float32") {
      std::vector<float> integrals(counts.begin(), counts.end());
      for (float& value : integrals) value *= 0x1p-15f;
      frame.resize(pixels * sizeof(float));
      std::memcpy(frame.data(), integrals.data(), frame.size());
    } else {
      frame.resize(pixels * sizeof(uint16_t));
      std::memcpy(frame.data(), counts.data(), frame.size());
    }
  }
  return frames;
}

/// `random` moves on, so that the rooms' phases do not depend on it.
uint32_t FramesSeed(const RoomsOptions& options, std::mt19937& random) {
  const auto drawn = static_cast<uint32_t>(random());
  return options.same_frames ? options.seed : drawn;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

absl::Status Check(const RoomsOptions& options) {
  if (options.rooms + options.batch < 1) {
    return absl::InvalidArgumentError("--rooms and --batch are 0; legal is at least one console");
  }
  if (!options.arrivals.empty() && (options.seconds > 0 || options.batch > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--seconds is ", options.seconds, " and --batch ", options.batch,
                     "; legal beside --arrivals is 0, because those say who scans when"));
  }
  return absl::OkStatus();
}

/// What cannot be measured on this machine is none, and told: the report says "not measured".
absl::StatusOr<std::optional<PacsProbe>> OpenPacs(const RoomsOptions& options) {
  if (options.pacs.empty()) return std::nullopt;
  absl::StatusOr<PacsProbe> probe = PacsProbe::Open(options.pacs);
  if (!absl::IsNotFound(probe.status())) return probe;
  std::fprintf(stderr, "isocenter-bench: %s\n", std::string(probe.status().message()).c_str());
  return std::nullopt;
}

/// The same of the service's memory.
absl::StatusOr<bool> HasMetrics(const RoomsOptions& options) {
  if (options.metrics.empty()) return false;
  absl::Status status = ReadResidentBytes(options.metrics).status();
  if (status.ok()) return true;
  if (!absl::IsNotFound(status)) return status;
  std::fprintf(stderr, "isocenter-bench: %s\n", std::string(status.message()).c_str());
  return false;
}

/// Each has a connection and frames of its own, as in a hospital.
struct Console {
  bool batch;
  ConsoleSettings settings;
  client::ServiceChannel channel;
  std::vector<std::vector<std::byte>> noise;
  absl::Duration phase;
  std::vector<double> arrivals;  // seconds from the start
};

absl::StatusOr<std::vector<Console>> MakeConsoles(const RoomsOptions& options,
                                                  const Arrivals& arrivals, PacsProbe* pacs,
                                                  RunningJobs* running) {
  std::mt19937 random(options.seed);
  std::vector<Console> consoles;
  for (int i = 0; i < options.rooms + options.batch; ++i) {
    const bool batch = i >= options.rooms;
    const int number = batch ? i - options.rooms + 1 : i + 1;
    ISO_ASSIGN_OR_RETURN(client::ServiceChannel channel,
                         client::ServiceChannel::Open(options.server));
    consoles.push_back({batch,
                        {.header = MakeHeader(options, batch, number),
                         .fps = batch ? 0 : options.fps,
                         .wait_results = options.wait_results,
                         .pacs = pacs,
                         .running = running},
                        std::move(channel),
                        MakeNoise(options, FramesSeed(options, random)),
                        absl::Seconds(std::uniform_real_distribution(0.0, 1.0)(random) /
                                      std::max(options.fps, 1.0)),
                        batch ? std::vector<double>() : arrivals[i]});
  }
  return consoles;
}

}  // namespace

absl::StatusOr<RoomsReport> MeasureRooms(const RoomsOptions& options, cli::Interrupt* interrupt) {
  ISO_RETURN_IF_ERROR(Check(options));
  ISO_ASSIGN_OR_RETURN(std::optional<PacsProbe> pacs, OpenPacs(options));
  ISO_ASSIGN_OR_RETURN(const bool has_metrics, HasMetrics(options));
  Arrivals arrivals(options.rooms);
  if (!options.arrivals.empty()) {
    ISO_ASSIGN_OR_RETURN(arrivals, ReadArrivals(options.arrivals, options.rooms));
  }
  ISO_ASSIGN_OR_RETURN(AcquisitionLog log, AcquisitionLog::Open(options.log));
  RunningJobs running;
  ISO_ASSIGN_OR_RETURN(const std::vector<Console> consoles,
                       MakeConsoles(options, arrivals, pacs ? &*pacs : nullptr, &running));
  if (interrupt != nullptr) {
    interrupt->SetHandler([&running] {
      std::fprintf(stderr, "isocenter-bench: interrupted; %d jobs are cancelled\n",
                   running.CancelAll());
    });
  }
  // What waits ends at once where it is interrupted.
  const auto sleep = [&](absl::Duration duration) {
    if (interrupt == nullptr) absl::SleepFor(duration);
    return interrupt == nullptr || !interrupt->WaitFor(duration);
  };

  RoomsReport report;
  absl::Mutex mutex;
  std::optional<MemoryProbe> memory;
  if (has_metrics) memory.emplace(options.metrics);
  const double cpu_begin = CpuSeconds();
  const double start = MonotonicSeconds();
  const double end = start + options.seconds;
  absl::Status written;
  const auto scan = [&](const Console& console, double due) {
    const AcquisitionRecord record =
        RunAcquisition(console.channel, console.settings, console.noise, due);
    const std::string& room = console.settings.header.station_name();
    absl::MutexLock lock(&mutex);
    report.classes[console.batch ? "batch" : "live"].Add(record);
    if (!record.error.empty() && report.errors.size() < kErrorsShown) {
      report.errors.push_back(absl::StrCat(room, ": ", record.error));
    }
    written.Update(log.Add(room, record));
    return record.outcome;
  };
  const auto again_and_again = [&](const Console& console) {
    bool goes_on = sleep(console.phase);
    while (goes_on) {
      const Outcome outcome = scan(console, MonotonicSeconds());
      goes_on = MonotonicSeconds() < end &&
                sleep(outcome == Outcome::kCompleted ? absl::ZeroDuration() : kRefusalPause);
    }
  };
  const auto as_they_arrive = [&](const Console& console) {
    for (const double arrival : console.arrivals) {
      const double due = start + arrival;
      if (!sleep(absl::Seconds(due - MonotonicSeconds()))) return;
      scan(console, due);
    }
  };
  std::vector<std::thread> threads;
  for (const Console& console : consoles) {
    threads.emplace_back(
        [&] { options.arrivals.empty() ? again_and_again(console) : as_they_arrive(console); });
  }
  for (std::thread& thread : threads) thread.join();
  if (interrupt != nullptr) interrupt->SetHandler(nullptr);
  ISO_RETURN_IF_ERROR(written);
  report.seconds = MonotonicSeconds() - start;
  report.cpu_seconds = CpuSeconds() - cpu_begin;
  if (memory) report.server_memory = memory->Stop();
  return report;
}

absl::Status RunRooms(const RoomsOptions& options) {
  cli::Interrupt interrupt;
  ISO_ASSIGN_OR_RETURN(const RoomsReport report, MeasureRooms(options, &interrupt));
  if (interrupt.happened()) return absl::CancelledError("interrupted; its jobs are cancelled");
  std::printf("%d rooms of %d frames of %d x %d %s at %g per second, %d batch consoles\n",
              options.rooms, options.frames, options.columns, options.rows, options.pixel.c_str(),
              options.fps, options.batch);
  Print(report);
  if (!options.json.empty()) {
    nlohmann::ordered_json json = ToJson(report);
    json["machine"] = Processor();
    json["commit"] = Commit();
    json["settings"] = {{"rooms", options.rooms},
                        {"fps", options.fps},
                        {"frames", options.frames},
                        {"columns", options.columns},
                        {"rows", options.rows},
                        {"pixel", options.pixel},
                        {"grid", options.grid},
                        {"seconds", options.seconds},
                        {"batch", options.batch},
                        {"protocol", options.protocol},
                        {"seed", options.seed},
                        {"wait_results", options.wait_results},
                        {"same_frames", options.same_frames},
                        {"arrivals", options.arrivals}};
    ISO_RETURN_IF_ERROR(WriteFile(options.json, json.dump(2) + "\n"));
  }
  if (report.frames_lost() > 0) {
    return absl::DataLossError(absl::StrCat(report.frames_lost(), " frames were lost"));
  }
  for (const auto& [name, figures] : report.classes) {
    if (figures.completed > 0) return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("no acquisition was completed",
                                             report.errors.empty() ? "" : "; the first error: ",
                                             report.errors.empty() ? "" : report.errors.front()));
}

}  // namespace isocenter::bench
