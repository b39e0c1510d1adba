#include "client/cli/reconstruct/scan_findings.h"

#include <utility>

namespace isocenter::cli {

FoundInScan ScanFindings(const recon::Acquisition& acquisition, const LocalFrames& frames) {
  recon::ScanWatch watch(acquisition);
  const int detector_rows = acquisition.detector.rows;
  FoundInScan found;
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
    for (int i = 0; i < watch.rows(view); ++i) rows.push_back(row(watch.first_row(view) + i));
    for (recon::ScanFinding& finding : watch.Add(view, sampled, rows, frames.doses()[view])) {
      // How many there are is known below.
      if (finding.fault == recon::ScanFault::kRepeatedFrames) continue;
      found.warnings.push_back(std::move(finding));
    }
  }
  if (std::optional<std::string> repeated = watch.RepeatedText()) {
    found.warnings.push_back({recon::ScanFault::kRepeatedFrames, std::nullopt, *repeated});
  }
  for (recon::ScanFinding& finding : watch.End(acquisition.trajectory)) {
    if (finding.fault == recon::ScanFault::kRepeatedFrames) continue;
    found.warnings.push_back(std::move(finding));
  }
  found.unchecked_order = watch.UncheckedOrder(acquisition.trajectory);
  return found;
}

}  // namespace isocenter::cli
