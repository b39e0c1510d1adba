// What is wrong with the frames of an acquisition on disk as a whole.
#pragma once

#include <string>
#include <vector>

#include "client/cli/local_acquisition.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::cli {

/// Sentences of what a service says of the same frames while they come (recon::ScanWatch): frames
/// that repeat, air that is not at i0_counts, frames that do not fit their matrices, pixels that are
/// overexposed or show nothing.
std::vector<std::string> ScanFindings(const recon::Acquisition& acquisition,
                                      const LocalFrames& frames);

}  // namespace isocenter::cli
