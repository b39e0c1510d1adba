// Scattered radiation of a view, by Monte Carlo.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/physics/beam.h"
#include "kernels/physics/scatter/cross_sections.h"
#include "kernels/physics/scatter/panel.h"
#include "kernels/physics/scatter/photon_tables.h"
#include "kernels/physics/scatter/volume.h"
#include "kernels/physics/spectrum.h"

namespace isocenter::physics {

class PhotonEngine;

/// What became of the photons of a view: each has exactly one end.
struct PhotonFates {
  int64_t unscattered = 0;  // passed or missed the object without an interaction
  int64_t scattered = 0;    // left it after one or more
  int64_t absorbed = 0;     // photoelectric effect, or less than kLeastKev left
  double emitted_kev = 0, leaving_kev = 0;
  std::array<double, kTissueMaterials> imparted_kev{};  // to each material

  PhotonFates& operator+=(const PhotonFates& other);
};

/// Scatter on the cells of a coarse grid that covers the detector, relative to what reaches the
/// same place without an object, were all of the detector as bright as its middle.
struct ScatterImage {
  std::vector<Reading> readings;  // [row][column]
  double relative_error = 0;      // standard error of a cell's signal over the mean signal
  PhotonFates fates;
};

/// Photons of a spectrum from a point source over the detector, followed through the object by
/// Woodcock's method (Woodcock et al., ANL-7050 (1965) 557) until they leave it or are absorbed. At
/// each interaction the expected signal at one point of the detector is added up, with the
/// attenuation on the way there (next-event estimation). The cells of the points are multiples of
/// the golden ratio along the photons and of the silver one along a photon's interactions, so that
/// all get about the same number. A photon has draws of its own and depends on no other.
/// A photon gives the same signal from whatever direction it comes. Thread-safe.
class ScatterSimulation {
 public:
  /// `materials` are those of the volume, kTissueMaterials; csi_mm as Beam::Make. Errors:
  /// INVALID_ARGUMENT (a spectrum without photons that the screen sees).
  static absl::StatusOr<ScatterSimulation> Make(const Spectrum& spectrum, double csi_mm,
                                                std::span<const Material> materials,
                                                ScatterVolume volume, ThreadPool& pool);

  struct Settings {
    int64_t photons = 0;  // at least 1
    int columns = 0, rows = 0;
    uint64_t seed = 1;
    uint64_t view = 0;                        // each has draws of its own
    std::span<const double> row_intensity{};  // as Panel::Make: a heel without its spectra
  };
  /// The same for any number of threads. Memory: 1 KiB for each cell. Errors: those of Decompose.
  absl::StatusOr<ScatterImage> View(const ProjectionMatrix& matrix, const Detector& detector,
                                    const Settings& settings, ThreadPool& pool) const;
  /// The same by a device, which was made for this simulation. Errors: those of Decompose and
  /// PhotonEngine::Follow.
  absl::StatusOr<ScatterImage> View(const ProjectionMatrix& matrix, const Detector& detector,
                                    const Settings& settings, PhotonEngine& engine) const;

  /// They stay as long as the simulation.
  PhotonTables Tables() const;
  /// A view's first photon scores in the cell at this share of all.
  static double PhaseOf(const Settings& settings);
  /// Photons whose number leaves the same rest; the spread of their sums is that of the image.
  static constexpr int kBatches = 64;

 private:
  ScatterSimulation(CrossSections sections, ScatterVolume volume)
      : sections_(std::move(sections)), volume_(std::move(volume)) {}

  struct Photon;
  struct Batch;  // photons that one thread follows, and what they gave

  void Run(Batch& batch) const;
  void Follow(Photon photon, Batch& batch) const;
  bool Interact(Photon& photon, ByMaterial amounts, double total, Batch& batch) const;
  void Score(Photon& photon, ByMaterial amounts, double total, Batch& batch) const;
  double DrawKev(double quantile) const;
  double Through(ByMaterial paths, double kev) const;

  CrossSections sections_;
  ScatterVolume volume_;
  std::vector<double> kev_, cumulative_;  // of the spectrum
  std::vector<float> most_;               // attenuation of any cell, over the energy
  std::vector<float> signal_;             // of a photon, over that of the spectrum's mean photon
};

}  // namespace isocenter::physics
