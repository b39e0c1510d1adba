// Modality worklist: keys of a question, and what an answer says. Source: DICOM PS3.4 K.6.1.2.2.
#pragma once

#include <memory>
#include <vector>

#include "server/jobs/worklist.h"

class DcmDataset;

namespace isocenter::dicom {

/// The identifier of a C-FIND: the query's keys, and empty ones for all that is wanted.
std::unique_ptr<DcmDataset> WorklistKeys(const jobs::WorklistQuery& query);

/// The steps of one answer, which is converted to UTF-8. Values that are not legal, or in a
/// character set that cannot be converted, are left empty.
std::vector<jobs::ScheduledStep> ScheduledSteps(DcmDataset& answer);

}  // namespace isocenter::dicom
