#include "server/dicom/ct_series.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcostrmb.h>
#include <dcmtk/dcmdata/dctk.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/dictionary.h"
#include "server/dicom/request_attributes.h"
#include "server/dicom/series_text.h"
#include "server/dicom/text.h"
#include "server/dicom/uids.h"

namespace isocenter::dicom {
namespace {

static_assert(std::endian::native == std::endian::little, "pixels are written as they are");

constexpr char kManufacturer[] = "Isocenter";
// Soft tissue of head and body; viewers offer others.
constexpr char kWindowCenter[] = "40";
constexpr char kWindowWidth[] = "400";

/// Collects the first failure of many insertions.
class Inserter {
 public:
  explicit Inserter(DcmItem& item) : item_(item) {}
  void operator()(const DcmTagKey& tag, const std::string& value) {
    Keep(item_.putAndInsertString(tag, value.c_str()), tag);
  }
  void operator()(const DcmTagKey& tag, double value) { (*this)(tag, DecimalString(value)); }
  void Unsigned(const DcmTagKey& tag, int value) {
    Keep(item_.putAndInsertUint16(tag, static_cast<Uint16>(value)), tag);
  }
  absl::Status status() const { return status_; }

 private:
  void Keep(const OFCondition& condition, const DcmTagKey& tag) {
    if (condition.good() || !status_.ok()) return;
    status_ = absl::InternalError(
        absl::StrCat("attribute ", tag.toString().c_str(), ": ", condition.text()));
  }
  DcmItem& item_;
  absl::Status status_;
};

struct DateAndTime {
  std::string date, time;
};

/// When the first frame came, on this machine's clock and in its time zone.
DateAndTime AcquisitionStart(const jobs::Job& job) {
  const absl::Time time = job.create_time == absl::InfinitePast() ? absl::Now() : job.create_time;
  return {absl::FormatTime("%Y%m%d", time, absl::LocalTimeZone()),
          absl::FormatTime("%H%M%S", time, absl::LocalTimeZone())};
}

std::string OrElse(std::string value, const std::string& otherwise) {
  return value.empty() ? otherwise : value;
}

std::string SexCode(const std::string& sex) {
  return sex == "M" || sex == "F" || sex == "O" ? sex : "";
}

/// The name from which UIDs are made that the jobs of a pair share. No job has it, as ids have no
/// slashes. A pair id that two patients' acquisitions were given by mistake makes two names.
std::string SharedName(const jobs::Job& job) {
  if (job.pair_id.empty()) return job.id;
  return absl::StrCat("pair/", job.pair_id, "/", job.patient_study.patient_id);
}

archive::Result MakeIndex(const jobs::Job& job, const StudyContext& context) {
  const jobs::PatientStudy& given = job.patient_study;
  const DateAndTime start = AcquisitionStart(job);
  const archive::Study study = context.study.value_or(archive::Study{
      .date = start.date, .time = start.time, .id = absl::StrCat(start.date, start.time)});
  archive::Result index;
  index.patient = {Text(given.patient_id, 64), PersonName(given.patient_name),
                   DateOrNothing(given.patient_birth_date), SexCode(given.patient_sex)};
  index.study = {.instance_uid = StudyInstanceUid(job),
                 .date = OrElse(DateOrNothing(given.study_date), study.date),
                 .time = OrElse(TimeOrNothing(given.study_time), study.time),
                 .accession_number = Text(given.accession_number, 16),
                 .id = Text(OrElse(given.study_id, study.id), 16),
                 .description = Text(given.study_description, 64),
                 .referring_physician_name = PersonName(given.referring_physician_name)};
  index.series = {.instance_uid = SeriesInstanceUid(job),
                  .modality = "CT",
                  .date = start.date,
                  .time = start.time,
                  .description = Text(SeriesDescription(job), 64),
                  .body_part_examined = CodeString(job.facts.body_part_examined),
                  .protocol_name = Text(job.protocol, 64),
                  .station_name = Text(job.station_name, 16),
                  .manufacturer = kManufacturer,
                  .frame_of_reference_uid = FrameOfReferenceUid(job),
                  .number = context.series_number};
  for (int k = 0; k < job.grid.nz; ++k) {
    index.instances.push_back({.sop_instance_uid = MakeUid(UidRole::kInstance, job.id, k),
                               .sop_class_uid = UID_CTImageStorage,
                               .number = k + 1,
                               .rows = job.grid.ny,
                               .columns = job.grid.nx,
                               .file_name = absl::StrFormat("dicom/%05d.dcm", k + 1)});
  }
  index.raw_file_name = "volume.f32";
  index.raw_bytes = job.grid.voxels() * sizeof(float);
  return index;
}

void InsertIdentity(const archive::Result& index, Inserter& put) {
  put(DCM_PatientName, index.patient.name);
  put(DCM_PatientID, index.patient.id);
  put(DCM_PatientBirthDate, index.patient.birth_date);
  put(DCM_PatientSex, index.patient.sex);
  put(DCM_StudyInstanceUID, index.study.instance_uid);
  put(DCM_StudyDate, index.study.date);
  put(DCM_StudyTime, index.study.time);
  put(DCM_AccessionNumber, index.study.accession_number);
  put(DCM_StudyID, index.study.id);
  put(DCM_ReferringPhysicianName, index.study.referring_physician_name);
  if (!index.study.description.empty()) put(DCM_StudyDescription, index.study.description);
  const archive::Series& series = index.series;
  put(DCM_SeriesInstanceUID, series.instance_uid);
  put(DCM_SeriesNumber, absl::StrCat(series.number));
  put(DCM_Modality, series.modality);
  put(DCM_SeriesDescription, series.description);
  for (const DcmTagKey& tag :
       {DCM_InstanceCreationDate, DCM_SeriesDate, DCM_AcquisitionDate, DCM_ContentDate}) {
    put(tag, series.date);
  }
  for (const DcmTagKey& tag :
       {DCM_InstanceCreationTime, DCM_SeriesTime, DCM_AcquisitionTime, DCM_ContentTime}) {
    put(tag, series.time);
  }
  if (!series.body_part_examined.empty()) {
    put(DCM_BodyPartExamined, series.body_part_examined);
  } else {
    put(DCM_Laterality, "");  // the unknown part may be one of a pair
  }
  if (!series.protocol_name.empty()) put(DCM_ProtocolName, series.protocol_name);
  if (!series.station_name.empty()) put(DCM_StationName, series.station_name);
  put(DCM_Manufacturer, series.manufacturer);
  put(DCM_ManufacturerModelName, series.manufacturer);
  put(DCM_FrameOfReferenceUID, series.frame_of_reference_uid);
}

void InsertAcquisition(const jobs::Job& job, Inserter& put) {
  const jobs::AcquisitionFacts& facts = job.facts;
  put(DCM_KVP, facts.tube_voltage_kv > 0 ? DecimalString(facts.tube_voltage_kv) : "");
  if (facts.source_to_detector_mm > 0) {
    put(DCM_DistanceSourceToDetector, facts.source_to_detector_mm);
  }
  if (facts.source_to_isocenter_mm > 0) {
    put(DCM_DistanceSourceToPatient, facts.source_to_isocenter_mm);
  }
  const std::string kernel = Text(facts.filter_description, 16);
  if (!kernel.empty()) put(DCM_ConvolutionKernel, kernel);
  put(DCM_SoftwareVersions, ISOCENTER_VERSION);
  put(DCM_AcquisitionNumber, "1");
  put(DCM_ImageComments, ImageComments(job));
}

/// An item of a sequence of coded concepts of DICOM's own terminology (PS3.16 D).
absl::Status InsertCode(DcmItem& item, const DcmTagKey& sequence, const char* value,
                        const char* meaning) {
  DcmItem* code = nullptr;
  if (const OFCondition made = item.findOrCreateSequenceItem(sequence, code); made.bad()) {
    return absl::InternalError(
        absl::StrCat("attribute ", sequence.toString().c_str(), ": ", made.text()));
  }
  Inserter put(*code);
  put(DCM_CodeValue, value);
  put(DCM_CodingSchemeDesignator, "DCM");
  put(DCM_CodeMeaning, meaning);
  return put.status();
}

/// How a subtraction came to be. The Source Image Sequence differs from slice to slice.
absl::Status InsertDerivation(DcmItem& dataset) {
  Inserter put(dataset);
  put(DCM_ImageType, "DERIVED\\SECONDARY\\AXIAL");
  put(DCM_DerivationDescription, "fill minus mask, in Hounsfield units");
  ISO_RETURN_IF_ERROR(put.status());
  return InsertCode(dataset, DCM_DerivationCodeSequence, "113062", "Pixel by pixel subtraction");
}

/// The slice of the series that was refined, in the same place.
absl::Status InsertReference(DcmItem& dataset, const std::string& instance_uid) {
  DcmItem* other = nullptr;
  if (const OFCondition made = dataset.findOrCreateSequenceItem(DCM_ReferencedImageSequence, other);
      made.bad()) {
    return absl::InternalError(absl::StrCat("Referenced Image Sequence: ", made.text()));
  }
  Inserter put(*other);
  put(DCM_ReferencedSOPClassUID, UID_CTImageStorage);
  put(DCM_ReferencedSOPInstanceUID, instance_uid);
  return put.status();
}

absl::Status InsertSource(DcmItem& dataset, int number, const std::string& instance_uid) {
  DcmItem* source = nullptr;
  if (const OFCondition made =
          dataset.findOrCreateSequenceItem(DCM_SourceImageSequence, source, number);
      made.bad()) {
    return absl::InternalError(absl::StrCat("Source Image Sequence: ", made.text()));
  }
  Inserter put(*source);
  put(DCM_ReferencedSOPClassUID, UID_CTImageStorage);
  put(DCM_ReferencedSOPInstanceUID, instance_uid);
  ISO_RETURN_IF_ERROR(put.status());
  return InsertCode(*source, DCM_PurposeOfReferenceCodeSequence, "121322",
                    "Source image for image processing operation");
}

void InsertImage(const VolumeGrid& grid, Inserter& put) {
  put(DCM_SOPClassUID, UID_CTImageStorage);
  put(DCM_SpecificCharacterSet, "ISO_IR 192");
  put(DCM_ImageType, "ORIGINAL\\PRIMARY\\AXIAL");
  put(DCM_PatientPosition, "HFS");
  put(DCM_PositionReferenceIndicator, "");
  const auto& d = grid.direction;
  put(DCM_ImageOrientationPatient,
      absl::StrJoin({d[0], d[3], d[6], d[1], d[4], d[7]}, "\\",
                    [](std::string* out, double x) { absl::StrAppend(out, DecimalString(x)); }));
  put(DCM_PixelSpacing,
      absl::StrCat(DecimalString(grid.spacing.y), "\\", DecimalString(grid.spacing.x)));
  put(DCM_SliceThickness, grid.spacing.z);
  put(DCM_SpacingBetweenSlices, grid.spacing.z);
  put.Unsigned(DCM_SamplesPerPixel, 1);
  put(DCM_PhotometricInterpretation, "MONOCHROME2");
  put.Unsigned(DCM_Rows, grid.ny);
  put.Unsigned(DCM_Columns, grid.nx);
  put.Unsigned(DCM_BitsAllocated, 16);
  put.Unsigned(DCM_BitsStored, 16);
  put.Unsigned(DCM_HighBit, 15);
  put.Unsigned(DCM_PixelRepresentation, 1);
  put(DCM_RescaleIntercept, "0");
  put(DCM_RescaleSlope, "1");
  put(DCM_RescaleType, "HU");
  put(DCM_WindowCenter, kWindowCenter);
  put(DCM_WindowWidth, kWindowWidth);
}

/// Header of the pixel data element in Explicit VR Little Endian: tag (7FE0,0010), OW, two reserved
/// bytes, 32 bits of length.
std::array<std::byte, 12> PixelDataHeader(uint32_t bytes) {
  const uint8_t header[] = {0xe0, 0x7f, 0x10, 0x00, 'O', 'W', 0, 0};
  std::array<std::byte, 12> result;
  std::memcpy(result.data(), header, sizeof header);
  std::memcpy(result.data() + sizeof header, &bytes, sizeof bytes);
  return result;
}

}  // namespace

void ToStoredValues(std::span<const float> hounsfield, std::span<int16_t> stored) {
  // Adding 1.5 * 2^23 leaves the rounded integer in the low bits of the significand; unlike
  // lrintf() this needs no call and is done for many values at once.
  constexpr float kShift = 12582912.0f;
  const float* const in = hounsfield.data();
  int16_t* const out = stored.data();
  const size_t count = hounsfield.size();
  for (size_t i = 0; i < count; ++i) {
    float value = in[i] > -32768.0f ? in[i] : -32768.0f;  // also of NaN
    value = value < 32767.0f ? value : 32767.0f;
    out[i] = static_cast<int16_t>(std::bit_cast<int32_t>(value + kShift) -
                                  std::bit_cast<int32_t>(kShift));
  }
}

std::string StudyInstanceUid(const jobs::Job& job) {
  const std::string& given = job.patient_study.study_instance_uid;
  return given.empty() ? MakeUid(UidRole::kStudy, SharedName(job)) : given;
}

std::string FrameOfReferenceUid(const jobs::Job& job) {
  if (jobs::IsRefinement(job)) return job.refinement.frame_of_reference_uid;
  return MakeUid(UidRole::kFrameOfReference, SharedName(job));
}

std::string SeriesInstanceUid(const jobs::Job& job) { return MakeUid(UidRole::kSeries, job.id); }

// DCMTK moves a cursor in the list that it copies from, so copies are made one after the other.
struct CtSeries::Prototype {
  absl::Mutex mutex;
  DcmDataset dataset ABSL_GUARDED_BY(mutex);
};

CtSeries::CtSeries(std::unique_ptr<Prototype> prototype, VolumeGrid grid, archive::Result index,
                   std::vector<std::string> source_jobs, bool refines)
    : prototype_(std::move(prototype)),
      grid_(grid),
      index_(std::move(index)),
      source_jobs_(std::move(source_jobs)),
      refines_(refines) {}
CtSeries::CtSeries(CtSeries&&) noexcept = default;
CtSeries& CtSeries::operator=(CtSeries&&) noexcept = default;
CtSeries::~CtSeries() = default;

absl::StatusOr<CtSeries> CtSeries::Create(const jobs::Job& job, const StudyContext& context) {
  ISO_RETURN_IF_ERROR(CheckDictionary());
  ISO_RETURN_IF_ERROR(ValidateGrid(job.grid));
  if (const std::string uid = StudyInstanceUid(job); !IsUid(uid)) {
    return absl::InvalidArgumentError(
        absl::StrCat("study_instance_uid is '", uid,
                     "'; legal is a DICOM UID: up to 64 digits and dots, no leading zeros"));
  }
  archive::Result index = MakeIndex(job, context);
  auto prototype = std::make_unique<Prototype>();
  {
    absl::MutexLock lock(&prototype->mutex);
    Inserter put(prototype->dataset);
    InsertIdentity(index, put);
    InsertAcquisition(job, put);
    InsertImage(job.grid, put);
    ISO_RETURN_IF_ERROR(put.status());
    ISO_RETURN_IF_ERROR(InsertRequestAttributes(job, prototype->dataset));
    if (job.pair_role == jobs::PairRole::kSubtraction) {
      ISO_RETURN_IF_ERROR(InsertDerivation(prototype->dataset));
    }
  }
  return CtSeries(std::move(prototype), job.grid, std::move(index), context.source_jobs,
                  jobs::IsRefinement(job));
}

absl::StatusOr<std::vector<std::byte>> CtSeries::FileHeader(int slice) const {
  const archive::Instance& instance = index_.instances[slice];
  std::unique_ptr<DcmDataset> dataset;
  {
    absl::MutexLock lock(&prototype_->mutex);
    dataset = std::make_unique<DcmDataset>(prototype_->dataset);
  }
  DcmFileFormat file(dataset.release(), OFFalse);  // takes ownership
  Inserter put(*file.getDataset());
  put(DCM_SOPInstanceUID, instance.sop_instance_uid);
  put(DCM_InstanceNumber, absl::StrCat(instance.number));
  const Vec3 position = grid_.VoxelToWorld(0, 0, slice);
  put(DCM_ImagePositionPatient,
      absl::StrCat(DecimalString(position.x), "\\", DecimalString(position.y), "\\",
                   DecimalString(position.z)));
  // Distance along the normal of the slices, from the isocentre.
  const auto& d = grid_.direction;
  put(DCM_SliceLocation, Dot(position, Vec3{d[2], d[5], d[8]}));
  ISO_RETURN_IF_ERROR(put.status());
  if (refines_) {
    for (const std::string& source : source_jobs_) {
      ISO_RETURN_IF_ERROR(
          InsertReference(*file.getDataset(), MakeUid(UidRole::kInstance, source, slice)));
    }
  }
  for (size_t i = 0; i < source_jobs_.size() && !refines_; ++i) {
    ISO_RETURN_IF_ERROR(InsertSource(*file.getDataset(), static_cast<int>(i),
                                     MakeUid(UidRole::kInstance, source_jobs_[i], slice)));
  }

  std::vector<std::byte> bytes(65536);
  DcmOutputBufferStream stream(bytes.data(), static_cast<offile_off_t>(bytes.size()));
  file.transferInit();
  const OFCondition condition =
      file.write(stream, EXS_LittleEndianExplicit, EET_UndefinedLength, nullptr, EGL_recalcGL);
  file.transferEnd();
  if (condition.bad()) {
    return absl::InternalError(absl::StrCat("cannot encode slice ", slice, ": ", condition.text()));
  }
  void* written = nullptr;
  offile_off_t length = 0;
  stream.flushBuffer(written, length);
  bytes.resize(static_cast<size_t>(length));
  const auto pixels = PixelDataHeader(static_cast<uint32_t>(grid_.nx) * grid_.ny * sizeof(int16_t));
  bytes.insert(bytes.end(), pixels.begin(), pixels.end());
  return bytes;
}

}  // namespace isocenter::dicom
