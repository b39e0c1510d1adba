// The scan of a phantom that is measured, and how it was made.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/channel.h"
#include "client/formats/volume.h"
#include "kernels/quality/conditions.h"

namespace isocenter::cli {

/// Where the scan is, and what its user says of it.
struct ScanSource {
  client::ServerAddress server;
  std::string volume;  // a file; empty: the job's volume is fetched
  std::string job;     // whose volume it is; empty: no job's
  std::string phantom = "quality";
  std::string station, protocol;  // empty: the job's, or the file's
};

struct Scan {
  formats::Volume volume;
  quality::Conditions conditions;
};

/// Conditions are those of the job, of the file and of what the user says. Errors: those of reading
/// and of the service; INVALID_ARGUMENT for a file of another job, and for a room or protocol that
/// is not the job's.
absl::StatusOr<Scan> LoadScan(const ScanSource& source);

}  // namespace isocenter::cli
