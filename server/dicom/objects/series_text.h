// What a series says of itself in words.
#pragma once

#include <string>

#include "server/jobs/job.h"

namespace isocenter::dicom {

/// Of any length, as it was given or made from the protocol.
std::string SeriesDescription(const jobs::Job& job);
/// What has no attribute of its own, as a DICOM text of at most 10240 characters.
std::string ImageComments(const jobs::Job& job);

}  // namespace isocenter::dicom
