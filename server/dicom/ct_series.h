// A reconstructed volume as a series of CT images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/archive/records.h"
#include "server/jobs/job.h"

namespace isocenter::dicom {

/// Rounds to the nearest integer and clamps to what int16 holds; NaN becomes the least value.
/// `stored` has the length of `hounsfield`.
void ToStoredValues(std::span<const float> hounsfield, std::span<int16_t> stored);

/// The study of a job: as the console gave it, else made from the job's id, or for the jobs of a
/// pair from the pair's.
std::string StudyInstanceUid(const jobs::Job& job);
/// The patient's position in the scanner: one for each job and its refinements, or for each pair.
std::string FrameOfReferenceUid(const jobs::Job& job);
std::string SeriesInstanceUid(const jobs::Job& job);

/// What a series has to fit to.
struct StudyContext {
  int series_number = 1;  // of the series in its study
  /// The study as other series have it; what the job does not say of it is taken from there.
  std::optional<archive::Study> study;
  /// The jobs whose volumes a subtraction was made of, or the one that a refinement refines. Their
  /// volumes have its grid.
  std::vector<std::string> source_jobs;
};

/// The objects of one job's volume: CT Image Storage, one per slice, Explicit VR Little Endian.
/// docs/dicom.md says where each attribute comes from. Immutable; thread-safe.
class CtSeries {
 public:
  /// Errors: INVALID_ARGUMENT (the grid, a study UID that is none); FAILED_PRECONDITION (no
  /// dictionary).
  static absl::StatusOr<CtSeries> Create(const jobs::Job& job, const StudyContext& context);
  CtSeries(CtSeries&&) noexcept;
  CtSeries& operator=(CtSeries&&) noexcept;
  ~CtSeries();

  /// What the index is to hold: patient, study, series and one instance per slice, with file names
  /// set.
  const archive::Result& index() const { return index_; }

  /// A DICOM file of slice k up to its pixel values, which follow as rows x columns int16,
  /// little-endian, and end the file.
  absl::StatusOr<std::vector<std::byte>> FileHeader(int slice) const;

 private:
  struct Prototype;
  CtSeries(std::unique_ptr<Prototype> prototype, VolumeGrid grid, archive::Result index,
           std::vector<std::string> source_jobs, bool refines);

  std::unique_ptr<Prototype> prototype_;  // the attributes that all slices share
  VolumeGrid grid_;
  archive::Result index_;
  std::vector<std::string> source_jobs_;
  bool refines_;  // the source job, and is not derived from its images
};

}  // namespace isocenter::dicom
