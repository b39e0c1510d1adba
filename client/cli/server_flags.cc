#include "client/cli/server_flags.h"

#include <string>

namespace isocenter::cli {

void AddServerFlags(CLI::App& command, client::ServerAddress& address) {
  command.add_option("--server", address.address, "host:port of isocenterd")
      ->capture_default_str()
      ->type_name("ADDRESS")
      ->group("Server");
  command.add_option("--ca", address.ca_file, "PEM file of the server's authority; turns TLS on")
      ->type_name("FILE")
      ->group("Server");
  command
      .add_option("--cert", address.certificate_file, "PEM certificate of this client (mutual TLS)")
      ->type_name("FILE")
      ->group("Server");
  command.add_option("--key", address.private_key_file, "PEM private key of --cert")
      ->type_name("FILE")
      ->group("Server");
  command
      .add_option("--node", address.node,
                  "of several nodes behind the address, the one that is meant")
      ->type_name("NAME")
      ->group("Server");
}

void AddPatientFlags(CLI::App& command, v1::PatientStudy& study) {
  const auto add = [&](const char* flag, std::string* value, const char* help) {
    command.add_option(flag, *value, help)->type_name("TEXT")->group("Patient and study");
  };
  add("--patient-name", study.mutable_patient_name(), "DICOM person name, e.g. Doe^Jane");
  add("--patient-id", study.mutable_patient_id(), "Patient ID");
  add("--accession", study.mutable_accession_number(), "accession number");
  add("--study-description", study.mutable_study_description(), "study description");
}

}  // namespace isocenter::cli
