#include "client/formats/volume_input.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/formats/dicom_series.h"
#include "client/formats/meta_image.h"
#include "client/formats/nifti.h"

namespace isocenter::formats {

absl::StatusOr<Volume> ReadVolume(const std::filesystem::path& path,
                                  const std::optional<RawLayout>& raw_layout) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return ReadDicomSeries(path);
  const std::string name = absl::AsciiStrToLower(path.string());
  if (absl::EndsWith(name, ".mha") || absl::EndsWith(name, ".mhd")) return ReadMetaImage(path);
  if (absl::EndsWith(name, ".nii") || absl::EndsWith(name, ".nii.gz")) return ReadNifti(path);
  if (absl::EndsWith(name, ".raw")) {
    if (raw_layout) return ReadRawVolume(path, *raw_layout);
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": a raw file needs --raw-shape, --raw-spacing and --raw-type"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", path.string(),
      "' is not a volume; legal is .mha, .mhd, .nii, .nii.gz, .raw or the directory of a "
      "DICOM CT series"));
}

}  // namespace isocenter::formats
