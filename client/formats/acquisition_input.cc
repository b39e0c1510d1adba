#include "client/formats/acquisition_input.h"

#include "absl/strings/str_cat.h"
#include "client/formats/bundle.h"
#include "client/formats/dicom/file_bounds.h"
#include "client/formats/dicom/xa_run.h"
#include "client/formats/rabbitct.h"
#include "client/formats/rtk_acquisition.h"

namespace isocenter::formats {

absl::StatusOr<std::unique_ptr<FrameSource>> OpenAcquisition(
    const std::filesystem::path& path, const std::filesystem::path& projections,
    std::optional<double> i0_counts) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    if (std::filesystem::exists(path / "bundle.json", ignored)) return OpenBundle(path);
    return absl::NotFoundError(absl::StrCat(
        "'", path.string(),
        "' is a directory without bundle.json; legal is a bundle, as isocenter simulate writes "
        "it, or the file of an acquisition"));
  }
  if (!std::filesystem::exists(path, ignored)) {
    return absl::NotFoundError(absl::StrCat("there is no ", path.string()));
  }
  if (path.extension() == ".rct" || path.extension() == ".rctd") return OpenRabbitCt(path);
  if (path.extension() == ".xml") {
    constexpr double kRtkI0Counts = 65535;
    if (!projections.empty()) {
      return OpenRtkAcquisition(path, projections, i0_counts.value_or(kRtkI0Counts));
    }
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": an RTK geometry needs --projections FILE.mha"));
  }
  if (path.extension() == ".dcm" || IsDicomFile(path)) {
    return OpenXaRun(path, projections, i0_counts);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", path.string(),
      "' is not an acquisition; legal is a bundle directory, an RTK geometry .xml with "
      "--projections, a RabbitCT .rct of line integrals, or a DICOM XA run"));
}

}  // namespace isocenter::formats
