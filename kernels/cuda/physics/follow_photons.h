// The kernel that follows photons, and what it is given. No types of kernels/physics in it, whose
// vectors nvcc does not know.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"

namespace isocenter::cuda {

struct Point3 {
  double x, y, z;
};

/// physics::CellTable and SectionTables in device memory; four materials in each float4.
struct CellsOnDevice {
  Point3 low, cell_mm;
  int counts[3];
  int strides[3];
  const float4* amounts;
};
struct SectionsOnDevice {
  double least_kev, step_kev;
  int energies;
  double transfer_step;
  int transfers;
  const float4 *total, *coherent, *incoherent, *coherent_scale, *incoherent_scale;
  const float4 *form_factors, *incoherent_functions;
  const double* form_factor_integrals;  // [material][transfer]
  const float *most, *signal;           // over the energy
};
struct SpectrumOnDevice {
  int count;
  const double *kev, *cumulative;
};

/// physics::Panel.
struct PanelOnDevice {
  Point3 source, corner, width, height, normal;
  double most, solid_angle;
  const double* row_intensity;  // nullptr: 1
  int64_t intensity_rows;
};

/// A sum of scores in units of 2^-kScoreBits: 128 bits, so that it cannot overflow, and in
/// integers, so that the order of additions does not matter.
struct WideSum {
  unsigned long long low, high;
};
inline constexpr int kScoreBits = 36;
inline constexpr double kMostScore = 0x1p27;

/// Energies in units of 2^-kEnergyBits keV. Of kMostPhotons of 160 keV they stay below 2^63.
inline constexpr int kEnergyBits = 24;
inline constexpr int64_t kMostPhotons = 1'000'000'000;
struct FatesOnDevice {
  unsigned long long unscattered, scattered, absorbed;
  unsigned long long emitted, leaving;
  unsigned long long imparted[3];
  unsigned long long beyond;  // scores that are not below kMostScore
};

struct PhotonScene {
  CellsOnDevice cells;
  SectionsOnDevice sections;
  SpectrumOnDevice spectrum;
  PanelOnDevice panel;
  uint64_t frame_seed;  // physics::FrameSeed
  double phase;
  int64_t photons;  // of the view
  int columns, rows, batches;
  WideSum* sums;  // [batch][row][column][signal, variance]
  FatesOnDevice* fates;
};

/// Starts the photons of the view from `first` up to but not `end`.
absl::Status LaunchFollowPhotons(const PhotonScene& scene, int64_t first, int64_t end,
                                 int multiprocessors, cudaStream_t stream);

}  // namespace isocenter::cuda
