#include "kernels/rabbitct/schedule.h"

#include "kernels/base/status_macros.h"
#include "kernels/ops/session.h"

namespace isocenter::rabbitct {

absl::StatusOr<Batch> Bench::NewBatch(int views) const {
  Batch batch;
  ISO_ASSIGN_OR_RETURN(batch.stack, session->NewProjectionStack({views, image.middle, image.fast},
                                                                ops::StackUse::kProjections));
  return batch;
}

absl::Status Bench::Add(const Batch& batch, ops::VolumeBuffer& volume) const {
  if (batch.matrices.empty()) return absl::OkStatus();
  session->timeline().Begin(ops::Stage::kBackproject);
  const absl::Status status = backproject->Run(batch.matrices, *batch.stack, volume);
  session->timeline().End();
  return status;
}

}  // namespace isocenter::rabbitct
