// Volumes as files, in the formats of `isocenter fetch`.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/patient_position.h"
#include "proto/volume/headers.h"
#include "server/base/log.h"
#include "server/http/apis.h"
#include "server/http/places.h"
#include "server/http/stored_files.h"
#include "server/jobs/completed.h"

namespace isocenter::http {
namespace {

// At once: each reads a disk that live acquisitions write to.
constexpr int kMostDownloads = 8;

/// A file to be downloaded.
struct Download {
  std::string ending, type;
  std::vector<BodyPart> parts;
};

/// As `isocenter fetch` writes it.
std::string MetaImageOf(const VolumeGrid& grid, const jobs::Job& job) {
  const auto& calibration = job.facts.calibration;
  return volume_file::MetaImageText(
      grid, "LOCAL", volume_file::JobFactLines(job.protocol, calibration ? calibration->name : ""));
}

absl::StatusOr<Download> VolumeFile(jobs::ResultStore& results, const jobs::Job& job,
                                    const std::string& ending) {
  const VolumeGrid grid = PatientGrid(job.grid, job.facts.patient_position);
  ISO_ASSIGN_OR_RETURN(const std::filesystem::path file, results.RawFile(job.id));
  // That it has the length of the grid is looked at here: later nothing could be said.
  ISO_RETURN_IF_ERROR(
      viewer::RawVolume::Open(file, {job.grid.nx, job.grid.ny, job.grid.nz}).status());
  return Download{.ending = ending,
                  .type = "application/octet-stream",
                  .parts = {{.before = ending == "nii" ? volume_file::NiftiHeader(grid)
                                                       : MetaImageOf(grid, job),
                             .file = file,
                             .file_bytes = grid.voxels() * static_cast<int64_t>(sizeof(float))}}};
}

absl::StatusOr<Download> Make(jobs::ResultStore& results, const jobs::Job& job,
                              const std::string& format) {
  if (format == "mha" || format == "nii") return VolumeFile(results, job, format);
  if (format != "dicom") {
    return absl::InvalidArgumentError(
        absl::StrCat("format is '", format.substr(0, 40), "'; legal are dicom, mha and nii"));
  }
  ISO_ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> files, results.DicomFiles(job.id));
  Download download{.ending = "tar", .type = "application/x-tar"};
  ISO_ASSIGN_OR_RETURN(download.parts, TarOf(files, job.id, job.end_time));
  return download;
}

class DownloadApi {
 public:
  explicit DownloadApi(const WebEnvironment& environment) : environment_(environment) {}

  absl::StatusOr<Response> Answer(const Call& call) {
    ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot job, environment_.table.Get(call.arguments[0]));
    const std::string format = call.request.Parameter("format").value_or("dicom");
    ISO_RETURN_IF_ERROR(jobs::CheckCompleted(*job));
    ISO_ASSIGN_OR_RETURN(Download download, Make(environment_.results, *job, format));
    ISO_ASSIGN_OR_RETURN(std::shared_ptr<void> place, places_.Take());
    Response response = AnswerWithFiles(call.request, std::move(download.parts), std::move(place));
    if (response.long_body == nullptr) return response;  // no such range
    response.Set("Content-Type", download.type)
        .Set("Content-Disposition",
             absl::StrCat("attachment; filename=\"", job->id, ".", download.ending, "\""));
    if (call.request.method == "HEAD") return response;
    spdlog::info("event=download_begun job={} format={} bytes={} by=\"{}\"", job->id, format,
                 *response.long_body->bytes(), call.caller.name);
    return response;
  }

 private:
  const WebEnvironment environment_;
  Places places_{kMostDownloads, "downloads"};
};

}  // namespace

void AddDownloadRoutes(const WebEnvironment& environment, Router& router) {
  router.Add(
      "GET", "/api/v1/jobs/{}/download", Role::kConsole,
      [api = std::make_shared<DownloadApi>(environment)](const Call& call) {
        return api->Answer(call);
      },
      audit::Action::kDownload);
}

}  // namespace isocenter::http
