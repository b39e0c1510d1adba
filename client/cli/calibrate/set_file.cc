#include "client/cli/calibrate/set_file.h"

#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/output/table.h"
#include "client/formats/destination.h"
#include "client/formats/file.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/calibration.h"
#include "proto/wire/calibration_file.h"

namespace isocenter::cli {
namespace {

void SetFigures(const Report& report, v1::CalibrationSet& set) {
  const std::string prefix = absl::StrCat(report.part, ": ");
  auto& quality = *set.mutable_quality();
  for (int i = quality.size() - 1; i >= 0; --i) {
    if (absl::StartsWith(quality[i].name(), prefix)) quality.DeleteSubrange(i, 1);
  }
  for (const calibrate::Figure& figure : report.figures) {
    v1::QualityFigure& added = *set.add_quality();
    added.set_name(absl::StrCat(prefix, figure.name));
    added.set_value(figure.value);
    added.set_unit(figure.unit);
  }
}

}  // namespace

void AddIntoFlags(flags::Command command, IntoSet& options) {
  command.Add("--into", options.into, "calibration set that the part is added to")
      .Required()
      .Type("FILE");
  command.Add("--out", options.out, "write the set here and leave --into as it is").Type("FILE");
  command.Add("--picture", options.picture, "also write the picture of the part to this .png")
      .Type("FILE");
}

absl::Status CheckOutputs(const std::string& out, const std::string& picture,
                          std::vector<std::filesystem::path> inputs) {
  ISO_RETURN_IF_ERROR(
      formats::CheckFileDestination({.flag = "--out", .path = out, .inputs = inputs}));
  if (picture.empty()) return absl::OkStatus();
  return formats::CheckFileDestination(
      {.flag = "--picture", .path = picture, .endings = {".png"}, .inputs = std::move(inputs)});
}

absl::Status CheckInto(const IntoSet& options, std::vector<std::filesystem::path> inputs) {
  return CheckOutputs(options.out.empty() ? options.into : options.out, options.picture,
                      std::move(inputs));
}

absl::StatusOr<OpenedSet> ReadSet(const std::string& flag, const std::string& path) {
  OpenedSet opened;
  ISO_ASSIGN_OR_RETURN(opened.set, wire::ReadCalibrationFile(flag, path));
  ISO_ASSIGN_OR_RETURN(opened.calibration, wire::CalibrationFromProto(opened.set));
  return opened;
}

absl::Status CheckResponse(const OpenedSet& opened, const Detector& detector) {
  if (!opened.calibration.response) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the set ", opened.set.name(),
        " has no offsets and gains; legal is one that `isocenter calibrate detector` made"));
  }
  const Detector& of_set = opened.calibration.detector;
  if (of_set == detector) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "the frames have %d x %d pixels of %g x %g mm; legal are those of the set, %d x %d of %g x "
      "%g mm",
      detector.columns, detector.rows, detector.pitch_u_mm, detector.pitch_v_mm, of_set.columns,
      of_set.rows, of_set.pitch_u_mm, of_set.pitch_v_mm));
}

absl::Status WriteSet(v1::CalibrationSet set, const Report& report, const std::string& out,
                      const std::string& picture) {
  SetFigures(report, set);
  ISO_ASSIGN_OR_RETURN(*set.mutable_picture_png(), formats::EncodePng(report.picture));
  ISO_RETURN_IF_ERROR(wire::CalibrationFromProto(set).status());
  std::vector<TableRow> rows = {{"FIGURE", "VALUE", "UNIT"}};
  for (const calibrate::Figure& figure : report.figures) {
    rows.push_back({figure.name, absl::StrFormat("%.6g", figure.value), figure.unit});
  }
  std::fputs(FormatTable(rows).c_str(), stdout);
  if (!picture.empty()) ISO_RETURN_IF_ERROR(formats::WriteText(picture, set.picture_png()));
  ISO_RETURN_IF_ERROR(formats::WriteText(out, wire::CalibrationFile(set)));
  std::fprintf(stdout, "%s: %s\n", out.c_str(), set.name().c_str());
  return absl::OkStatus();
}

}  // namespace isocenter::cli
