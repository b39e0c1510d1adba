// The attributes of a modality performed procedure step. Source: DICOM PS3.4 F.7.2.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/archive/records.h"
#include "server/jobs/job.h"

class DcmDataset;

namespace isocenter::dicom {

/// A series that the step has made.
struct PerformedSeries {
  archive::Series series;
  std::vector<archive::InstanceRow> instances;
};

/// Data sets are kept as text (Explicit VR Little Endian in Base64), as they will be sent. Errors:
/// INTERNAL.
/// Of N-CREATE: the step is in progress. `ae_title` is ours.
absl::StatusOr<std::string> ProcedureStepBegun(const jobs::Job& job, const std::string& ae_title);
/// Of N-SET: completed with these series or, unless the job is completed, discontinued with a
/// reason.
absl::StatusOr<std::string> ProcedureStepEnded(const jobs::Job& job,
                                               const std::vector<PerformedSeries>& series,
                                               const std::string& ae_title);
/// Errors: DATA_LOSS.
absl::StatusOr<std::unique_ptr<DcmDataset>> DecodeDataSet(const std::string& text);

}  // namespace isocenter::dicom
