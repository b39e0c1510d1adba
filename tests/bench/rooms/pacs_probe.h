// Whether a series can be found in the PACS.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace isocenter::bench {

/// Asks with DCMTK's findscu, a program of its own, so that nothing here links DICOM.
class PacsProbe {
 public:
  /// `peer`: HOST:PORT,AET. Errors: INVALID_ARGUMENT; NOT_FOUND (there is no findscu).
  static absl::StatusOr<PacsProbe> Open(const std::string& peer);

  /// Asks every 200 ms until the series is found. Errors: DEADLINE_EXCEEDED.
  absl::Status WaitUntilFound(const std::string& study_uid, const std::string& series_uid,
                              absl::Duration limit) const;

 private:
  std::string host_, port_, ae_title_;
};

}  // namespace isocenter::bench
