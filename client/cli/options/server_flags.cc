#include "client/cli/options/server_flags.h"

#include <string>

namespace isocenter::cli {

void AddServerFlags(flags::Command command, client::ServerAddress& address) {
  command
      .Add("--server", address.address,
           "host:port of isocenterd; a host alone: port 50051; several with commas between them")
      .ShowDefault()
      .Environment("ISOCENTER_SERVER")
      .Type("ADDRESS")
      .Group("Server");
  command.Add("--ca", address.ca_file, "PEM file of the server's authority; turns TLS on")
      .Environment("ISOCENTER_CA")
      .Type("FILE")
      .Group("Server");
  command.Add("--cert", address.certificate_file, "PEM certificate of this client (mutual TLS)")
      .Environment("ISOCENTER_CERT")
      .Type("FILE")
      .Group("Server");
  command.Add("--key", address.private_key_file, "PEM private key of --cert")
      .Environment("ISOCENTER_KEY")
      .Type("FILE")
      .Group("Server");
  command.Add("--token-file", address.token_file, "file with a token of this client")
      .Environment("ISOCENTER_TOKEN_FILE")
      .Type("FILE")
      .Group("Server");
  command.Add("--node", address.node, "of several nodes behind the address, the one that is meant")
      .Type("NAME")
      .Group("Server");
}

void AddPatientFlags(flags::Command command, v1::PatientStudy& study) {
  const auto add = [&](const char* flag, std::string* value, const char* help) {
    command.Add(flag, *value, help).Type("TEXT").Group("Patient and study");
  };
  add("--patient-name", study.mutable_patient_name(), "DICOM person name, e.g. Doe^Jane");
  add("--patient-id", study.mutable_patient_id(), "Patient ID");
  add("--accession", study.mutable_accession_number(), "accession number");
  add("--study-description", study.mutable_study_description(), "study description");
}

void AddXraySystemFlags(flags::Command command, v1::AcquisitionHeader& header) {
  constexpr char kGroup[] = "X-ray system";
  const auto text = [&](const char* flag, std::string* value, const char* help) {
    return command.Add(flag, *value, help).Type("TEXT").Group(kGroup);
  };
  // Messages make room for a submessage when it is first changed; the callbacks run only for flags
  // that are given, so that the others stay unset.
  const auto part = [&](const char* flag, auto set, const char* help) {
    command.AddSetter<std::string>(flag, set, help).Type("TEXT").Group(kGroup);
  };
  const auto number = [&](const char* flag, auto set, double most, const char* help) {
    command.AddSetter<double>(flag, set, help).Range(0.0, most).Group(kGroup);
  };
  v1::AcquisitionHeader* const h = &header;
  part(
      "--manufacturer", [h](const std::string& v) { h->mutable_equipment()->set_manufacturer(v); },
      "of the C-arm");
  part(
      "--model", [h](const std::string& v) { h->mutable_equipment()->set_model_name(v); },
      "model of the C-arm");
  part(
      "--serial-number",
      [h](const std::string& v) { h->mutable_equipment()->set_device_serial_number(v); },
      "of the C-arm");
  part(
      "--institution",
      [h](const std::string& v) { h->mutable_equipment()->set_institution_name(v); },
      "where the C-arm is");
  part(
      "--department",
      [h](const std::string& v) { h->mutable_equipment()->set_institutional_department_name(v); },
      "of the institution");
  text("--station", header.mutable_station_name(), "room or device that sends").Identifier();
  text("--detector-mode", header.mutable_detector_mode(),
       "binning, read-out and frame rate, as calibrations name it")
      .Identifier();
  text("--calibration", header.mutable_calibration(),
       "set that the frames are corrected with (default: as the protocol says)")
      .Identifier();
  text("--performing-physician", header.mutable_performing_physician_name(),
       "DICOM person name, e.g. Doe^Jane");
  text("--operator", header.mutable_operators_name(), "DICOM person name");
  command
      .Add("--patient-position", *header.mutable_patient_position(),
           "how the patient lies on the table (default HFS: head first, supine)")
      .OneOf({"HFS", "HFP", "HFDR", "HFDL", "FFS", "FFP", "FFDR", "FFDL"})
      .Group(kGroup);
  text("--laterality", header.mutable_laterality(), "L or R, of a body part that there are two of");
  command
      .AddSetter<double>(
          "--tube-voltage", [h](double v) { h->set_tube_voltage_kv(v); },
          "in kV, from 10 on; 0: unknown")
      .Range(0.0, 300.0)
      .Group(kGroup);
  number(
      "--tube-current", [h](double v) { h->mutable_exposure()->set_tube_current_ma(v); }, 1e4,
      "mean of the frames, in mA");
  number(
      "--exposure", [h](double v) { h->mutable_exposure()->set_exposure_mas(v); }, 1e6,
      "of all frames together, in mAs");
  number(
      "--dose-area-product",
      [h](double v) { h->mutable_exposure()->set_dose_area_product_dgycm2(v); }, 1e6, "in dGy*cm2");
}

}  // namespace isocenter::cli
