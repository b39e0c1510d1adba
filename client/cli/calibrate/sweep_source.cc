#include "client/cli/calibrate/sweep_source.h"

#include "absl/strings/str_cat.h"
#include "client/cli/interrupt.h"
#include "client/cli/output/progress_bar.h"
#include "client/flags/command.h"
#include "client/formats/acquisition_input.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/acquisition.h"

namespace isocenter::cli {

absl::StatusOr<SweepSource> SweepSource::OpenAny(const std::string& flag, const std::string& path) {
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<formats::FrameSource> source,
                       formats::OpenAcquisition(path, {}, std::nullopt));
  ISO_ASSIGN_OR_RETURN(recon::Acquisition acquisition,
                       wire::AcquisitionFromProto(source->header()));
  return SweepSource(flag, path, std::move(source), std::move(acquisition));
}

absl::StatusOr<SweepSource> SweepSource::Open(const std::string& flag, const std::string& path) {
  ISO_ASSIGN_OR_RETURN(SweepSource source, OpenAny(flag, path));
  if (!source.has_lines()) return source;
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": ", path, " has line integrals; legal are counts"));
}

template <class Pixel>
absl::Status SweepSource::ReadPixels(
    int step, absl::FunctionRef<absl::Status(int frame, std::span<const Pixel> pixels)> take) {
  const Interrupt interrupt;
  ProgressBar bar(flag_, "frames", frames());
  std::vector<Pixel> pixels(size_t(detector().columns) * detector().rows);
  for (int frame = 0; frame < frames(); frame += step) {
    if (interrupt.happened()) return flags::Interrupted("interrupted; nothing was written");
    ISO_RETURN_IF_ERROR(source_->Read(frame, std::as_writable_bytes(std::span(pixels))));
    ISO_RETURN_IF_ERROR(take(frame, pixels));
    bar.Update(frame + 1);
  }
  return absl::OkStatus();
}

absl::Status SweepSource::Read(
    int step, absl::FunctionRef<absl::Status(int frame, std::span<const uint16_t> counts)> take) {
  return ReadPixels<uint16_t>(step, take);
}

absl::Status SweepSource::ReadLines(
    absl::FunctionRef<absl::Status(int frame, std::span<const float> lines)> take) {
  return ReadPixels<float>(1, take);
}

}  // namespace isocenter::cli
