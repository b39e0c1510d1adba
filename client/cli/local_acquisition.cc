#include "client/cli/local_acquisition.h"

#include <new>
#include <span>

#include "absl/strings/str_cat.h"
#include "client/cli/output/progress_bar.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/completeness/repair/scan_repair.h"

namespace isocenter::cli {

absl::StatusOr<LocalFrames> LocalFrames::Read(formats::FrameSource& source) {
  const v1::AcquisitionHeader& header = source.header();
  LocalFrames frames;
  if (header.pixel_type() != v1::PIXEL_TYPE_UINT16_COUNTS) {
    frames.pixel_type_ = recon::PixelType::kFloat32LineIntegrals;
  }
  frames.shape_ = {header.frame_count(), header.detector().rows(), header.detector().columns()};
  const int64_t frame_bytes = source.frame_bytes();
  try {
    frames.pixels_.resize(frames.shape_.slow * frame_bytes);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(
        frames.shape_.slow, " frames need ", BytesText(frames.shape_.slow * frame_bytes),
        " of memory; ", BytesText(AvailableMemoryBytes()), " are available"));
  }
  ProgressBar bar("reading", "frames", frames.shape_.slow);
  for (int64_t i = 0; i < frames.shape_.slow; ++i) {
    ISO_RETURN_IF_ERROR(
        source.Read(i, std::span(frames.pixels_).subspan(i * frame_bytes, frame_bytes)));
    frames.doses_.push_back(source.dose(i));
    bar.Update(i + 1);
  }
  if (frames.pixel_type_ == recon::PixelType::kFloat32LineIntegrals) {
    const std::span lines(reinterpret_cast<float*>(frames.pixels_.data()),
                          frames.pixels_.size() / sizeof(float));
    ISO_ASSIGN_OR_RETURN(frames.repairs_,
                         recon::RepairScan({.columns = static_cast<int>(frames.shape_.fast),
                                            .rows = static_cast<int>(frames.shape_.middle)},
                                           lines));
  }
  return frames;
}

ops::RawFrames LocalFrames::view() const {
  if (pixel_type_ == recon::PixelType::kUint16Counts) {
    return {.counts = {reinterpret_cast<const uint16_t*>(pixels_.data()), shape_}};
  }
  return {.line_integrals = {reinterpret_cast<const float*>(pixels_.data()), shape_}};
}

}  // namespace isocenter::cli
