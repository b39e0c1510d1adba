#include "client/cli/reconstruct/scan_findings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/recon/completeness/scan_watch.h"

namespace isocenter::cli {
namespace {

bool IsConstant(std::span<const std::byte> frame, size_t pixel_bytes) {
  return std::ranges::equal(frame.first(frame.size() - pixel_bytes), frame.subspan(pixel_bytes));
}

}  // namespace

std::vector<std::string> ScanFindings(const recon::Acquisition& acquisition,
                                      const LocalFrames& frames) {
  recon::ScanWatch watch(acquisition);
  const int detector_rows = acquisition.detector.rows;
  const auto row_bytes = static_cast<size_t>(recon::FrameBytes(acquisition) / detector_rows);
  std::vector<std::string> texts;
  std::vector<recon::FrameRow> sampled, rows;
  for (int view = 0; view < static_cast<int>(acquisition.trajectory.size()); ++view) {
    const std::span<const std::byte> frame = frames.frame(view);
    // A frame that shows nothing has been told of.
    if (IsConstant(frame, recon::PixelBytes(acquisition.pixel_type))) continue;
    const auto row = [&](int v) {
      return recon::FrameRow{v, frame.subspan(v * row_bytes, row_bytes)};
    };
    sampled.clear();
    rows.clear();
    for (int i = 0; i < std::min(recon::ScanWatch::kSampledRows, detector_rows); ++i) {
      sampled.push_back(row(recon::ScanWatch::SampledRow(i, detector_rows)));
    }
    for (int i = 0; i < watch.rows(view); ++i) rows.push_back(row(watch.first_row(view) + i));
    for (recon::ScanFinding& finding : watch.Add(view, sampled, rows, frames.doses()[view])) {
      // How many there are is known below.
      if (finding.fault == recon::ScanFault::kRepeatedFrames) continue;
      texts.push_back(std::move(finding.text));
    }
  }
  if (std::optional<std::string> repeated = watch.RepeatedText()) {
    texts.push_back(*std::move(repeated));
  }
  if (const auto misfit = watch.End(acquisition.trajectory)) texts.push_back(misfit->text);
  return texts;
}

}  // namespace isocenter::cli
