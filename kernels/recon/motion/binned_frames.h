// The frames of a scan with as many pixels as a coarse volume needs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/acquisition.h"
#include "kernels/recon/second_pass/pixel_bins.h"

namespace isocenter::recon {

/// Binned frames of all views in host memory.
struct BinnedLines {
  PixelBins bins;  // of the detector's own pixels
  Shape3 shape;
  std::vector<float> lines;
  HostView3<const float> view() const { return {lines.data(), shape}; }
};

/// Line integrals of all frames, converted a few views at a time and binned. `go_on`, where there
/// is one, is asked after each of these; its error ends it. Errors: those of the conversion.
absl::StatusOr<BinnedLines> FinestLines(const Acquisition& acquisition, const PixelBins& bins,
                                        const ops::RawFrames& frames, std::span<const float> doses,
                                        const ops::Registry& registry, ops::Device& device,
                                        const std::function<absl::Status()>& go_on = nullptr);
/// What that takes of the device's memory, and of the host's beside the result.
absl::StatusOr<int64_t> FinestLinesDeviceBytes(const Acquisition& acquisition,
                                               const ops::Registry& registry,
                                               const ops::Device& device);
int64_t FinestLinesChunkBytes(const Acquisition& acquisition);

/// Bins of bins, as bins of pixels.
PixelBins BothBins(const PixelBins& first, const PixelBins& then);

/// `finest` with `again` of its pixels together; `binned` is the acquisition of the result.
BinnedLines BinnedAgain(const Acquisition& binned, const BinnedLines& finest,
                        const PixelBins& again);

/// Errors: FAILED_PRECONDITION where the detector's edge cuts rows of the object, saying that
/// `what` cannot be told from them.
absl::Status CheckWholeWidth(const Acquisition& acquisition, const BinnedLines& finest,
                             absl::string_view what);

}  // namespace isocenter::recon
