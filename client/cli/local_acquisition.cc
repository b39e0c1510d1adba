#include "client/cli/local_acquisition.h"

#include <algorithm>
#include <new>
#include <span>

#include "absl/strings/str_cat.h"
#include "client/cli/output/progress_bar.h"
#include "client/cli/output/warning_printer.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/completeness/cut_rows.h"

namespace isocenter::cli {

namespace {

bool IsConstant(std::span<const std::byte> frame, size_t pixel_bytes) {
  // Every pixel is as the one before it.
  return std::ranges::equal(frame.first(frame.size() - pixel_bytes), frame.subspan(pixel_bytes));
}

}  // namespace

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
  const size_t pixel_bytes = frame_bytes / (frames.shape_.middle * frames.shape_.fast);
  int64_t constant = 0, first_constant = 0;
  ProgressBar bar("reading", "frames", frames.shape_.slow);
  for (int64_t i = 0; i < frames.shape_.slow; ++i) {
    ISO_RETURN_IF_ERROR(
        source.Read(i, std::span(frames.pixels_).subspan(i * frame_bytes, frame_bytes)));
    frames.doses_.push_back(source.dose(i));
    frames.constant_.push_back(IsConstant(frames.frame(static_cast<int>(i)), pixel_bytes));
    if (frames.constant_.back() && constant++ == 0) first_constant = i;
    bar.Update(i + 1);
  }
  if (constant > 0) {
    WarningPrinter().Print(absl::StrCat("in ", constant, " of ", frames.shape_.slow,
                                        " frames, of which the first is frame ", first_constant,
                                        ", all pixels of the detector have the same value"));
  }
  return frames;
}

ops::RawFrames LocalFrames::view() const {
  if (pixel_type_ == recon::PixelType::kUint16Counts) {
    return {.counts = {reinterpret_cast<const uint16_t*>(pixels_.data()), shape_}};
  }
  return {.line_integrals = {reinterpret_cast<const float*>(pixels_.data()), shape_}};
}

std::optional<std::string> CutRowsText(const recon::Acquisition& acquisition,
                                       const LocalFrames& frames) {
  recon::CutRows cut(acquisition);
  std::vector<recon::CutRows::Row> rows(acquisition.detector.rows);
  bool found = false;
  for (int view = 0; view < static_cast<int>(acquisition.trajectory.size()); ++view) {
    for (int v = 0; v < acquisition.detector.rows; ++v) {
      rows[v] = recon::RowOf(frames.frame(view), v, acquisition.detector.rows);
    }
    found |= cut.Add(rows, frames.doses()[view]);
  }
  if (!found) return std::nullopt;
  return cut.Text();
}

}  // namespace isocenter::cli
