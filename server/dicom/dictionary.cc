#include "server/dicom/dictionary.h"

#include <dcmtk/dcmdata/dcdict.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace isocenter::dicom {

absl::Status CheckDictionary() {
  if (dcmDataDict.isDictionaryLoaded()) return absl::OkStatus();
  const char* path = std::getenv("DCMDICTPATH");
  return absl::FailedPreconditionError(absl::StrCat(
      "the DICOM dictionary is not loaded: DCMDICTPATH is ",
      path == nullptr ? std::string("not set") : absl::StrCat("'", path, "'"),
      "; set it to the file dicom.dic (Debian: /usr/share/libdcmtk17/dicom.dic) before the start"));
}

}  // namespace isocenter::dicom
