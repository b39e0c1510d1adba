// What the images of a DICOM CT series tell of the frames that they were made of.
#pragma once

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/formats/facts/volume_facts.h"

namespace isocenter::formats {

struct SeriesFacts {
  VolumeFacts volume;
  std::string station;  // Station Name: the room; empty: none
  /// Acquisition Date and Time, in the local time zone, as DICOM has them; infinite past: none.
  absl::Time acquired = absl::InfinitePast();
};

/// Of the first CT slice by name: of this service's series by the Image Comments that it writes
/// (job, filter, calibration), of others by Irradiation Event UID, else Study Instance UID and
/// Acquisition Date, Time and Number. Errors: as ReadDicomSeries.
absl::StatusOr<SeriesFacts> ReadSeriesFacts(const std::filesystem::path& directory);

}  // namespace isocenter::formats
