#include "client/cli/reconstruct/scan_findings.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/recon/completeness/detector_levels.h"
#include "kernels/recon/completeness/scan_watch.h"

namespace isocenter::cli {
namespace {

/// What a service says at each frame with which it begins: here, in how many.
class InFrames {
 public:
  void Add(int view, std::optional<std::string> text) {
    if (!text) return;
    if (frames_++ > 0) return;
    first_ = view;
    text_ = *std::move(text);
  }
  void Tell(int64_t views, std::vector<std::string>& texts) const {
    if (frames_ == 0) return;
    texts.push_back(absl::StrCat("in ", frames_, " of ", views, " frames, of which the first is ",
                                 first_, ": ", text_));
  }

 private:
  int64_t frames_ = 0;
  int first_ = 0;
  std::string text_;
};

/// Line integrals that are no numbers, of a whole frame.
std::optional<std::string> NotFinite(const recon::Acquisition& acquisition,
                                     std::span<const std::byte> frame) {
  if (acquisition.pixel_type != recon::PixelType::kFloat32LineIntegrals) return std::nullopt;
  const int64_t pixels = static_cast<int64_t>(frame.size() / sizeof(float));
  int64_t found = 0, first = 0;
  for (int64_t i = 0; i < pixels; ++i) {
    float line;
    std::memcpy(&line, &frame[i * sizeof(float)], sizeof line);
    if (!std::isfinite(line) && found++ == 0) first = i;
  }
  if (found == 0) return std::nullopt;
  const int columns = acquisition.detector.columns;
  return absl::StrCat(found, " of ", pixels, " line integrals are not finite (column ",
                      first % columns, " of row ", first / columns,
                      " is the first); legal are finite numbers: they make streaks");
}

}  // namespace

std::vector<std::string> ScanFindings(const recon::Acquisition& acquisition,
                                      const LocalFrames& frames) {
  recon::ScanWatch watch(acquisition);
  const recon::DetectorLevels detector(acquisition);
  InFrames overexposed, silent, not_finite;
  const int detector_rows = acquisition.detector.rows;
  std::vector<std::string> texts;
  std::vector<recon::FrameRow> sampled, rows;
  for (int view = 0; view < static_cast<int>(acquisition.trajectory.size()); ++view) {
    // A frame that shows nothing has been told of.
    if (frames.is_constant(view)) continue;
    const auto row = [&](int v) { return recon::RowOf(frames.frame(view), v, detector_rows); };
    sampled.clear();
    rows.clear();
    for (int i = 0; i < recon::ScanWatch::SampledRows(detector_rows); ++i) {
      sampled.push_back(row(recon::ScanWatch::SampledRow(i, detector_rows)));
    }
    const recon::DetectorLevels::Levels levels = detector.Look(sampled);
    overexposed.Add(view, detector.Overexposed(levels, frames.doses()[view]));
    silent.Add(view, detector.Silent(levels));
    not_finite.Add(view, NotFinite(acquisition, frames.frame(view)));
    for (int i = 0; i < watch.rows(view); ++i) rows.push_back(row(watch.first_row(view) + i));
    for (recon::ScanFinding& finding : watch.Add(view, sampled, rows, frames.doses()[view])) {
      // How many there are is known below.
      if (finding.fault == recon::ScanFault::kRepeatedFrames) continue;
      texts.push_back(std::move(finding.text));
    }
  }
  const auto views = static_cast<int64_t>(acquisition.trajectory.size());
  for (const InFrames* each : {&overexposed, &silent, &not_finite}) each->Tell(views, texts);
  if (std::optional<std::string> repeated = watch.RepeatedText()) {
    texts.push_back(*std::move(repeated));
  }
  for (recon::ScanFinding& finding : watch.End(acquisition.trajectory)) {
    if (finding.fault == recon::ScanFault::kRepeatedFrames) continue;
    texts.push_back(std::move(finding.text));
  }
  return texts;
}

}  // namespace isocenter::cli
