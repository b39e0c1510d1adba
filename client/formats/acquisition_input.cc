#include "client/formats/acquisition_input.h"

#include "absl/strings/str_cat.h"
#include "client/formats/bundle.h"
#include "client/formats/dicom/file_bounds.h"
#include "client/formats/dicom/xa_run.h"
#include "client/formats/rabbitct.h"
#include "client/formats/rtk_acquisition.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {

namespace {

/// What says its own projections and counts, and would have them passed over in silence.
absl::Status CheckAlone(const std::filesystem::path& path, absl::string_view what,
                        const std::filesystem::path& projections,
                        const std::optional<double>& i0_counts) {
  if (projections.empty() && !i0_counts) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(projections.empty() ? "--i0" : "--projections", " with '", path.string(), "', ",
                   what, ", which has that itself; legal is to leave it out"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<FrameSource>> OpenAcquisition(
    const std::filesystem::path& path, const std::filesystem::path& projections,
    std::optional<double> i0_counts) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    std::error_code unreadable;
    const bool is_bundle = std::filesystem::exists(path / "bundle.json", unreadable);
    if (unreadable) {
      return absl::PermissionDeniedError(
          absl::StrCat("cannot look into '", path.string(), "': ", unreadable.message()));
    }
    if (is_bundle) {
      ISO_RETURN_IF_ERROR(CheckAlone(path, "a bundle", projections, i0_counts));
      return OpenBundle(path);
    }
    return absl::NotFoundError(absl::StrCat(
        "'", path.string(),
        "' is a directory without bundle.json; legal is a bundle, as isocenter simulate writes "
        "it, or the file of an acquisition"));
  }
  if (path.empty() || path == "-") {
    return absl::InvalidArgumentError(
        absl::StrCat("INPUT is '", path.string(),
                     "'; legal is the name of a bundle's directory, or of the file of an "
                     "acquisition: standard input is not read"));
  }
  if (!std::filesystem::exists(path, ignored)) {
    return absl::NotFoundError(absl::StrCat(
        "there is no file or directory ", path.string(),
        "; legal is a bundle's directory, as isocenter simulate --out writes it, or the file of an "
        "acquisition (RTK's geometry.xml, a DICOM run, a RabbitCT data set)"));
  }
  if (path.extension() == ".rct" || path.extension() == ".rctd") {
    ISO_RETURN_IF_ERROR(CheckAlone(path, "a RabbitCT data set", projections, i0_counts));
    return OpenRabbitCt(path);
  }
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
  const std::filesystem::path above = path.has_parent_path() ? path.parent_path() : ".";
  if (std::filesystem::exists(above / "bundle.json", ignored)) {
    return absl::InvalidArgumentError(absl::StrCat("'", path.string(),
                                                   "' is a part of a bundle; legal is the bundle's "
                                                   "directory, '",
                                                   above.string(), "'"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", path.string(),
      "' is not an acquisition; legal is a bundle directory, an RTK geometry .xml with "
      "--projections, a RabbitCT .rct of line integrals, or a DICOM XA run"));
}

}  // namespace isocenter::formats
