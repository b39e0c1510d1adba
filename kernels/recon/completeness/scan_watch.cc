#include "kernels/recon/completeness/scan_watch.h"

#include <algorithm>

namespace isocenter::recon {

ScanWatch::ScanWatch(const Acquisition& acquisition)
    : repeated_(acquisition),
      air_(acquisition),
      content_(acquisition),
      order_(acquisition),
      copies_(acquisition),
      noise_(acquisition),
      doses_(acquisition),
      halves_(acquisition),
      still_(acquisition),
      echo_(acquisition),
      jitter_(acquisition),
      row_length_(acquisition),
      strips_(acquisition),
      defects_(acquisition),
      still_pixels_(acquisition),
      thick_(acquisition),
      rays_(acquisition) {}

int ScanWatch::SampledRows(int detector_rows) {
  constexpr int kMostRows = 16;
  return std::min(kMostRows, detector_rows);
}

int ScanWatch::SampledRow(int i, int detector_rows) {
  return (2 * i + 1) * detector_rows / (2 * SampledRows(detector_rows));
}

std::vector<ScanFinding> ScanWatch::Add(int view, std::span<const FrameRow> sampled,
                                        std::span<const FrameRow> rows, double dose) {
  std::vector<ScanFinding> findings;
  const bool repeats = repeated_.Add(view, sampled);
  if (repeats && !repeats_) {
    findings.push_back({ScanFault::kRepeatedFrames, view, repeated_.TextOf(view)});
    ++told_;
  }
  repeats_ = repeats;
  if (air_.Add(sampled, dose)) findings.push_back({ScanFault::kAirLevel, view, air_.Text()});
  if (strips_.Add(sampled, dose)) {
    findings.push_back({ScanFault::kDoseStrips, view, strips_.Text()});
  }
  content_.Add(view, sampled, dose);
  order_.Add(sampled, dose);
  copies_.Add(view, sampled);
  // The difference of copies is no noise, and after them the object has moved on by several frames.
  if (!repeats) noise_.Add(view, sampled);
  doses_.Add(view, sampled, dose);
  halves_.Add(view, sampled);
  still_.Add(view, sampled);
  echo_.Add(view, sampled);
  jitter_.Add(view, sampled);
  defects_.Add(view, sampled);
  still_pixels_.Add(view, sampled);
  thick_.Add(view, sampled, dose);
  row_length_.Add(view, rows);
  rays_.Add(view, rows);
  return findings;
}

std::vector<ScanFinding> ScanWatch::End(const OppositeRaysResult& rays) const {
  std::vector<ScanFinding> findings;
  if (repeated_.copies() > told_) {
    findings.push_back({ScanFault::kRepeatedFrames, repeated_.first_copy(), repeated_.Text()});
  }
  // Frames that happen to lie alike among others that do not look still.
  const std::optional<std::string> jitter = jitter_.Text();
  if (jitter) findings.push_back({ScanFault::kFrameJitter, std::nullopt, *jitter});
  // Copies are still, too, and have the noise of what they copy.
  if (repeated_.copies() == 0) {
    if (const std::optional<std::string> still = still_.Text(); still && !jitter) {
      findings.push_back({ScanFault::kStillViews, std::nullopt, *still});
    }
    if (const std::optional<std::string> echo = echo_.Text()) {
      findings.push_back({ScanFault::kFrameEcho, std::nullopt, *echo});
    }
  }
  const std::optional<std::string> length = row_length_.Text();
  if (length) findings.push_back({ScanFault::kRowLength, std::nullopt, *length});
  const std::optional<std::string> order = order_.Text();
  if (order && !length) findings.push_back({ScanFault::kColumnOrder, std::nullopt, *order});
  if (const std::optional<std::string> misfit = MisfitText(rays);
      misfit && !order && !length && !jitter) {
    const ScanFault fault = DriftText(rays) ? ScanFault::kOffsetDrift : ScanFault::kMatricesMisfit;
    findings.push_back({fault, std::nullopt, *misfit});
  }
  if (const std::optional<std::string> copies = copies_.Text()) {
    findings.push_back({ScanFault::kCopiedColumns, std::nullopt, *copies});
  }
  if (const std::optional<std::string> defects = defects_.Text()) {
    findings.push_back({ScanFault::kUnknownDefects, std::nullopt, *defects});
  }
  if (const std::optional<std::string> still = still_pixels_.Text()) {
    findings.push_back({ScanFault::kStillPixels, std::nullopt, *still});
  }
  if (const std::optional<std::string> thick = thick_.Text()) {
    findings.push_back({ScanFault::kThickRays, std::nullopt, *thick});
  }
  if (const std::optional<std::string> content = content_.Text()) {
    findings.push_back({ScanFault::kBeamContent, std::nullopt, *content});
  }
  if (const std::optional<std::string> noise = noise_.Text()) {
    findings.push_back({ScanFault::kCountNoise, std::nullopt, *noise});
  }
  const std::optional<std::string> halves = halves_.Text();
  if (halves) findings.push_back({ScanFault::kHalfSteps, std::nullopt, *halves});
  // Of a step of one half the middle of all pieces may have some.
  if (const std::optional<std::string> doses = doses_.Text(); doses && !halves) {
    findings.push_back({ScanFault::kDoseSteps, std::nullopt, *doses});
  }
  return findings;
}

std::optional<std::string> ScanWatch::RepeatedText() const {
  if (repeated_.copies() == 0) return std::nullopt;
  return repeated_.Text();
}

}  // namespace isocenter::recon
