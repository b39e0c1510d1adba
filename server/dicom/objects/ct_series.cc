#include "server/dicom/objects/ct_series.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>

#include <cmath>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/objects/attributes.h"
#include "server/dicom/objects/common_modules.h"
#include "server/dicom/objects/derivation.h"
#include "server/dicom/objects/encode.h"
#include "server/dicom/objects/text.h"
#include "server/dicom/objects/uids.h"

namespace isocenter::dicom {
namespace {

archive::SeriesFiles MakeIndex(const jobs::Job& job, int number) {
  archive::SeriesFiles index{.series = SeriesOf(job, Form::kCtSeries, number)};
  for (int k = 0; k < job.grid.nz; ++k) {
    index.instances.push_back({.sop_instance_uid = MakeUid(UidRole::kInstance, job.id, k),
                               .sop_class_uid = UID_CTImageStorage,
                               .number = k + 1,
                               .rows = job.grid.ny,
                               .columns = job.grid.nx,
                               .file_name = absl::StrFormat("dicom/%05d.dcm", k + 1)});
  }
  return index;
}

/// A whole number (IS) that is not 0, or nothing.
std::string Rounded(double value) {
  const auto whole = static_cast<long>(std::lround(value));
  return whole > 0 ? absl::StrCat(whole) : "";
}

void PutAcquisition(const jobs::Job& job, const archive::Series& series, Attributes& put) {
  const jobs::AcquisitionFacts& facts = job.facts;
  put(DCM_AcquisitionDate, series.date);
  put(DCM_AcquisitionTime, series.time);
  put(DCM_AcquisitionNumber, "1");
  put(DCM_KVP, facts.tube_voltage_kv > 0 ? DecimalString(facts.tube_voltage_kv) : "");
  put.IfGiven(DCM_XRayTubeCurrent, Rounded(facts.tube_current_ma));
  put.IfGiven(DCM_Exposure, Rounded(facts.exposure_mas));
  if (facts.source_to_detector_mm > 0) {
    put(DCM_DistanceSourceToDetector, facts.source_to_detector_mm);
  }
  if (facts.source_to_isocenter_mm > 0) {
    put(DCM_DistanceSourceToPatient, facts.source_to_isocenter_mm);
  }
  put.IfGiven(DCM_ConvolutionKernel, Text(facts.filter_description, 16));
}

/// A second pass is made of the frames as the first volume is, which makes it PRIMARY.
const char* ImageType(const jobs::Job& job) {
  if (IsSubtraction(job)) return "DERIVED\\SECONDARY\\AXIAL";
  return IsDerived(job) ? "DERIVED\\PRIMARY\\AXIAL" : "ORIGINAL\\PRIMARY\\AXIAL";
}

/// The class has no place for phases; these attributes extend it, as its makers' do. Whose phase it
/// is nobody guesses.
void PutPhase(const jobs::Job& job, Attributes& put) {
  if (!job.refinement.phase) return;
  const double percent = 100 * job.refinement.phase->phase;
  if (job.facts.phase_cycle == jobs::PhaseCycle::kCardiac) {
    put.Float(DCM_NominalPercentageOfCardiacPhase, percent);
  } else if (job.facts.phase_cycle == jobs::PhaseCycle::kRespiratory) {
    put.Float(DCM_NominalPercentageOfRespiratoryPhase, percent);
  }
}

void PutImage(const jobs::Job& job, Attributes& put) {
  put(DCM_SOPClassUID, UID_CTImageStorage);
  put(DCM_ImageType, ImageType(job));
  if (IsDerived(job)) PutDerivation(job, put);
  put(DCM_ImageOrientationPatient, ImageOrientation(PatientGridOf(job)));
  put(DCM_PixelSpacing, PixelSpacing(job.grid));
  put(DCM_SliceThickness, job.grid.spacing.z);
  put(DCM_SpacingBetweenSlices, job.grid.spacing.z);
  PutPixelFormat(job.grid, put);
  put(DCM_RescaleIntercept, "0");
  put(DCM_RescaleSlope, "1");
  put(DCM_RescaleType, "HU");
  put(DCM_WindowCenter, kWindowCenter);
  put(DCM_WindowWidth, kWindowWidth);
  PutPhase(job, put);
}

}  // namespace

// DCMTK moves a cursor in the list that it copies from, so copies are made one after the other.
struct CtSeries::Prototype {
  absl::Mutex mutex;
  DcmDataset dataset ABSL_GUARDED_BY(mutex);
};

CtSeries::CtSeries(std::unique_ptr<Prototype> prototype, VolumeGrid grid,
                   archive::SeriesFiles index, std::vector<SourceSeries> sources, bool is_derived)
    : prototype_(std::move(prototype)),
      grid_(grid),
      index_(std::move(index)),
      sources_(std::move(sources)),
      is_derived_(is_derived) {}
CtSeries::CtSeries(CtSeries&&) noexcept = default;
CtSeries& CtSeries::operator=(CtSeries&&) noexcept = default;
CtSeries::~CtSeries() = default;

absl::StatusOr<CtSeries> CtSeries::Create(const jobs::Job& job, const StudyContext& context,
                                          int number) {
  ISO_RETURN_IF_ERROR(CheckStorable(job));
  archive::SeriesFiles index = MakeIndex(job, number);
  auto prototype = std::make_unique<Prototype>();
  absl::Status status;
  {
    absl::MutexLock lock(&prototype->mutex);
    Attributes put(prototype->dataset, status);
    PutCommonModules(job, PatientOf(job), StudyOf(job, context), index.series, put);
    PutAcquisition(job, index.series, put);
    PutImage(job, put);
  }
  ISO_RETURN_IF_ERROR(status);
  return CtSeries(std::move(prototype), PatientGridOf(job), std::move(index),
                  InForm(context.sources, Form::kCtSeries), IsDerived(job));
}

absl::StatusOr<std::vector<std::byte>> CtSeries::FileHeader(int slice) const {
  const archive::Instance& instance = index_.instances[slice];
  std::unique_ptr<DcmDataset> dataset;
  {
    absl::MutexLock lock(&prototype_->mutex);
    dataset = std::make_unique<DcmDataset>(prototype_->dataset);
  }
  absl::Status status;
  Attributes put(*dataset, status);
  put(DCM_SOPInstanceUID, instance.sop_instance_uid);
  put(DCM_InstanceNumber, absl::StrCat(instance.number));
  put(DCM_ImagePositionPatient, ImagePosition(grid_, slice));
  // Distance along the normal of the slices, from the isocentre.
  const auto& d = grid_.direction;
  put(DCM_SliceLocation, Dot(grid_.VoxelToWorld(0, 0, slice), Vec3{d[2], d[5], d[8]}));
  for (const SourceSeries& source : sources_) {
    Attributes other =
        put.Item(is_derived_ ? DCM_SourceImageSequence : DCM_ReferencedImageSequence);
    PutReference(SliceOf(source, grid_, slice), other);
    if (is_derived_) PutIsSource(other);
  }
  ISO_RETURN_IF_ERROR(status);
  return EncodeUpToPixels(std::move(dataset),
                          int64_t{grid_.nx} * grid_.ny * static_cast<int64_t>(sizeof(int16_t)));
}

}  // namespace isocenter::dicom
