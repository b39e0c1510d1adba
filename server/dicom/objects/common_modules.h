// What the objects of a job have in common, whatever their form: modules from Patient to SOP
// Common. docs/dicom.md says where each attribute comes from.
#pragma once

#include "absl/status/status.h"
#include "server/archive/records.h"
#include "server/dicom/objects/attributes.h"
#include "server/dicom/objects/study_context.h"
#include "server/jobs/job.h"

namespace isocenter::dicom {

/// Whether a job can become DICOM objects. Errors: INVALID_ARGUMENT (the grid, a study UID that is
/// none); FAILED_PRECONDITION (no dictionary).
absl::Status CheckStorable(const jobs::Job& job);

/// Rows of the index, with values as DICOM wants them.
archive::Patient PatientOf(const jobs::Job& job);
archive::Study StudyOf(const jobs::Job& job, const StudyContext& context);
/// `number`: of the series in its study.
archive::Series SeriesOf(const jobs::Job& job, Form form, int number);

/// Patient, General Study, General Series, Frame of Reference, General Equipment, the dates, the
/// character set and the contributing equipment. Class and UID of the object are not put.
void PutCommonModules(const jobs::Job& job, const archive::Patient& patient,
                      const archive::Study& study, const archive::Series& series, Attributes& put);

/// Image Pixel for slices of the grid: signed 16 bit, one sample.
void PutPixelFormat(const VolumeGrid& grid, Attributes& put);

/// The job's grid in the axes of its patient, which is what the next two want.
VolumeGrid PatientGridOf(const jobs::Job& job);
/// Values of Image Orientation (Patient): the direction of rows, then of columns.
std::string ImageOrientation(const VolumeGrid& patient_grid);
/// Values of Image Position (Patient), mm: the centre of voxel (0, 0, slice).
std::string ImagePosition(const VolumeGrid& patient_grid, int slice);
/// Values of Pixel Spacing, mm: between rows, between columns.
std::string PixelSpacing(const VolumeGrid& grid);

/// Referenced SOP Class and Instance UID, and the frame if there is one (PS3.3, 10.3).
void PutReference(const ImageReference& reference, Attributes& put);

// A window for soft tissue of head and body; viewers offer others.
inline constexpr char kWindowCenter[] = "40";
inline constexpr char kWindowWidth[] = "400";

}  // namespace isocenter::dicom
