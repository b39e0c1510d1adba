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
  if (std::filesystem::is_directory(path, ignored)) {
    if (!std::filesystem::exists(path / "bundle.json", ignored)) return ReadDicomSeries(path);
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path.string(),
        "' is an acquisition and no volume; legal is what `isocenter reconstruct` makes of it"));
  }
  const std::string name = absl::AsciiStrToLower(path.string());
  if (absl::EndsWith(name, ".mha") || absl::EndsWith(name, ".mhd")) return ReadMetaImage(path);
  if (absl::EndsWith(name, ".nii") || absl::EndsWith(name, ".nii.gz")) return ReadNifti(path);
  if (absl::EndsWith(name, ".raw")) {
    if (raw_layout) return ReadRawVolume(path, *raw_layout);
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(),
        ": a raw file does not say its size; --raw-shape, --raw-spacing and --raw-type of "
        "`isocenter simulate --volume` do; legal elsewhere is .mha, .mhd, .nii or .nii.gz"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", path.string(),
      "' is not a volume; legal is .mha, .mhd, .nii, .nii.gz, .raw or the directory of a "
      "DICOM CT series"));
}

}  // namespace isocenter::formats
