// Frames of which several pixels are one, for what is computed coarsely.
#pragma once

#include <span>

#include "kernels/base/views.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::recon {

/// `bin` x `bin` pixels are one, from this pixel on; what is left at the borders is left out.
struct PixelBins {
  int bin = 1;
  int first_column = 0, first_row = 0;
};

/// As many pixels as a voxel at the isocentre covers, 16 at most, in the middle of the detector so
/// that one that is not displaced stays so.
PixelBins BinsFor(const Acquisition& acquisition, double voxel_mm);

/// A matrix for binned pixels.
ProjectionMatrix Binned(const ProjectionMatrix& matrix, const PixelBins& bins);

/// Line integrals of binned pixels, without a calibration.
Acquisition Binned(const Acquisition& acquisition, const PixelBins& bins);

/// The means of bin x bin pixels of one frame, as `binned` has them: [v][u].
void BinFrame(const PixelBins& bins, const Detector& binned, HostView3<const float> frame,
              std::span<float> means);

}  // namespace isocenter::recon
