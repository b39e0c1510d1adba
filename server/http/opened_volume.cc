#include "server/http/opened_volume.h"

#include <filesystem>
#include <utility>

#include "kernels/base/status_macros.h"
#include "server/jobs/completed.h"

namespace isocenter::http {

absl::StatusOr<OpenedVolume> OpenVolume(const WebEnvironment& environment, const std::string& id) {
  OpenedVolume opened;
  ISO_ASSIGN_OR_RETURN(opened.job, environment.table.Get(id));
  const jobs::Job& job = *opened.job;
  ISO_RETURN_IF_ERROR(jobs::CheckCompleted(job));
  ISO_ASSIGN_OR_RETURN(const std::filesystem::path file, environment.results.RawFile(job.id));
  ISO_ASSIGN_OR_RETURN(viewer::RawVolume raw,
                       viewer::RawVolume::Open(file, {job.grid.nx, job.grid.ny, job.grid.nz}));
  opened.raw = std::make_shared<const viewer::RawVolume>(std::move(raw));
  return opened;
}

}  // namespace isocenter::http
