#include "client/cli/qa/scan.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/options/service.h"
#include "client/cli/qa/conditions.h"
#include "client/formats/dicom/series_facts.h"
#include "client/formats/volume_input.h"
#include "client/job_client.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

using quality::Conditions;

/// A job's volume, in memory.
class MemorySink : public client::VolumeSink {
 public:
  absl::Status OnGrid(const VolumeGrid& grid) override {
    ISO_RETURN_IF_ERROR(ValidateGrid(grid));
    ISO_RETURN_IF_ERROR(
        CheckAvailableMemory("the volume", static_cast<int64_t>(sizeof(float)) * grid.voxels()));
    volume.grid = grid;
    volume.voxels.reserve(grid.voxels());
    return absl::OkStatus();
  }
  absl::Status OnVoxels(std::span<const float> voxels) override {
    if (static_cast<int64_t>(volume.voxels.size() + voxels.size()) > volume.grid.voxels()) {
      return absl::DataLossError("the server sends more voxels than the grid has");
    }
    volume.voxels.insert(volume.voxels.end(), voxels.begin(), voxels.end());
    return absl::OkStatus();
  }
  formats::Volume volume;
};

/// What a file tells beside what its job does.
absl::Status AddFacts(const ScanSource& source, const formats::VolumeFacts& of_file,
                      Conditions& conditions) {
  const std::string frames = conditions.frames;  // of --job, or empty
  // Files of jobs have the job's name as the mark of their frames.
  if (!frames.empty() && absl::StartsWith(of_file.frames, "job ") && of_file.frames != frames) {
    return absl::InvalidArgumentError(
        absl::StrCat(source.volume, " is of the frames of another job than --job ", source.job,
                     "; legal is the job whose volume it is"));
  }
  const std::string protocol = conditions.protocol;
  TakeUp(of_file, conditions);
  if (source.job.empty()) return absl::OkStatus();
  conditions.frames = frames;
  conditions.protocol = protocol;
  return absl::OkStatus();
}

/// A job's room and protocol are its own, whatever somebody takes them for.
absl::Status CheckAgainstJob(const ScanSource& source, const Conditions& job) {
  const auto check = [&](const char* flag, const std::string& told, const std::string& known) {
    if (told.empty() || known.empty() || told == known) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(flag, " is '", told, "', that of job ",
                                                   source.job, " '", known,
                                                   "'; legal is the job's, or no ", flag));
  };
  ISO_RETURN_IF_ERROR(check("--station", source.station, job.station));
  return check("--protocol", source.protocol, job.protocol);
}

}  // namespace

absl::StatusOr<Scan> LoadScan(const ScanSource& source) {
  Scan scan;
  if (!source.job.empty()) {
    ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                         ServiceOfJob(source.server, source.job));
    const client::JobClient jobs(channel);
    ISO_ASSIGN_OR_RETURN(const v1::Job job, jobs.Get(source.job));
    scan.conditions = ConditionsOf(job);
    ISO_RETURN_IF_ERROR(CheckAgainstJob(source, scan.conditions));
    if (source.volume.empty()) {
      MemorySink sink;
      ISO_RETURN_IF_ERROR(jobs.DownloadVolume(source.job, sink));
      scan.volume = std::move(sink.volume);
    }
  }
  if (!source.volume.empty()) {
    ISO_ASSIGN_OR_RETURN(scan.volume, formats::ReadVolume(source.volume));
    ISO_RETURN_IF_ERROR(AddFacts(source, scan.volume.facts, scan.conditions));
    std::error_code ignored;
    if (source.job.empty() && std::filesystem::is_directory(source.volume, ignored)) {
      ISO_ASSIGN_OR_RETURN(const formats::SeriesFacts series,
                           formats::ReadSeriesFacts(source.volume));
      scan.conditions.acquired = series.acquired;
      scan.conditions.station = series.station;
    }
  }
  if (!source.station.empty()) scan.conditions.station = source.station;
  scan.conditions.voxel_mm = scan.volume.grid.spacing;
  scan.conditions.phantom = source.phantom;
  return scan;
}

}  // namespace isocenter::cli
