// A reconstructed volume as a series of CT images.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "server/archive/records.h"
#include "server/dicom/objects/study_context.h"
#include "server/jobs/job.h"

namespace isocenter::dicom {

/// The objects of one job's volume: CT Image Storage, one per slice, Explicit VR Little Endian.
/// docs/dicom.md says where each attribute comes from. Immutable; thread-safe.
class CtSeries {
 public:
  /// `number`: of the series in its study. Errors: those of CheckStorable.
  static absl::StatusOr<CtSeries> Create(const jobs::Job& job, const StudyContext& context,
                                         int number);
  CtSeries(CtSeries&&) noexcept;
  CtSeries& operator=(CtSeries&&) noexcept;
  ~CtSeries();

  /// What the index is to hold: one instance per slice, with file names set.
  const archive::SeriesFiles& index() const { return index_; }

  /// A DICOM file of slice k up to its pixel values, which follow as rows x columns int16,
  /// little-endian, and end the file.
  absl::StatusOr<std::vector<std::byte>> FileHeader(int slice) const;

 private:
  struct Prototype;
  CtSeries(std::unique_ptr<Prototype> prototype, VolumeGrid grid, archive::SeriesFiles index,
           std::vector<SourceSeries> sources, bool is_derived);

  std::unique_ptr<Prototype> prototype_;  // the attributes that all slices share
  VolumeGrid grid_;                       // in the axes of the patient
  archive::SeriesFiles index_;
  std::vector<SourceSeries> sources_;
  bool is_derived_;  // from the sources' images, or refers to them
};

}  // namespace isocenter::dicom
