// What is wrong with the frames of an acquisition on disk as a whole.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/local_acquisition.h"
#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/scan_watch.h"

namespace isocenter::cli {

/// Sentences of what a service says of the same frames while they come (recon::ScanWatch): frames
/// that repeat, air that is not at i0_counts, frames that do not fit their matrices.
struct FoundInScan {
  std::vector<recon::ScanFinding> warnings;
  std::optional<std::string> unchecked_order;  // why reversed frames would not be seen
};
FoundInScan ScanFindings(const recon::Acquisition& acquisition, const LocalFrames& frames);

}  // namespace isocenter::cli
