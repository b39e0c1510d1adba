#include "proto/wire/header_texts.h"

#include <string>

#include "proto/wire/field_checks.h"
#include "proto/wire/illegal.h"
#include "proto/wire/mistakes.h"

namespace isocenter::wire {
namespace {

absl::Status CheckIdentity(const v1::PatientStudy& study) {
  Mistakes mistakes;
  mistakes.Add(CheckPersonName("patient_study.patient_name", study.patient_name()));
  mistakes.Add(CheckText("patient_study.patient_id", study.patient_id(), 64));
  mistakes.Add(CheckDate("patient_study.patient_birth_date", study.patient_birth_date()));
  const std::string& sex = study.patient_sex();
  if (!sex.empty() && sex != "M" && sex != "F" && sex != "O") {
    mistakes.Add(Illegal("patient_study.patient_sex", Shown(sex), "\"M\", \"F\", \"O\" or empty"));
  }
  mistakes.Add(CheckUid("patient_study.study_instance_uid", study.study_instance_uid()));
  mistakes.Add(CheckText("patient_study.accession_number", study.accession_number(), 16));
  mistakes.Add(CheckText("patient_study.study_id", study.study_id(), 16));
  mistakes.Add(CheckText("patient_study.study_description", study.study_description(), 64));
  mistakes.Add(
      CheckPersonName("patient_study.referring_physician_name", study.referring_physician_name()));
  mistakes.Add(CheckDate("patient_study.study_date", study.study_date()));
  mistakes.Add(CheckTime("patient_study.study_time", study.study_time()));
  return mistakes.AsStatus();
}

absl::Status CheckEquipment(const v1::Equipment& equipment) {
  Mistakes mistakes;
  mistakes.Add(CheckText("equipment.manufacturer", equipment.manufacturer(), 64));
  mistakes.Add(CheckText("equipment.model_name", equipment.model_name(), 64));
  mistakes.Add(CheckText("equipment.device_serial_number", equipment.device_serial_number(), 64));
  mistakes.Add(CheckText("equipment.software_versions", equipment.software_versions(), 64));
  mistakes.Add(CheckText("equipment.institution_name", equipment.institution_name(), 64));
  mistakes.Add(CheckText("equipment.institutional_department_name",
                         equipment.institutional_department_name(), 64));
  if (equipment.manufacturer().empty() &&
      !(equipment.model_name().empty() && equipment.device_serial_number().empty() &&
        equipment.software_versions().empty())) {
    mistakes.Add(
        Illegal("equipment.manufacturer", "\"\"",
                "a name, when model_name, device_serial_number or software_versions is set"));
  }
  return mistakes.AsStatus();
}

}  // namespace

absl::Status CheckPrivateTexts(const v1::AcquisitionHeader& header) {
  Mistakes mistakes;
  mistakes.Add(CheckIdentity(header.patient_study()));
  mistakes.Add(CheckText("series_description", header.series_description(), 64));
  mistakes.Add(CheckPersonName("performing_physician_name", header.performing_physician_name()));
  mistakes.Add(CheckPersonName("operators_name", header.operators_name()));
  return mistakes.AsStatus();
}

absl::Status CheckOtherTexts(const v1::AcquisitionHeader& header) {
  Mistakes mistakes;
  mistakes.Add(CheckIdentifier("station_name", header.station_name()));
  mistakes.Add(CheckIdentifier("request_id", header.request_id()));
  mistakes.Add(CheckIdentifier("detector_mode", header.detector_mode()));
  mistakes.Add(CheckIdentifier("calibration", header.calibration()));
  mistakes.Add(CheckIdentifier("geometry", header.geometry()));
  mistakes.Add(CheckCodeString("body_part_examined", header.body_part_examined()));
  mistakes.Add(CheckEquipment(header.equipment()));
  const std::string& laterality = header.laterality();
  if (!laterality.empty() && laterality != "L" && laterality != "R") {
    mistakes.Add(Illegal("laterality", Shown(laterality), "\"L\", \"R\" or empty"));
  }
  return mistakes.AsStatus();
}

}  // namespace isocenter::wire
