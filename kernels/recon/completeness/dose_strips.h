// Whether the strips that doses are read from see air.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// A frame that does not tell its dose gets that of the brightest places in the calibration's air
/// strips (ops::FindDoses). Where the object reaches all of them, its shadow is taken for a dimmer
/// tube, and the volume is tens of HU too low; where nothing is as bright as a dose of
/// ops::kLeastDose, or everything is brighter than kMostDose, the dose is taken to be 1.
///
/// The chord of a body begins at its skin as the root of the depth does: a place that is shaded at
/// all is shaded unevenly. So the brightest places of a frame are no air where their halves differ
/// by more than kFlat in the middle. Scans are told of where more than kViews of the views are so.
///
/// Says nothing of frames that tell their dose, and of acquisitions without strips. Not
/// thread-safe.
class DoseStrips {
 public:
  static constexpr double kFlat = 0.03;  // line integral
  static constexpr double kViews = 0.05;

  /// `acquisition`: valid, and must outlive this.
  explicit DoseStrips(const Acquisition& acquisition);

  /// Some rows of a view, each view once, in any order. `dose`: what the frame tells; 0: nothing.
  /// True for the view with which the scan becomes one whose doses are not known, and never again.
  bool Add(std::span<const FrameRow> rows, double dose);

  /// Why, with what is known so far, as a sentence for people.
  std::string Text() const;

 private:
  struct Place {
    double brightness = 0;  // relative to the empty beam of dose 1
    double slope = 0;       // of line integrals, between the halves of the place
  };
  std::optional<Place> PlaceAt(const FrameRow& row, int first_column) const;

  const Acquisition& acquisition_;
  const int strip_;
  int needed_ = 0;  // views
  int shaded_ = 0, beyond_ = 0;
  int flat_beyond_ = 0;          // of those beyond, where strips are flat as air is
  double least_ = 0, most_ = 0;  // doses that were read where no air is
  bool said_ = false;
};

}  // namespace isocenter::recon
