#include "kernels/recon/completeness/whole_scan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/recon/completeness/byte_order.h"
#include "kernels/recon/completeness/cut_rows.h"
#include "kernels/recon/completeness/detector_levels.h"
#include "kernels/recon/completeness/frame_row.h"
#include "kernels/recon/completeness/in_frames.h"
#include "kernels/recon/completeness/scan_watch.h"
#include "kernels/recon/completeness/silent_rows.h"

namespace isocenter::recon {
namespace {

/// Whether all pixels of a frame have one value, as of a detector that was not exposed, or has not
/// answered.
bool IsConstant(const ops::RawFrames& frames, int view) {
  const size_t pixel = frames.counts ? sizeof(uint16_t) : sizeof(float);
  const std::span<const std::byte> first = RowOf(frames, view, 0).pixels;
  // Every pixel is as the one before it.
  if (!std::ranges::equal(first.first(first.size() - pixel), first.subspan(pixel))) return false;
  for (int v = 1; v < static_cast<int>(frames.shape().middle); ++v) {
    if (!std::ranges::equal(RowOf(frames, view, v).pixels, first)) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> ConstantFramesText(const ops::RawFrames& frames) {
  std::vector<int> constant;
  for (int view = 0; view < static_cast<int>(frames.shape().slow); ++view) {
    if (IsConstant(frames, view)) constant.push_back(view);
  }
  if (constant.empty()) return std::nullopt;
  return absl::StrCat("in ", constant.size(), " of ", frames.shape().slow,
                      " frames, of which the first is frame ", constant[0],
                      ", all pixels of the detector have the same value");
}

FoundInScan ScanFindings(const WholeScan& scan) {
  ScanWatch watch(scan.acquisition);
  const DetectorLevels detector(scan.acquisition);
  SilentRows silent_rows(scan.acquisition);
  InFrames overexposed, silent, other_order;
  const int detector_rows = scan.acquisition.detector.rows;
  FoundInScan found;
  std::vector<std::string>& texts = found.texts;
  std::vector<FrameRow> sampled, rows;
  if (auto constant = ConstantFramesText(scan.frames)) texts.push_back(*std::move(constant));
  for (int view = 0; view < scan.views(); ++view) {
    if (IsConstant(scan.frames, view)) continue;
    sampled.clear();
    rows.clear();
    for (int i = 0; i < ScanWatch::SampledRows(detector_rows); ++i) {
      sampled.push_back(RowOf(scan.frames, view, ScanWatch::SampledRow(i, detector_rows)));
    }
    if (auto text = OtherByteOrderText(sampled, scan.acquisition.pixel_type)) {
      other_order.Add(view, std::move(text));
      continue;
    }
    const DetectorLevels::Levels levels = detector.Look(sampled);
    overexposed.Add(view, detector.Overexposed(levels, scan.dose(view)));
    silent.Add(view, detector.Silent(levels));
    for (int v = silent_rows.first_row(view); v < detector_rows; v += SilentRows::kStep) {
      silent_rows.Add(RowOf(scan.frames, view, v));
    }
    for (int i = 0; i < watch.rows(view); ++i) {
      rows.push_back(RowOf(scan.frames, view, watch.first_row(view) + i));
    }
    for (ScanFinding& finding : watch.Add(view, sampled, rows, scan.dose(view))) {
      // How many there are is known below.
      if (finding.fault == ScanFault::kRepeatedFrames) continue;
      texts.push_back(std::move(finding.text));
    }
  }
  for (const InFrames* each : {&other_order, &overexposed, &silent}) {
    if (auto text = each->Text(scan.views())) texts.push_back(*std::move(text));
  }
  if (auto text = silent_rows.Text()) texts.push_back(*std::move(text));
  if (std::optional<std::string> repeated = watch.RepeatedText()) {
    texts.push_back(*std::move(repeated));
  }
  const OppositeRaysResult opposite = watch.JudgeRays(scan.acquisition.trajectory);
  for (ScanFinding& finding : watch.End(opposite)) {
    if (finding.fault == ScanFault::kRepeatedFrames) continue;
    // Where frames are mirrored or in another order, it is why others are told.
    const bool first = finding.fault == ScanFault::kMatricesMisfit;
    if (first) found.misfit = 0;
    texts.insert(first ? texts.begin() : texts.end(), std::move(finding.text));
  }
  found.unchecked_order = UncheckedOrderText(opposite);
  return found;
}

std::optional<std::string> CutRowsText(const WholeScan& scan, std::string_view advice) {
  CutRows cut(scan.acquisition);
  std::vector<FrameRow> rows(scan.acquisition.detector.rows);
  bool found = false;
  for (int view = 0; view < scan.views(); ++view) {
    for (int v = 0; v < scan.acquisition.detector.rows; ++v) {
      rows[v] = RowOf(scan.frames, view, v);
    }
    found |= cut.Add(rows, scan.dose(view));
  }
  if (!found) return std::nullopt;
  return cut.Text(advice);
}

std::vector<std::string> BeyondGridTexts(const WholeScan& scan, const VolumeGrid& grid,
                                         const std::optional<BeyondGrid::Surrounded>& surrounded) {
  BeyondGrid beyond(scan.acquisition, grid, surrounded);
  for (int view = 0; view < scan.views(); ++view) {
    beyond.Add(scan.acquisition.trajectory[view], scan.frames, view, scan.dose(view));
  }
  return beyond.Texts();
}

}  // namespace isocenter::recon
