#include "server/dicom/objects/dictionary.h"

#include <dcmtk/dcmdata/dcdict.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace isocenter::dicom {
namespace {

// An unpacked package brings the dictionary along, for machines without DCMTK's package. Returns
// the empty path where there is none.
std::filesystem::path PackagedDictionary() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  std::filesystem::path file =
      program.parent_path().parent_path() / "share" / "isocenter" / "dicom.dic";
  return std::filesystem::exists(file, error) ? file : std::filesystem::path();
}

// DCMTK reads the variable when the dictionary is used for the first time.
bool LoadDictionary() {
  if (const std::filesystem::path file = PackagedDictionary(); !file.empty()) {
    setenv("DCMDICTPATH", file.c_str(), /*overwrite=*/0);
  }
  return dcmDataDict.isDictionaryLoaded();
}

}  // namespace

absl::Status CheckDictionary() {
  static const bool loaded = LoadDictionary();
  if (loaded) return absl::OkStatus();
  const char* path = std::getenv("DCMDICTPATH");
  return absl::FailedPreconditionError(absl::StrCat(
      "the DICOM dictionary is not loaded: DCMDICTPATH is ",
      path == nullptr ? std::string("not set") : absl::StrCat("'", path, "'"),
      "; set it to the file dicom.dic (Debian: /usr/share/libdcmtk17/dicom.dic) before the start"));
}

}  // namespace isocenter::dicom
