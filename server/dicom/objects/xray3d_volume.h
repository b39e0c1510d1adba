// A reconstructed volume as the standard's object for it: X-Ray 3D Angiographic Image Storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "server/archive/records.h"
#include "server/dicom/objects/encode.h"
#include "server/dicom/objects/study_context.h"
#include "server/jobs/job.h"

namespace isocenter::dicom {

/// One multi-frame object for a volume, one frame per slice, Explicit VR Little Endian; a volume of
/// more pixels than an element holds is a concatenation of several objects (PS3.3, C.7.6.16.2.2.4).
/// docs/dicom.md says where each attribute comes from. Immutable; thread-safe.
class Xray3dVolume {
 public:
  /// `number`: of the series in its study. Errors: those of CheckStorable; INVALID_ARGUMENT (one
  /// slice alone is too large).
  static absl::StatusOr<Xray3dVolume> Create(const jobs::Job& job, const StudyContext& context,
                                             int number,
                                             int64_t most_pixel_bytes = kMostPixelBytes);

  /// What the index is to hold: one instance per part, with file names set.
  const archive::SeriesFiles& index() const { return index_; }
  /// Which slices each object has.
  const std::vector<FrameRange>& parts() const { return parts_; }

  /// The DICOM file of a part up to its pixel values, which follow as frames x rows x columns
  /// int16, little-endian, and end the file.
  absl::StatusOr<std::vector<std::byte>> FileHeader(int part) const;

 private:
  Xray3dVolume(const jobs::Job& job, const StudyContext& context, int number,
               std::vector<FrameRange> parts);

  jobs::Job job_;
  StudyContext context_;
  std::vector<FrameRange> parts_;
  archive::SeriesFiles index_;
};

}  // namespace isocenter::dicom
