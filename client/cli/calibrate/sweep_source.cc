#include "client/cli/calibrate/sweep_source.h"

#include "absl/strings/str_cat.h"
#include "client/cli/interrupt.h"
#include "client/cli/output/progress_bar.h"
#include "client/flags/command.h"
#include "client/formats/acquisition_input.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/acquisition.h"

namespace isocenter::cli {

absl::StatusOr<SweepSource> SweepSource::Open(const std::string& flag, const std::string& path) {
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<formats::FrameSource> source,
                       formats::OpenAcquisition(path, {}, std::nullopt));
  ISO_ASSIGN_OR_RETURN(recon::Acquisition acquisition,
                       wire::AcquisitionFromProto(source->header()));
  if (acquisition.pixel_type != recon::PixelType::kUint16Counts) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", path, " has line integrals; legal are counts"));
  }
  return SweepSource(flag, path, std::move(source), std::move(acquisition));
}

absl::Status SweepSource::Read(
    int step, absl::FunctionRef<absl::Status(int frame, std::span<const uint16_t> counts)> take) {
  const Interrupt interrupt;
  ProgressBar bar(flag_, "frames", frames());
  std::vector<uint16_t> counts(size_t(detector().columns) * detector().rows);
  for (int frame = 0; frame < frames(); frame += step) {
    if (interrupt.happened()) return flags::Interrupted("interrupted; nothing was written");
    ISO_RETURN_IF_ERROR(source_->Read(frame, std::as_writable_bytes(std::span(counts))));
    ISO_RETURN_IF_ERROR(take(frame, counts));
    bar.Update(frame + 1);
  }
  return absl::OkStatus();
}

}  // namespace isocenter::cli
