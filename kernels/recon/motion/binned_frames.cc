#include "kernels/recon/motion/binned_frames.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/completeness/cut_rows.h"
#include "kernels/recon/line_converter.h"

namespace isocenter::recon {
namespace {

constexpr int kChunkViews = 16;  // converted at once

/// `bin` x `bin` pixels of each of the frames, whose first is view `first_view` of `binned`.
void Bin(HostView3<const float> frames, const PixelBins& bins, int64_t first_view,
         BinnedLines& binned) {
  const float share = 1.f / static_cast<float>(bins.bin * bins.bin);
  const HostView3<float> out(binned.lines.data(), binned.shape);
  for (int64_t view = 0; view < frames.shape().slow; ++view) {
    for (int64_t v = 0; v < binned.shape.middle; ++v) {
      float* const row = out.row(first_view + view, v);
      std::fill_n(row, binned.shape.fast, 0.f);
      for (int j = 0; j < bins.bin; ++j) {
        const float* const from = frames.row(view, bins.first_row + v * bins.bin + j);
        for (int64_t u = 0; u < binned.shape.fast; ++u) {
          for (int i = 0; i < bins.bin; ++i) row[u] += from[bins.first_column + u * bins.bin + i];
        }
      }
      for (int64_t u = 0; u < binned.shape.fast; ++u) row[u] *= share;
    }
  }
}

BinnedLines RoomFor(const Acquisition& binned, const PixelBins& bins) {
  BinnedLines room{.bins = bins,
                   .shape = {static_cast<int64_t>(binned.trajectory.size()), binned.detector.rows,
                             binned.detector.columns}};
  room.lines.resize(room.shape.count());
  return room;
}

}  // namespace

PixelBins BothBins(const PixelBins& first, const PixelBins& then) {
  return {.bin = first.bin * then.bin,
          .first_column = first.first_column + first.bin * then.first_column,
          .first_row = first.first_row + first.bin * then.first_row};
}

BinnedLines BinnedAgain(const Acquisition& binned, const BinnedLines& finest,
                        const PixelBins& again) {
  BinnedLines coarse = RoomFor(binned, BothBins(finest.bins, again));
  Bin(finest.view(), again, 0, coarse);
  return coarse;
}

absl::StatusOr<int64_t> FinestLinesDeviceBytes(const Acquisition& acquisition,
                                               const ops::Registry& registry,
                                               const ops::Device& device) {
  return LineConverter::DeviceBytes(acquisition, {0, acquisition.detector.rows}, kChunkViews,
                                    registry, device);
}

int64_t FinestLinesChunkBytes(const Acquisition& acquisition) {
  return int64_t{acquisition.detector.rows} * acquisition.detector.columns * kChunkViews *
         static_cast<int64_t>(sizeof(float));
}

absl::StatusOr<BinnedLines> FinestLines(const Acquisition& acquisition, const PixelBins& bins,
                                        const ops::RawFrames& frames, std::span<const float> doses,
                                        const ops::Registry& registry, ops::Device& device,
                                        const std::function<absl::Status()>& go_on) {
  const Detector& detector = acquisition.detector;
  BinnedLines finest = RoomFor(Binned(acquisition, bins), bins);
  ISO_ASSIGN_OR_RETURN(const auto session, device.NewSession());
  ISO_ASSIGN_OR_RETURN(
      const auto converter,
      LineConverter::Create(acquisition, {0, detector.rows}, kChunkViews, registry, *session));
  const int views = static_cast<int>(acquisition.trajectory.size());
  std::vector<float> chunk;
  for (int view = 0; view < views; view += kChunkViews) {
    const int count = std::min(kChunkViews, views - view);
    const Shape3 shape{count, detector.rows, detector.columns};
    chunk.resize(shape.count());
    const HostView3<float> lines(chunk.data(), shape);
    ISO_RETURN_IF_ERROR(
        converter->Run(frames.views(view, count), DosesOf(doses, view, count), lines));
    Bin(HostView3<const float>(lines), bins, view, finest);
    if (go_on != nullptr) ISO_RETURN_IF_ERROR(go_on());
  }
  return finest;
}

// What the detector's edge cuts changes with every pose, and with it the volume's values: a still
// head that is wider than the detector is sharper by 0.07 with poses that it never had.
absl::Status CheckWholeWidth(const Acquisition& acquisition, const BinnedLines& finest,
                             absl::string_view what) {
  const Acquisition binned = Binned(acquisition, finest.bins);
  CutRows cut(binned);
  std::vector<CutRows::Row> rows(binned.detector.rows);
  bool found = false;
  for (int64_t view = 0; view < finest.shape.slow; ++view) {
    for (int v = 0; v < binned.detector.rows; ++v) {
      const std::span<const float> row(finest.view().row(view, v), finest.shape.fast);
      rows[v] = {v, std::as_bytes(row)};
    }
    found |= cut.Add(rows, 0);
  }
  if (!found) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      what, " cannot be told from frames that do not see the whole width: ", cut.Text()));
}

}  // namespace isocenter::recon
