#include "server/pipeline/request_decoders.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::pipeline {

absl::StatusOr<AcquisitionRequest> DecodeSpooled(const RequestDecoders& decoders,
                                                 const jobs::JobSpool& spool) {
  ISO_ASSIGN_OR_RETURN(AcquisitionRequest request, decoders.acquisition(spool.acquisition()));
  const size_t described = request.acquisition.trajectory.size(), spooled = spool.states().size();
  if (described == spooled) return request;
  return absl::DataLossError(absl::StrCat("the spooled acquisition describes ", described,
                                          " frames; legal is ", spooled,
                                          ", as many as its file has room for"));
}

}  // namespace isocenter::pipeline
