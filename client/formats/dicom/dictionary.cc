#include "client/formats/dicom/dictionary.h"

#include <dcmtk/config/osconfig.h>
//
#include <dcmtk/dcmdata/dcdict.h>
#include <dcmtk/oflog/oflog.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace isocenter::formats {
namespace {

bool Load() {
  OFLog::configure(OFLogger::OFF_LOG_LEVEL);
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto packaged = program.parent_path().parent_path() / "share" / "isocenter" / "dicom.dic";
  if (!error && std::filesystem::exists(packaged, error)) {
    setenv("DCMDICTPATH", packaged.c_str(), /*overwrite=*/0);
  }
  return dcmDataDict.isDictionaryLoaded();
}

}  // namespace

absl::Status CheckDicomDictionary() {
  static const bool loaded = Load();
  if (loaded) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the DICOM dictionary is not loaded; set DCMDICTPATH to the file dicom.dic "
      "(Debian: /usr/share/libdcmtk17/dicom.dic)");
}

}  // namespace isocenter::formats
