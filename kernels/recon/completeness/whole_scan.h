// What is wrong with the frames of a scan that have all come: what a service says of the same
// frames while they come.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/operations.h"
#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/beyond_grid.h"

namespace isocenter::recon {

/// All frames of a scan in host memory. What it refers to must outlive it.
struct WholeScan {
  const Acquisition& acquisition;  // valid
  ops::RawFrames frames;           // as the acquisition has them
  std::span<const float> doses;    // what each frame tells; 0, or no doses: nothing

  int views() const { return static_cast<int>(frames.shape().slow); }
  double dose(int view) const { return doses.empty() ? 0 : doses[view]; }
};

/// A sentence for people of frames whose pixels all have one value; nothing where there are none.
std::optional<std::string> ConstantFramesText(const ops::RawFrames& frames);

/// Sentences for people.
struct FoundInScan {
  std::vector<std::string> texts;
  std::optional<size_t> misfit;                // which of them tells of matrices that do not fit
  std::optional<std::string> unchecked_order;  // why reversed frames would not be seen
};

/// What is wrong with the frames as a whole: some show nothing, and what ScanWatch and
/// DetectorLevels find in the others. It looks at ScanWatch::SampledRows of each frame and a few
/// more. Line integrals that no beam gives are to be found before (FindIllegalLines).
FoundInScan ScanFindings(const WholeScan& scan);

/// Why the object is wider than the detector, and `advice` about that; nothing where it is not
/// (CutRows). It looks at the outermost pixels of every row.
std::optional<std::string> CutRowsText(const WholeScan& scan, std::string_view advice = {});

/// Where the object is wider or longer than the grid of an iterative method, surroundings included;
/// or the part of it that they surround too low; none where it is not (BeyondGrid).
std::vector<std::string> BeyondGridTexts(
    const WholeScan& scan, const VolumeGrid& grid,
    const std::optional<BeyondGrid::Surrounded>& surrounded = std::nullopt);

}  // namespace isocenter::recon
