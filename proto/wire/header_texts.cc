#include "proto/wire/header_texts.h"

#include <string>

#include "kernels/base/status_macros.h"
#include "proto/wire/field_checks.h"
#include "proto/wire/illegal.h"

namespace isocenter::wire {
namespace {

absl::Status CheckIdentity(const v1::PatientStudy& study) {
  ISO_RETURN_IF_ERROR(CheckPersonName("patient_study.patient_name", study.patient_name()));
  ISO_RETURN_IF_ERROR(CheckText("patient_study.patient_id", study.patient_id(), 64));
  ISO_RETURN_IF_ERROR(CheckDate("patient_study.patient_birth_date", study.patient_birth_date()));
  const std::string& sex = study.patient_sex();
  if (!sex.empty() && sex != "M" && sex != "F" && sex != "O") {
    return Illegal("patient_study.patient_sex", Shown(sex), "\"M\", \"F\", \"O\" or empty");
  }
  ISO_RETURN_IF_ERROR(CheckUid("patient_study.study_instance_uid", study.study_instance_uid()));
  ISO_RETURN_IF_ERROR(CheckText("patient_study.accession_number", study.accession_number(), 16));
  ISO_RETURN_IF_ERROR(CheckText("patient_study.study_id", study.study_id(), 16));
  ISO_RETURN_IF_ERROR(CheckText("patient_study.study_description", study.study_description(), 64));
  ISO_RETURN_IF_ERROR(
      CheckPersonName("patient_study.referring_physician_name", study.referring_physician_name()));
  ISO_RETURN_IF_ERROR(CheckDate("patient_study.study_date", study.study_date()));
  return CheckTime("patient_study.study_time", study.study_time());
}

absl::Status CheckEquipment(const v1::Equipment& equipment) {
  ISO_RETURN_IF_ERROR(CheckText("equipment.manufacturer", equipment.manufacturer(), 64));
  ISO_RETURN_IF_ERROR(CheckText("equipment.model_name", equipment.model_name(), 64));
  ISO_RETURN_IF_ERROR(
      CheckText("equipment.device_serial_number", equipment.device_serial_number(), 64));
  ISO_RETURN_IF_ERROR(CheckText("equipment.software_versions", equipment.software_versions(), 64));
  ISO_RETURN_IF_ERROR(CheckText("equipment.institution_name", equipment.institution_name(), 64));
  ISO_RETURN_IF_ERROR(CheckText("equipment.institutional_department_name",
                                equipment.institutional_department_name(), 64));
  if (equipment.manufacturer().empty() &&
      !(equipment.model_name().empty() && equipment.device_serial_number().empty() &&
        equipment.software_versions().empty())) {
    return Illegal("equipment.manufacturer", "\"\"",
                   "a name, when model_name, device_serial_number or software_versions is set");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPrivateTexts(const v1::AcquisitionHeader& header) {
  ISO_RETURN_IF_ERROR(CheckIdentity(header.patient_study()));
  ISO_RETURN_IF_ERROR(CheckText("series_description", header.series_description(), 64));
  ISO_RETURN_IF_ERROR(
      CheckPersonName("performing_physician_name", header.performing_physician_name()));
  return CheckPersonName("operators_name", header.operators_name());
}

absl::Status CheckOtherTexts(const v1::AcquisitionHeader& header) {
  ISO_RETURN_IF_ERROR(CheckIdentifier("station_name", header.station_name()));
  ISO_RETURN_IF_ERROR(CheckIdentifier("request_id", header.request_id()));
  ISO_RETURN_IF_ERROR(CheckIdentifier("detector_mode", header.detector_mode()));
  ISO_RETURN_IF_ERROR(CheckIdentifier("calibration", header.calibration()));
  ISO_RETURN_IF_ERROR(CheckIdentifier("geometry", header.geometry()));
  ISO_RETURN_IF_ERROR(CheckCodeString("body_part_examined", header.body_part_examined()));
  ISO_RETURN_IF_ERROR(CheckEquipment(header.equipment()));
  const std::string& laterality = header.laterality();
  if (laterality.empty() || laterality == "L" || laterality == "R") return absl::OkStatus();
  return Illegal("laterality", Shown(laterality), "\"L\", \"R\" or empty");
}

}  // namespace isocenter::wire
