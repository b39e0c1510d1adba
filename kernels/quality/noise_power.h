// The noise power spectrum of a uniform part of a volume.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/quality/region.h"
#include "kernels/quality/transfer_curve.h"

namespace isocenter::quality {

struct NoiseBlock {
  Vec3 center;                     // world, mm
  int size = 64;                   // voxels along x and y, 16 to 256
  int slices = 16;                 // along z, 1 to 256
  bool three_dimensional = false;  // one spectrum of the block, and not the mean of its slices'
};

/// A block's first voxel.
struct BlockPlace {
  int x = 0, y = 0, z = 0;
};
/// Errors: INVALID_ARGUMENT for a block that is not inside the volume.
absl::StatusOr<BlockPlace> PlaceOf(const VolumeGrid& grid, const NoiseBlock& block);

struct NoisePower {
  int nx = 0, ny = 0, nz = 0;              // nz is 1 for spectra of slices
  double bin_x = 0, bin_y = 0, bin_z = 0;  // 1/mm from one frequency to the next
  std::vector<double>
      power;            // [z][y][x], frequency 0 first; HU² mm², or HU² mm³ in three dimensions
  double variance = 0;  // HU², of the detrended values: what the spectrum's integral must be
  double integral = 0;  // HU², of the spectrum over frequencies
  /// Means over rings (shells) one bin wide, without frequency 0, where nothing is left of the
  /// noise.
  FrequencyCurve radial;
  double peak = 0, mean_frequency = 0;  // 1/mm, of the radial spectrum
};

/// NPS(f) = Δx Δy (Δz) / (Nx Ny (Nz)) · |DFT|² of values less a polynomial of second degree, whose
/// degrees of freedom are put back (ICRU Report 87, 2012; IEC 62220-1-1 for the trend). With
/// `again`, a second scan of the same object on the same grid, of half of their difference squared:
/// no structure of the object is left. Errors: INVALID_ARGUMENT with values and what is legal:
/// sizes, a block that is not inside the volume, values that are not finite, another grid, no
/// noise.
absl::StatusOr<NoisePower> MeasureNoisePower(const VolumeView& volume, const NoiseBlock& block,
                                             const VolumeView* again = nullptr);

}  // namespace isocenter::quality
