#include "kernels/recon/completeness/repair/scan_repair.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/recon/completeness/byte_order.h"
#include "kernels/recon/completeness/frame_row.h"
#include "kernels/recon/completeness/in_frames.h"
#include "kernels/recon/completeness/repair/frame_blend.h"
#include "kernels/recon/completeness/repair/illegal_lines.h"

namespace isocenter::recon {
namespace {

/// Why a frame with too many illegal pixels has them.
std::string WhyUnusable(const Detector& detector, std::span<const float> frame,
                        const IllegalLines& found) {
  std::vector<FrameRow> rows;
  for (int v = 0; v < detector.rows; ++v) {
    rows.push_back(RowOf(std::as_bytes(frame), v, detector.rows));
  }
  auto order = OtherByteOrderText(rows, PixelType::kFloat32LineIntegrals);
  return order ? *std::move(order) : IllegalLinesText(found, detector);
}

/// A run of frames that are not used.
struct Gap {
  int first = 0, last = 0;
  std::string why;  // of the first
  int length() const { return last - first + 1; }
};

absl::Status CheckGap(const Gap& gap, int unusable, int views) {
  const int most = static_cast<int>(kMostMissing * views);
  std::string illegal;
  if (unusable > most || gap.length() > kLongestGap) {
    illegal = absl::StrCat(unusable, " of ", views, " frames are like this, ", gap.length(),
                           " in a row; legal are at most ", most, " and ", kLongestGap);
  } else if (gap.first == 0 || gap.last == views - 1) {
    illegal = "legal is one that has a frame before it and one after it to be computed from";
  } else {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("frame ", gap.first, " cannot be used: ", gap.why, ". ", illegal));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> RepairScan(const Detector& detector,
                                                    std::span<float> frames) {
  const size_t pixels = static_cast<size_t>(detector.rows) * detector.columns;
  const auto views = static_cast<int>(frames.size() / pixels);
  const auto frame = [&](int view) { return frames.subspan(view * pixels, pixels); };
  InFrames repaired;
  std::vector<Gap> gaps;
  int unusable = 0;
  for (int view = 0; view < views; ++view) {
    const std::span<const std::byte> bytes = std::as_bytes(frame(view));
    const IllegalLines found = FindIllegalLines({&bytes, 1});
    if (!found.found()) continue;
    if (!found.too_many()) {
      repaired.Add(view, RepairedLinesText(found, detector));
      RepairLineIntegrals(detector, frame(view));
      continue;
    }
    ++unusable;
    if (!gaps.empty() && gaps.back().last == view - 1) {
      gaps.back().last = view;
    } else {
      gaps.push_back({view, view, WhyUnusable(detector, frame(view), found)});
    }
  }
  std::vector<std::string> texts;
  for (const Gap& gap : gaps) {
    if (const absl::Status legal = CheckGap(gap, unusable, views); !legal.ok()) return legal;
    const int before = gap.first - 1, after = gap.last + 1;
    for (int view = gap.first; view <= gap.last; ++view) {
      std::ranges::copy(frame(before), frame(view).begin());
      BlendFrames(PixelType::kFloat32LineIntegrals, std::as_writable_bytes(frame(view)),
                  std::as_bytes(frame(after)),
                  static_cast<float>(view - before) / static_cast<float>(after - before));
    }
    texts.push_back(UnusedFramesText(gap.first, gap.last, gap.why));
  }
  if (auto text = repaired.Text(views)) texts.push_back(*std::move(text));
  return texts;
}

}  // namespace isocenter::recon
