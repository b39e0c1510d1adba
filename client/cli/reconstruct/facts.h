// What the file of a reconstruction made here tells of it.
#pragma once

#include "client/cli/local_acquisition.h"
#include "client/cli/reconstruct/options.h"
#include "client/formats/facts/volume_facts.h"
#include "isocenter/v1/acquisition.pb.h"

namespace isocenter::cli {

/// Frames are told by the checksum of all their pixels.
formats::VolumeFacts FactsOf(const ReconstructOptions& options, const v1::AcquisitionHeader& header,
                             const recon::Acquisition& acquisition, const LocalFrames& frames);

}  // namespace isocenter::cli
