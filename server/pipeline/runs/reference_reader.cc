#include "server/pipeline/runs/reference_reader.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::pipeline {

absl::StatusOr<ReferenceReader> ReferenceReader::Open(const std::string& job_id,
                                                      const std::filesystem::path& file,
                                                      recon::ReferenceMaker maker) {
  ReferenceReader reader(std::move(maker));
  reader.job_id_ = job_id;
  errno = 0;
  reader.file_.open(file, std::ios::binary);
  if (!reader.file_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the volume of job '", job_id,
        "', the reference of this self-calibration, cannot be opened: ", std::strerror(errno)));
  }
  const VolumeGrid& grid = reader.maker_.given();
  reader.slices_.resize(int64_t{grid.nx} * grid.ny * reader.maker_.slices_at_once());
  return reader;
}

absl::StatusOr<bool> ReferenceReader::ReadSlice() {
  const VolumeGrid& grid = maker_.given();
  const auto bytes = static_cast<std::streamsize>(slices_.size() * sizeof(float));
  if (!file_.read(reinterpret_cast<char*>(slices_.data()), bytes)) {
    return absl::DataLossError(absl::StrCat("the volume of job '", job_id_,
                                            "', the reference of this self-calibration, is "
                                            "shorter than its grid"));
  }
  ISO_RETURN_IF_ERROR(
      maker_.Add({slices_.data(), Shape3{maker_.slices_at_once(), grid.ny, grid.nx}}));
  return maker_.slices_wanted() == 0;
}

}  // namespace isocenter::pipeline
