#include "server/dicom/dictionary.h"

#include <dcmtk/dcmdata/dcdict.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace isocenter::dicom {
namespace {

// An unpacked package brings the dictionary along, where the path that DCMTK was built with does
// not exist.
bool LoadPackagedDictionary() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return false;
  const std::filesystem::path file =
      program.parent_path().parent_path() / "share" / "isocenter" / "dicom.dic";
  if (!std::filesystem::exists(file, error)) return false;
  DcmDataDictionary& dictionary = dcmDataDict.wrlock();
  const bool loaded = dictionary.loadDictionary(file.c_str());
  dcmDataDict.wrunlock();
  return loaded;
}

}  // namespace

absl::Status CheckDictionary() {
  static const bool loaded = dcmDataDict.isDictionaryLoaded() || LoadPackagedDictionary();
  if (loaded) return absl::OkStatus();
  const char* path = std::getenv("DCMDICTPATH");
  return absl::FailedPreconditionError(absl::StrCat(
      "the DICOM dictionary is not loaded: DCMDICTPATH is ",
      path == nullptr ? std::string("not set") : absl::StrCat("'", path, "'"),
      "; set it to the file dicom.dic (Debian: /usr/share/libdcmtk17/dicom.dic) before the start"));
}

}  // namespace isocenter::dicom
