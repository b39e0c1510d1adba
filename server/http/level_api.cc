// One level of a volume as a whole, for what shows it in three dimensions.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/http/apis.h"
#include "server/http/opened_volume.h"
#include "server/http/parameters.h"
#include "server/http/places.h"

namespace isocenter::http {
namespace {

// Along each axis, so that a level has at most 32 MiB, and every WebGL2 takes it as one texture.
constexpr int kMostVoxels = 256;
// At once: each holds a connection for as long as its client takes.
constexpr int kMostLevels = 8;

/// [z][y][x], some slices at a time.
class LevelBody : public Body {
 public:
  LevelBody(std::shared_ptr<const viewer::BrickFile> bricks, int level, std::shared_ptr<void> held)
      : bricks_(std::move(bricks)), level_(level), held_(std::move(held)) {}

  std::optional<int64_t> bytes() const override {
    return extent().voxels() * int64_t{sizeof(int16_t)};
  }
  absl::StatusOr<std::string> Next() override {
    constexpr size_t kPieceBytes = 512 << 10;
    std::string piece;
    while (piece.size() < kPieceBytes && z_ < extent().nz) {
      ISO_ASSIGN_OR_RETURN(const viewer::Plane plane,
                           bricks_->ReadPlane(level_, viewer::Axis::kAxial, z_++));
      piece.append(reinterpret_cast<const char*>(plane.hounsfield.data()),
                   plane.hounsfield.size() * sizeof(int16_t));
    }
    return piece;
  }

 private:
  const viewer::Extent& extent() const { return bricks_->levels()[level_]; }

  const std::shared_ptr<const viewer::BrickFile> bricks_;
  const int level_;
  const std::shared_ptr<void> held_;
  int z_ = 0;
};

bool IsSmall(const viewer::Extent& extent) {
  return std::max({extent.nx, extent.ny, extent.nz}) <= kMostVoxels;
}

class LevelApi {
 public:
  explicit LevelApi(const WebEnvironment& environment) : environment_(environment) {}

  absl::StatusOr<Response> Answer(const Call& call) {
    ISO_ASSIGN_OR_RETURN(const OpenedVolume opened, OpenVolume(environment_, call.arguments[0]));
    const std::vector<viewer::Extent> levels = viewer::LevelsOf(opened.raw->extent());
    const auto first = std::ranges::find_if(levels, IsSmall);  // the last one always is
    ISO_ASSIGN_OR_RETURN(const int level, IntegerOf("level", call.arguments[1],
                                                    static_cast<int>(first - levels.begin()),
                                                    static_cast<int>(levels.size()) - 1));
    const std::string tag = absl::StrCat("\"", opened.raw->version(), "-level-", level, "\"");
    Response response;
    response.Set("ETag", tag).Set("Cache-Control", "private, no-cache");
    if (Matches(call.request.Header("if-none-match"), tag)) {
      response.status = 304;
      return response;
    }
    ISO_ASSIGN_OR_RETURN(auto bricks, environment_.volumes.Get(opened.job->id, opened.raw));
    ISO_ASSIGN_OR_RETURN(std::shared_ptr<void> place, places_.Take());
    const viewer::Extent& extent = levels[level];
    response.Set("Content-Type", "application/octet-stream")
        .Set("X-Isocenter-Columns", absl::StrCat(extent.nx))
        .Set("X-Isocenter-Rows", absl::StrCat(extent.ny))
        .Set("X-Isocenter-Slices", absl::StrCat(extent.nz));
    response.long_body = std::make_shared<LevelBody>(std::move(bricks), level, std::move(place));
    return response;
  }

 private:
  const WebEnvironment environment_;
  Places places_{kMostLevels, "whole levels"};
};

}  // namespace

void AddLevelRoutes(const WebEnvironment& environment, Router& router) {
  router.Add(
      "GET", "/api/v1/jobs/{}/levels/{}", Role::kViewer,
      [api = std::make_shared<LevelApi>(environment)](const Call& call) {
        return api->Answer(call);
      },
      audit::Action::kView);
}

}  // namespace isocenter::http
