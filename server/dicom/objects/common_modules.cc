#include "server/dicom/objects/common_modules.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"
#include "server/base/host_name.h"
#include "server/dicom/objects/dictionary.h"
#include "server/dicom/objects/request_attributes.h"
#include "server/dicom/objects/series_text.h"
#include "server/dicom/objects/text.h"
#include "server/dicom/objects/uids.h"

namespace isocenter::dicom {
namespace {

constexpr char kManufacturer[] = "Isocenter";

struct DateAndTime {
  std::string date, time;
};

/// When the first frame came, on this machine's clock and in its time zone.
DateAndTime AcquisitionStart(const jobs::Job& job) {
  const absl::Time time = job.create_time == absl::InfinitePast() ? absl::Now() : job.create_time;
  return {LocalDate(time), LocalTime(time)};
}

std::string OrElse(std::string value, const std::string& otherwise) {
  return value.empty() ? otherwise : value;
}

/// What tells this installation of the service from others: the machine's name. Enhanced objects
/// must have a serial number of the equipment that made them.
std::string ServiceSerialNumber() { return OrElse(Text(HostName(), 64), "unknown"); }

std::string Numbers(std::initializer_list<double> values) {
  return absl::StrJoin(values, "\\", [](std::string* out, double value) {
    absl::StrAppend(out, DecimalString(value));
  });
}

void PutStudy(const archive::Patient& patient, const archive::Study& study, Attributes& put) {
  put(DCM_PatientName, patient.name);
  put(DCM_PatientID, patient.id);
  put(DCM_PatientBirthDate, patient.birth_date);
  put(DCM_PatientSex, patient.sex);
  put(DCM_StudyInstanceUID, study.instance_uid);
  put(DCM_StudyDate, study.date);
  put(DCM_StudyTime, study.time);
  put(DCM_AccessionNumber, study.accession_number);
  put(DCM_StudyID, study.id);
  put(DCM_ReferringPhysicianName, study.referring_physician_name);
  put.IfGiven(DCM_StudyDescription, study.description);
}

void PutSeries(const jobs::Job& job, const archive::Series& series, Attributes& put) {
  put(DCM_SeriesInstanceUID, series.instance_uid);
  put(DCM_SeriesNumber, absl::StrCat(series.number));
  put(DCM_Modality, series.modality);
  put(DCM_SeriesDescription, series.description);
  for (const DcmTagKey& tag : {DCM_InstanceCreationDate, DCM_SeriesDate, DCM_ContentDate}) {
    put(tag, series.date);
  }
  for (const DcmTagKey& tag : {DCM_InstanceCreationTime, DCM_SeriesTime, DCM_ContentTime}) {
    put(tag, series.time);
  }
  put.IfGiven(DCM_BodyPartExamined, series.body_part_examined);
  const std::string laterality = CodeString(job.facts.laterality);
  // Where it is not known, the unknown part may be one of a pair.
  if (!laterality.empty() || series.body_part_examined.empty()) put(DCM_Laterality, laterality);
  put.IfGiven(DCM_ProtocolName, series.protocol_name);
  put.IfGiven(DCM_PerformingPhysicianName, PersonName(job.facts.performing_physician_name));
  put.IfGiven(DCM_OperatorsName, PersonName(job.facts.operators_name));
  put(DCM_PatientPosition, std::string(Name(job.facts.patient_position)));
  put(DCM_FrameOfReferenceUID, series.frame_of_reference_uid);
  put(DCM_PositionReferenceIndicator, "");
}

/// The equipment that made the object, which is this service, and the X-ray system that
/// contributed (PS3.3, C.12.1.1.5).
void PutEquipment(const jobs::Job& job, const archive::Series& series, Attributes& put) {
  const jobs::Equipment& system = job.facts.equipment;
  const std::string institution = Text(system.institution_name, 64);
  const std::string department = Text(system.institutional_department_name, 64);
  put(DCM_Manufacturer, series.manufacturer);
  put(DCM_ManufacturerModelName, series.manufacturer);
  put(DCM_DeviceSerialNumber, ServiceSerialNumber());
  put(DCM_SoftwareVersions, ISOCENTER_VERSION);
  put.IfGiven(DCM_StationName, series.station_name);
  put.IfGiven(DCM_InstitutionName, institution);
  put.IfGiven(DCM_InstitutionalDepartmentName, department);
  const std::string manufacturer = Text(system.manufacturer, 64);
  if (manufacturer.empty()) return;
  Attributes source = put.Item(DCM_ContributingEquipmentSequence);
  source.Code(DCM_PurposeOfReferenceCodeSequence, "109101", "DCM", "Acquisition Equipment");
  source(DCM_Manufacturer, manufacturer);
  source.IfGiven(DCM_ManufacturerModelName, Text(system.model_name, 64));
  source.IfGiven(DCM_DeviceSerialNumber, Text(system.device_serial_number, 64));
  source.IfGiven(DCM_SoftwareVersions, Text(system.software_versions, 64));
  source.IfGiven(DCM_StationName, series.station_name);
  source.IfGiven(DCM_InstitutionName, institution);
  source.IfGiven(DCM_InstitutionalDepartmentName, department);
  if (const auto& used = job.facts.calibration) {
    const absl::TimeZone here = absl::LocalTimeZone();
    source(DCM_DateOfLastCalibration, absl::FormatTime("%Y%m%d", used->created, here));
    source(DCM_TimeOfLastCalibration, absl::FormatTime("%H%M%S", used->created, here));
  }
}

}  // namespace

absl::Status CheckStorable(const jobs::Job& job) {
  ISO_RETURN_IF_ERROR(CheckDictionary());
  ISO_RETURN_IF_ERROR(ValidateGrid(job.grid));
  const std::string uid = StudyInstanceUid(job);
  if (IsUid(uid)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("study_instance_uid is '", uid,
                   "'; legal is a DICOM UID: up to 64 digits and dots, no leading zeros"));
}

archive::Patient PatientOf(const jobs::Job& job) {
  const jobs::PatientStudy& given = job.patient_study;
  return {Text(given.patient_id, 64), PersonName(given.patient_name),
          DateOrNothing(given.patient_birth_date), SexCode(given.patient_sex)};
}

archive::Study StudyOf(const jobs::Job& job, const StudyContext& context) {
  const jobs::PatientStudy& given = job.patient_study;
  const DateAndTime start = AcquisitionStart(job);
  const archive::Study study = context.study.value_or(archive::Study{
      .date = start.date, .time = start.time, .id = absl::StrCat(start.date, start.time)});
  return {.instance_uid = StudyInstanceUid(job),
          .date = OrElse(DateOrNothing(given.study_date), study.date),
          .time = OrElse(TimeOrNothing(given.study_time), study.time),
          .accession_number = Text(given.accession_number, 16),
          .id = Text(OrElse(given.study_id, study.id), 16),
          .description = Text(given.study_description, 64),
          .referring_physician_name = PersonName(given.referring_physician_name)};
}

archive::Series SeriesOf(const jobs::Job& job, Form form, int number) {
  const DateAndTime start = AcquisitionStart(job);
  return {.instance_uid = SeriesInstanceUid(job.id, form),
          .modality = ModalityOf(form),
          .date = start.date,
          .time = start.time,
          .description = Text(SeriesDescription(job), 64),
          .body_part_examined = CodeString(job.facts.body_part_examined),
          .protocol_name = Text(job.protocol, 64),
          .station_name = Text(job.station_name, 16),
          .manufacturer = kManufacturer,
          .frame_of_reference_uid = FrameOfReferenceUid(job),
          .number = number,
          .requested_procedure_id = Text(job.order.requested_procedure_id, 16),
          .scheduled_step_id = Text(job.order.scheduled_step_id, 16)};
}

void PutCommonModules(const jobs::Job& job, const archive::Patient& patient,
                      const archive::Study& study, const archive::Series& series, Attributes& put) {
  put(DCM_SpecificCharacterSet, "ISO_IR 192");
  PutStudy(patient, study, put);
  PutSeries(job, series, put);
  PutEquipment(job, series, put);
  PutRequestAttributes(job, put);
  put(DCM_ImageComments, ImageComments(job));
}

void PutPixelFormat(const VolumeGrid& grid, Attributes& put) {
  put.Unsigned(DCM_SamplesPerPixel, 1);
  put(DCM_PhotometricInterpretation, "MONOCHROME2");
  put.Unsigned(DCM_Rows, grid.ny);
  put.Unsigned(DCM_Columns, grid.nx);
  put.Unsigned(DCM_BitsAllocated, 16);
  put.Unsigned(DCM_BitsStored, 16);
  put.Unsigned(DCM_HighBit, 15);
  put.Unsigned(DCM_PixelRepresentation, 1);
}

VolumeGrid PatientGridOf(const jobs::Job& job) {
  return PatientGrid(job.grid, job.facts.patient_position);
}

std::string ImageOrientation(const VolumeGrid& patient_grid) {
  const auto& d = patient_grid.direction;
  return Numbers({d[0], d[3], d[6], d[1], d[4], d[7]});
}

std::string ImagePosition(const VolumeGrid& patient_grid, int slice) {
  const Vec3 position = patient_grid.VoxelToWorld(0, 0, slice);
  return Numbers({position.x, position.y, position.z});
}

std::string PixelSpacing(const VolumeGrid& grid) {
  return Numbers({grid.spacing.y, grid.spacing.x});
}

void PutReference(const ImageReference& reference, Attributes& put) {
  put(DCM_ReferencedSOPClassUID, reference.sop_class_uid);
  put(DCM_ReferencedSOPInstanceUID, reference.sop_instance_uid);
  if (reference.frame) put(DCM_ReferencedFrameNumber, absl::StrCat(*reference.frame));
}

}  // namespace isocenter::dicom
