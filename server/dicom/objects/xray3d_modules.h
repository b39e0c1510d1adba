// The modules and functional groups of an X-Ray 3D Angiographic image that other objects do not
// have. Source: DICOM PS3.3, A.53, C.7.6.16, C.7.6.17 and C.8.21.
#pragma once

#include <vector>

#include "server/archive/records.h"
#include "server/dicom/objects/attributes.h"
#include "server/dicom/objects/study_context.h"
#include "server/jobs/job.h"

namespace isocenter::dicom {

/// X-Ray 3D Image, Presentation LUT shape and what the standard wants of all enhanced images.
void PutXray3dImage(const jobs::Job& job, Attributes& put);

/// X-Ray 3D Angiographic Image Contributing Sources: the frames of the C-arm's detector, or the
/// volumes that a subtraction was made of. Nothing when the detector is not known.
void PutContributingSources(const jobs::Job& job, const archive::Series& series,
                            const std::vector<SourceSeries>& sources, Attributes& put);

/// X-Ray 3D Angiographic Acquisition.
void PutXray3dAcquisition(const jobs::Job& job, Attributes& put);

/// X-Ray 3D Reconstruction.
void PutXray3dReconstruction(const jobs::Job& job, Attributes& put);

/// Acquisition Context: the dose-area product, if it is known.
void PutAcquisitionContext(const jobs::Job& job, Attributes& put);

/// Common Instance Reference: all other objects that this one names.
void PutReferencedSeries(const std::vector<SourceSeries>& sources, Attributes& put);

/// Multi-frame Dimension: frames are ordered by their position in the stack.
void PutDimensions(const jobs::Job& job, Attributes& put);

/// What all frames share.
void PutSharedGroups(const jobs::Job& job, const std::vector<SourceSeries>& sources,
                     Attributes& put);

/// Where the frames of a part are.
void PutFrameGroups(const jobs::Job& job, const FrameRange& part, Attributes& put);

}  // namespace isocenter::dicom
