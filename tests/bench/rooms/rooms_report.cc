#include "tests/bench/rooms/rooms_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace isocenter::bench {
namespace {

constexpr double kMiB = 1024 * 1024;

void PrintClass(const std::string& name, const ClassFigures& f, double seconds) {
  std::printf("%s\n", name.c_str());
  std::printf("  acquisitions     %lld started, %lld completed, %lld refused, %lld failed\n",
              static_cast<long long>(f.started()), static_cast<long long>(f.completed),
              static_cast<long long>(f.refused), static_cast<long long>(f.failed));
  std::printf("  frames           %lld sent, %lld lost, %lld reconnects\n",
              static_cast<long long>(f.frames_sent), static_cast<long long>(f.frames_lost),
              static_cast<long long>(f.reconnects));
  std::printf("  throughput       %.1f frames/s, %.1f MB/s, %.2f GUPS\n",
              static_cast<double>(f.frames_sent) / seconds, f.bytes_sent / seconds * 1e-6,
              f.voxel_updates / seconds * 1e-9);
  const auto line = [](const char* what, const Distribution& values, double scale) {
    std::printf("  %-28s %s\n", what, ToText(values, scale).c_str());
  };
  line("begun late, ms", f.begun_late, 1e3);
  line("frame to acknowledgement, ms", f.acknowledge, 1e3);
  line("last frame to volume, ms", f.volume, 1e3);
  line("  until the console knows", f.volume_here, 1e3);
  line("last frame to stored, ms", f.stored, 1e3);
  line("last frame to found, ms", f.found, 1e3);
  line("kernel GUPS of a job", f.kernel_gups, 1);
  line("whole GUPS of a job", f.whole_gups, 1);
}

nlohmann::ordered_json ToJson(const ClassFigures& f, double seconds) {
  return {{"started", f.started()},
          {"completed", f.completed},
          {"refused", f.refused},
          {"failed", f.failed},
          {"frames_sent", f.frames_sent},
          {"frames_lost", f.frames_lost},
          {"reconnects", f.reconnects},
          {"frames_per_second", static_cast<double>(f.frames_sent) / seconds},
          {"megabytes_per_second", f.bytes_sent / seconds * 1e-6},
          {"gups", f.voxel_updates / seconds * 1e-9},
          {"begun_late_seconds", ToJson(f.begun_late)},
          {"acknowledge_seconds", ToJson(f.acknowledge)},
          {"volume_seconds", ToJson(f.volume)},
          {"volume_known_seconds", ToJson(f.volume_here)},
          {"stored_seconds", ToJson(f.stored)},
          {"found_seconds", ToJson(f.found)},
          {"kernel_gups", ToJson(f.kernel_gups)},
          {"whole_gups", ToJson(f.whole_gups)}};
}

}  // namespace

void ClassFigures::Add(const AcquisitionRecord& record) {
  completed += record.outcome == Outcome::kCompleted ? 1 : 0;
  refused += record.outcome == Outcome::kRefused ? 1 : 0;
  failed += record.outcome == Outcome::kFailed ? 1 : 0;
  frames_sent += record.frames_sent;
  frames_lost += record.frames_unacknowledged + record.frames_missing_in_result;
  reconnects += record.reconnects;
  bytes_sent += static_cast<double>(record.bytes_sent);
  voxel_updates += record.voxel_updates;
  begun_late.Add(record.begun - record.due);
  acknowledge.Add(record.acknowledge_seconds);
  if (record.volume_seconds) volume.Add(*record.volume_seconds);
  if (record.volume_seconds_here) volume_here.Add(*record.volume_seconds_here);
  if (record.stored_seconds) stored.Add(*record.stored_seconds);
  if (record.found_seconds) found.Add(*record.found_seconds);
  if (record.volume_seconds) {
    kernel_gups.Add(record.kernel_gups);
    whole_gups.Add(record.whole_gups);
  }
}

int64_t RoomsReport::frames_lost() const {
  int64_t lost = 0;
  for (const auto& [name, figures] : classes) lost += figures.frames_lost;
  return lost;
}

nlohmann::ordered_json ToJson(const RoomsReport& report) {
  nlohmann::ordered_json json{{"seconds", report.seconds},
                              {"client_cpu_cores", report.cpu_seconds / report.seconds},
                              {"frames_lost", report.frames_lost()},
                              {"errors", report.errors}};
  if (report.server_memory.start > 0) {
    json["server_resident_bytes"] = {{"start", report.server_memory.start},
                                     {"max", report.server_memory.max},
                                     {"end", report.server_memory.end}};
  }
  for (const auto& [name, figures] : report.classes) {
    json["classes"][name] = ToJson(figures, report.seconds);
  }
  return json;
}

void Print(const RoomsReport& report) {
  for (const auto& [name, figures] : report.classes) PrintClass(name, figures, report.seconds);
  const MemoryProbe::Figures& memory = report.server_memory;
  if (memory.start > 0) {
    std::printf("server memory      %.0f MiB at start, %.0f at most, %.0f at end\n",
                static_cast<double>(memory.start) / kMiB, static_cast<double>(memory.max) / kMiB,
                static_cast<double>(memory.end) / kMiB);
  } else {
    std::printf("server memory      not measured\n");
  }
  std::printf("these consoles     %.2f CPU cores over %.1f s\n",
              report.cpu_seconds / report.seconds, report.seconds);
  for (const std::string& error : report.errors) std::printf("error: %s\n", error.c_str());
}

}  // namespace isocenter::bench
