#include "server/dicom/objects/volume_writer.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/objects/common_modules.h"
#include "server/dicom/objects/stored_values.h"
#include "server/storage/files.h"

namespace isocenter::dicom {
namespace {

constexpr char kRawFile[] = "volume.f32";
// Generous bounds of what there is besides pixels: of a CT image, of a multi-frame object and each
// of its frames, and of what the index grows by.
constexpr uint64_t kSliceHeaderBytes = 16384;
constexpr uint64_t kVolumeHeaderBytes = 1 << 20;
constexpr uint64_t kFrameHeaderBytes = 1024;
constexpr uint64_t kIndexBytes = 4 << 20;

}  // namespace

uint64_t VolumeWriter::StoredBytes(const VolumeGrid& grid, const jobs::DicomForms& forms) {
  const auto slices = static_cast<uint64_t>(grid.nz);
  const auto voxels = static_cast<uint64_t>(grid.voxels());
  uint64_t bytes = voxels * sizeof(float) + kIndexBytes;
  if (forms.ct_series) bytes += voxels * sizeof(int16_t) + slices * kSliceHeaderBytes;
  if (forms.xray_3d) {
    bytes += voxels * sizeof(int16_t) + kVolumeHeaderBytes + slices * kFrameHeaderBytes;
  }
  return bytes;
}

absl::StatusOr<VolumeWriter> VolumeWriter::Create(const std::filesystem::path& directory,
                                                  const jobs::Job& job,
                                                  const StudyContext& context) {
  ISO_RETURN_IF_ERROR(CheckStorable(job));
  if (mkdir((directory / "dicom").c_str(), 0700) != 0) {
    return storage::FileError(errno, "create directory", directory / "dicom");
  }
  const uint64_t raw_bytes = job.grid.voxels() * sizeof(float);
  ISO_ASSIGN_OR_RETURN(storage::OutputFile raw,
                       storage::OutputFile::Create(directory / kRawFile, raw_bytes));
  VolumeWriter writer(directory, std::move(raw));
  std::vector<archive::SeriesFiles> series;
  if (job.dicom_forms.ct_series) {
    ISO_ASSIGN_OR_RETURN(writer.ct_, CtSeries::Create(job, context, context.series_number));
    series.push_back(writer.ct_->index());
  }
  if (job.dicom_forms.xray_3d) {
    const int number = context.series_number + static_cast<int>(series.size());
    ISO_ASSIGN_OR_RETURN(const Xray3dVolume volume, Xray3dVolume::Create(job, context, number));
    ISO_RETURN_IF_ERROR(writer.OpenParts(
        volume, int64_t{job.grid.nx} * job.grid.ny * static_cast<int64_t>(sizeof(int16_t))));
    series.push_back(volume.index());
  }
  if (series.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job.id, " has no form of DICOM objects; legal is one or more"));
  }
  writer.result_ = {.patient = PatientOf(job),
                    .study = StudyOf(job, context),
                    .series = std::move(series[0].series),
                    .instances = std::move(series[0].instances),
                    .raw_file_name = kRawFile,
                    .raw_bytes = raw_bytes};
  for (size_t i = 1; i < series.size(); ++i) {
    writer.result_.further_series.push_back(std::move(series[i]));
  }
  return writer;
}

absl::Status VolumeWriter::OpenParts(const Xray3dVolume& volume, int64_t frame_bytes) {
  for (size_t i = 0; i < volume.parts().size(); ++i) {
    const FrameRange& frames = volume.parts()[i];
    ISO_ASSIGN_OR_RETURN(const std::vector<std::byte> header,
                         volume.FileHeader(static_cast<int>(i)));
    ISO_ASSIGN_OR_RETURN(
        storage::OutputFile file,
        storage::OutputFile::Create(directory_ / volume.index().instances[i].file_name,
                                    header.size() + frames.count * frame_bytes));
    ISO_RETURN_IF_ERROR(file.WriteAt(0, header));
    parts_.push_back({frames, std::move(file), header.size()});
  }
  return absl::OkStatus();
}

absl::Status VolumeWriter::WriteSlice(int slice, std::span<const float> hounsfield,
                                      std::span<int16_t> scratch) {
  ISO_RETURN_IF_ERROR(raw_.WriteAt(slice * hounsfield.size_bytes(), std::as_bytes(hounsfield)));
  ToStoredValues(hounsfield, scratch);
  if (ct_) ISO_RETURN_IF_ERROR(WriteCtSlice(slice, scratch));
  return parts_.empty() ? absl::OkStatus() : WriteFrame(slice, scratch);
}

absl::Status VolumeWriter::WriteCtSlice(int slice, std::span<const int16_t> stored) {
  ISO_ASSIGN_OR_RETURN(const std::vector<std::byte> header, ct_->FileHeader(slice));
  ISO_ASSIGN_OR_RETURN(
      storage::OutputFile file,
      storage::OutputFile::Create(directory_ / ct_->index().instances[slice].file_name));
  ISO_RETURN_IF_ERROR(file.WriteAt(0, header, std::as_bytes(stored)));
  file.StartWriteback();
  return absl::OkStatus();
}

absl::Status VolumeWriter::WriteFrame(int slice, std::span<const int16_t> stored) {
  size_t part = 0;
  while (slice >= parts_[part].frames.first + parts_[part].frames.count) ++part;
  const auto frame = static_cast<uint64_t>(slice - parts_[part].frames.first);
  return parts_[part].file.WriteAt(parts_[part].header_bytes + frame * stored.size_bytes(),
                                   std::as_bytes(stored));
}

void VolumeWriter::StartWriteback() {
  raw_.StartWriteback();
  for (Part& part : parts_) part.file.StartWriteback();
}

}  // namespace isocenter::dicom
