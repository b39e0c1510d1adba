// Volumes, plane by plane.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/http/apis.h"
#include "server/http/job_json.h"
#include "server/http/opened_volume.h"
#include "server/http/parameters.h"
#include "server/http/transport/answers.h"
#include "server/viewer/raw_volume.h"

namespace isocenter::http {
namespace {

absl::StatusOr<Response> Volume(const WebEnvironment& environment, const Call& call) {
  ISO_ASSIGN_OR_RETURN(const OpenedVolume opened, OpenVolume(environment, call.arguments[0]));
  const VolumeGrid& grid = opened.job->grid;
  const auto bricks = environment.volumes.Get(opened.job->id, opened.raw);
  // That it is not prepared yet is no error here; that it cannot be is.
  if (!bricks.ok() && !absl::IsUnavailable(bricks.status())) return bricks.status();
  Json levels = Json::array();
  double factor = 1;
  for (const viewer::Extent& extent : viewer::LevelsOf(opened.raw->extent())) {
    levels.push_back(
        {{"level", levels.size()},
         {"nx", extent.nx},
         {"ny", extent.ny},
         {"nz", extent.nz},
         {"spacing_mm",
          {factor * grid.spacing.x, factor * grid.spacing.y, factor * grid.spacing.z}}});
    factor *= 2;
  }
  const auto bound = [&](int16_t (viewer::BrickFile::*get)() const) {
    return bricks.ok() ? Json(((**bricks).*get)()) : Json(nullptr);
  };
  return JsonAnswer({{"job_id", opened.job->id},
                     {"grid", GridJson(*opened.job)},
                     {"version", opened.raw->version()},
                     {"prepared", bricks.ok()},
                     {"hu_min", bound(&viewer::BrickFile::least)},
                     {"hu_max", bound(&viewer::BrickFile::largest)},
                     {"levels", std::move(levels)}});
}

absl::StatusOr<viewer::Axis> AxisOf(const std::string& name) {
  if (name == "axial") return viewer::Axis::kAxial;
  if (name == "coronal") return viewer::Axis::kCoronal;
  if (name == "sagittal") return viewer::Axis::kSagittal;
  return absl::InvalidArgumentError(
      absl::StrCat("axis is '", name, "'; legal are axial, coronal and sagittal"));
}

absl::StatusOr<viewer::Plane> ReadPlane(const WebEnvironment& environment,
                                        const OpenedVolume& opened, viewer::Axis axis, int index,
                                        int level) {
  // The stored volume has these in one piece, or in rows; for the others the cache has bricks.
  if (level == 0 && axis != viewer::Axis::kSagittal) return opened.raw->ReadPlane(axis, index);
  ISO_ASSIGN_OR_RETURN(const auto bricks, environment.volumes.Get(opened.job->id, opened.raw));
  return bricks->ReadPlane(level, axis, index);
}

absl::StatusOr<Response> Slice(const WebEnvironment& environment, const Call& call) {
  ISO_ASSIGN_OR_RETURN(const viewer::Axis axis, AxisOf(call.arguments[1]));
  int index = 0;
  if (!absl::SimpleAtoi(call.arguments[2], &index)) {
    return absl::InvalidArgumentError(
        absl::StrCat("index is '", call.arguments[2], "'; legal is a number"));
  }
  ISO_ASSIGN_OR_RETURN(const OpenedVolume opened, OpenVolume(environment, call.arguments[0]));
  const std::vector<viewer::Extent> levels = viewer::LevelsOf(opened.raw->extent());
  ISO_ASSIGN_OR_RETURN(const int level, IntegerParameter(call.request, "level", 0,
                                                         static_cast<int>(levels.size()) - 1, 0));
  ISO_RETURN_IF_ERROR(viewer::CheckIndex(levels[level], axis, index));

  const bool packed = call.request.AcceptsGzip();
  const std::string tag = absl::StrCat("\"", opened.raw->version(), "-", call.arguments[1], "-",
                                       index, "-", level, packed ? "-gzip" : "", "\"");
  Response response;
  response.Set("ETag", tag)
      .Set("Cache-Control", "private, no-cache")
      .Set("Vary", "Accept-Encoding");
  if (Matches(call.request.Header("if-none-match"), tag)) {
    response.status = 304;
    return response;
  }
  ISO_ASSIGN_OR_RETURN(const viewer::Plane plane,
                       ReadPlane(environment, opened, axis, index, level));
  response.Set("Content-Type", "application/octet-stream")
      .Set("X-Isocenter-Columns", absl::StrCat(plane.columns))
      .Set("X-Isocenter-Rows", absl::StrCat(plane.rows));
  response.body.assign(reinterpret_cast<const char*>(plane.hounsfield.data()),
                       plane.hounsfield.size() * sizeof(int16_t));
  if (packed) Compress(response);
  return response;
}

}  // namespace

void AddVolumeRoutes(const WebEnvironment& environment, Router& router) {
  router.Add(
      "GET", "/api/v1/jobs/{}/volume", Role::kViewer,
      [environment](const Call& call) { return Volume(environment, call); }, audit::Action::kView);
  router.Add(
      "GET", "/api/v1/jobs/{}/slices/{}/{}", Role::kViewer,
      [environment](const Call& call) { return Slice(environment, call); }, audit::Action::kView);
}

}  // namespace isocenter::http
