#include "server/dicom/objects/xray3d_volume.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/objects/attributes.h"
#include "server/dicom/objects/common_modules.h"
#include "server/dicom/objects/uids.h"
#include "server/dicom/objects/xray3d_modules.h"

namespace isocenter::dicom {
namespace {

// All objects of a concatenation have the same (PS3.3, C.7.6.16).
constexpr int kInstanceNumber = 1;

int64_t FrameBytes(const VolumeGrid& grid) {
  return int64_t{grid.nx} * grid.ny * static_cast<int64_t>(sizeof(int16_t));
}

void PutConcatenation(const jobs::Job& job, const std::vector<FrameRange>& parts, int part,
                      Attributes& put) {
  if (parts.size() < 2) return;
  put(DCM_ConcatenationUID, MakeUid(UidRole::kConcatenation, job.id));
  put(DCM_SOPInstanceUIDOfConcatenationSource, MakeUid(UidRole::kConcatenation, job.id, 1));
  put.UnsignedLong(DCM_ConcatenationFrameOffsetNumber, {static_cast<uint32_t>(parts[part].first)});
  put.Unsigned(DCM_InConcatenationNumber, part + 1);
  put.Unsigned(DCM_InConcatenationTotalNumber, static_cast<int>(parts.size()));
}

}  // namespace

Xray3dVolume::Xray3dVolume(const jobs::Job& job, const StudyContext& context, int number,
                           std::vector<FrameRange> parts)
    : job_(job),
      context_(context),
      parts_(std::move(parts)),
      index_{.series = SeriesOf(job, Form::kXray3d, number)} {
  context_.sources = InForm(context.sources, Form::kXray3d);
  for (size_t i = 0; i < parts_.size(); ++i) {
    index_.instances.push_back(
        {.sop_instance_uid = MakeUid(UidRole::kVolume, job.id, static_cast<int>(i)),
         .sop_class_uid = UID_XRay3DAngiographicImageStorage,
         .number = kInstanceNumber,
         .rows = job.grid.ny,
         .columns = job.grid.nx,
         .file_name = parts_.size() == 1 ? "dicom/volume.dcm"
                                         : absl::StrFormat("dicom/volume-%02d.dcm", i + 1)});
  }
}

absl::StatusOr<Xray3dVolume> Xray3dVolume::Create(const jobs::Job& job, const StudyContext& context,
                                                  int number, int64_t most_pixel_bytes) {
  ISO_RETURN_IF_ERROR(CheckStorable(job));
  if (FrameBytes(job.grid) > most_pixel_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("a slice has ", FrameBytes(job.grid),
                                                   " bytes; legal is up to ", most_pixel_bytes));
  }
  return Xray3dVolume(job, context, number,
                      PartsOf(job.grid.nz, FrameBytes(job.grid), most_pixel_bytes));
}

absl::StatusOr<std::vector<std::byte>> Xray3dVolume::FileHeader(int part) const {
  const archive::Series& series = index_.series;
  auto dataset = std::make_unique<DcmDataset>();
  absl::Status status;
  Attributes put(*dataset, status);
  PutCommonModules(job_, PatientOf(job_), StudyOf(job_, context_), series, put);
  put(DCM_SOPClassUID, UID_XRay3DAngiographicImageStorage);
  put(DCM_SOPInstanceUID, index_.instances[part].sop_instance_uid);
  put(DCM_InstanceNumber, absl::StrCat(kInstanceNumber));
  put(DCM_NumberOfFrames, absl::StrCat(parts_[part].count));
  PutConcatenation(job_, parts_, part, put);
  PutPixelFormat(job_.grid, put);
  PutXray3dImage(job_, put);
  PutContributingSources(job_, series, context_.sources, put);
  PutXray3dAcquisition(job_, put);
  PutXray3dReconstruction(job_, put);
  PutAcquisitionContext(job_, put);
  PutReferencedSeries(context_.sources, put);
  PutDimensions(job_, put);
  PutSharedGroups(job_, context_.sources, put);
  PutFrameGroups(job_, parts_[part], put);
  ISO_RETURN_IF_ERROR(status);
  return EncodeUpToPixels(std::move(dataset), FrameBytes(job_.grid) * parts_[part].count);
}

}  // namespace isocenter::dicom
