// The files of one volume while they are written: the raw values and the DICOM objects of its
// forms.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/archive/records.h"
#include "server/dicom/objects/ct_series.h"
#include "server/dicom/objects/study_context.h"
#include "server/dicom/objects/xray3d_volume.h"
#include "server/jobs/job.h"
#include "server/storage/files.h"

namespace isocenter::dicom {

/// Slices may be written in any order and by several threads at once. Errors: see
/// storage::FileError.
class VolumeWriter {
 public:
  /// An upper bound of what a stored volume takes: float32 values, int16 pixels in each form, the
  /// index.
  static uint64_t StoredBytes(const VolumeGrid& grid, const jobs::DicomForms& forms);

  /// Makes the files in an empty directory, with room for all of the raw values and the multi-frame
  /// objects. Errors besides: those of CheckStorable; INVALID_ARGUMENT (a job without forms).
  static absl::StatusOr<VolumeWriter> Create(const std::filesystem::path& directory,
                                             const jobs::Job& job, const StudyContext& context);
  VolumeWriter(VolumeWriter&&) noexcept = default;

  /// `hounsfield`: the slice's values, [y][x]. `scratch`: as many, of this thread.
  absl::Status WriteSlice(int slice, std::span<const float> hounsfield, std::span<int16_t> scratch);
  /// Lets the disk begin with what it was given.
  void StartWriteback();

  /// What the index is to hold of the result.
  const archive::Result& result() const { return result_; }

 private:
  struct Part {
    FrameRange frames;
    storage::OutputFile file;
    uint64_t header_bytes;
  };
  VolumeWriter(std::filesystem::path directory, storage::OutputFile raw)
      : directory_(std::move(directory)), raw_(std::move(raw)) {}
  absl::Status OpenParts(const Xray3dVolume& volume, int64_t frame_bytes);
  absl::Status WriteCtSlice(int slice, std::span<const int16_t> stored);
  absl::Status WriteFrame(int slice, std::span<const int16_t> stored);

  std::filesystem::path directory_;
  storage::OutputFile raw_;
  std::optional<CtSeries> ct_;
  std::vector<Part> parts_;
  archive::Result result_;
};

}  // namespace isocenter::dicom
