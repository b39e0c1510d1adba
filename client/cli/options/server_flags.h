// Flags that several commands share.
#pragma once

#include "client/channel.h"
#include "client/flags/command.h"
#include "isocenter/v1/acquisition.pb.h"
#include "isocenter/v1/jobs.pb.h"

namespace isocenter::cli {

/// --server, --ca, --cert, --key, --token-file, --node.
void AddServerFlags(flags::Command command, client::ServerAddress& address);

/// --patient-name, --patient-id, --accession, --study-description; a field stays empty when its
/// flag is not given.
void AddPatientFlags(flags::Command command, v1::PatientStudy& study);

/// --manufacturer, --model, --serial-number, --institution, --department, --performing-physician,
/// --operator, --laterality, --tube-voltage, --tube-current, --exposure, --dose-area-product; a
/// field stays unset when its flag is not given.
void AddXraySystemFlags(flags::Command command, v1::AcquisitionHeader& header);

}  // namespace isocenter::cli
