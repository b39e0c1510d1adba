#include "client/formats/rtk_geometry.h"

#include <array>
#include <cmath>
#include <cstring>
#include <pugixml.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/formats/file.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::formats {
namespace {

constexpr uint64_t kFileLimit = 256 << 20;

using Matrix3 = std::array<double, 9>;

Matrix3 Multiply(const Matrix3& a, const Matrix3& b) {
  Matrix3 c{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 3; ++k) c[i * 3 + j] += a[i * 3 + k] * b[k * 3 + j];
    }
  }
  return c;
}

Matrix3 RotationX(double a) {
  return {1, 0, 0, 0, std::cos(a), -std::sin(a), 0, std::sin(a), std::cos(a)};
}
Matrix3 RotationY(double a) {
  return {std::cos(a), 0, std::sin(a), 0, 1, 0, -std::sin(a), 0, std::cos(a)};
}
Matrix3 RotationZ(double a) {
  return {std::cos(a), -std::sin(a), 0, std::sin(a), std::cos(a), 0, 0, 0, 1};
}

/// -P · Q with (x, y, z) of RTK = Q · (x, y, z) of ours = (y, z, x) of ours. The sign is free in
/// homogeneous coordinates: RTK's w is negative in front of the source, ours positive.
ProjectionMatrix ToOurWorld(const ProjectionMatrix& rtk) {
  ProjectionMatrix ours;
  for (int i = 0; i < 3; ++i) {
    ours.m[i * 4 + 0] = -rtk(i, 2);
    ours.m[i * 4 + 1] = -rtk(i, 0);
    ours.m[i * 4 + 2] = -rtk(i, 1);
    ours.m[i * 4 + 3] = -rtk(i, 3);
  }
  return ours;
}

absl::StatusOr<double> Number(const pugi::xml_node& node, const std::string& where) {
  double value = 0;
  if (!absl::SimpleAtod(node.text().as_string(), &value) || !std::isfinite(value)) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": <", node.name(), "> is '",
                                                   node.text().as_string(),
                                                   "'; legal is a finite number"));
  }
  return value;
}

/// Reads the elements of `parent` into the parameters; RTK writes what all projections share once,
/// above them.
absl::Status ReadParameters(const pugi::xml_node& parent, const std::string& where,
                            RtkProjection& parameters) {
  struct Entry {
    const char* name;
    double RtkProjection::*member;
    double unit;
  };
  static constexpr double kDegree = kPi / 180;
  static const Entry kEntries[] = {
      {"SourceToIsocenterDistance", &RtkProjection::source_to_isocenter, 1},
      {"SourceToDetectorDistance", &RtkProjection::source_to_detector, 1},
      {"GantryAngle", &RtkProjection::gantry_angle, kDegree},
      {"Angle", &RtkProjection::gantry_angle, kDegree},  // older name
      {"OutOfPlaneAngle", &RtkProjection::out_of_plane_angle, kDegree},
      {"InPlaneAngle", &RtkProjection::in_plane_angle, kDegree},
      {"ProjectionOffsetX", &RtkProjection::projection_offset_x, 1},
      {"ProjectionOffsetY", &RtkProjection::projection_offset_y, 1},
      {"SourceOffsetX", &RtkProjection::source_offset_x, 1},
      {"SourceOffsetY", &RtkProjection::source_offset_y, 1},
  };
  for (const pugi::xml_node& node : parent.children()) {
    for (const Entry& entry : kEntries) {
      if (std::strcmp(node.name(), entry.name) != 0) continue;
      ISO_ASSIGN_OR_RETURN(const double value, Number(node, where));
      parameters.*entry.member = value * entry.unit;
    }
    if (std::strcmp(node.name(), "RadiusCylindricalDetector") == 0) {
      ISO_ASSIGN_OR_RETURN(const double radius, Number(node, where));
      if (radius != 0) {
        return absl::InvalidArgumentError(absl::StrCat(where,
                                                       ": the detector is cylindrical (radius ",
                                                       radius, " mm); legal is a flat one (0)"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ProjectionMatrix> ReadMatrix(const pugi::xml_node& node, const std::string& where) {
  ProjectionMatrix matrix;
  size_t count = 0;
  for (absl::string_view word :
       absl::StrSplit(node.text().as_string(), absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty())) {
    double value = 0;
    if (count == 12 || !absl::SimpleAtod(word, &value) || !std::isfinite(value)) {
      count = 13;
      break;
    }
    matrix.m[count++] = value;
  }
  if (count != 12) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": <Matrix> must hold 12 finite numbers"));
  }
  return matrix;
}

}  // namespace

ProjectionMatrix RtkMatrix(const RtkProjection& p) {
  // Translation(source - projection offset) · Magnification · Translation(-source offset) ·
  // Rz(-in-plane) · Rx(-out-of-plane) · Ry(-gantry): rtk::ThreeDCircularProjectionGeometry.
  const Matrix3 rotation =
      Multiply(RotationZ(-p.in_plane_angle),
               Multiply(RotationX(-p.out_of_plane_angle), RotationY(-p.gantry_angle)));
  const double offset_x = p.source_offset_x - p.projection_offset_x;
  const double offset_y = p.source_offset_y - p.projection_offset_y;
  ProjectionMatrix matrix;
  for (int j = 0; j < 4; ++j) {
    const double x = j < 3 ? rotation[j] : -p.source_offset_x;
    const double y = j < 3 ? rotation[3 + j] : -p.source_offset_y;
    const double z = j < 3 ? rotation[6 + j] : -p.source_to_isocenter;
    matrix.m[j] = -p.source_to_detector * x + offset_x * z;
    matrix.m[4 + j] = -p.source_to_detector * y + offset_y * z;
    matrix.m[8 + j] = z;
  }
  return matrix;
}

absl::StatusOr<std::vector<ProjectionMatrix>> ReadRtkGeometry(const std::filesystem::path& path) {
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadText(path, kFileLimit));
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  if (!parsed) {
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), " is not XML: ", parsed.description(), " at byte ", parsed.offset));
  }
  const pugi::xml_node root = document.child("RTKThreeDCircularGeometry");
  const int version = root.attribute("version").as_int(0);
  if (!root || version < 2 || version > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), " is not an RTK geometry of version 2 or 3 (root <",
                     document.document_element().name(), ">, version ", version, ")"));
  }
  RtkProjection shared;
  ISO_RETURN_IF_ERROR(ReadParameters(root, path.string(), shared));
  std::vector<ProjectionMatrix> matrices;
  for (const pugi::xml_node& node : root.children("Projection")) {
    const std::string where = absl::StrCat(path.string(), ", projection ", matrices.size());
    RtkProjection projection = shared;
    ISO_RETURN_IF_ERROR(ReadParameters(node, where, projection));
    ProjectionMatrix matrix = RtkMatrix(projection);
    if (const pugi::xml_node explicit_matrix = node.child("Matrix")) {
      ISO_ASSIGN_OR_RETURN(matrix, ReadMatrix(explicit_matrix, where));
    } else if (!(projection.source_to_detector > 0 && projection.source_to_isocenter > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": SourceToIsocenterDistance is ", projection.source_to_isocenter,
                       " and SourceToDetectorDistance is ", projection.source_to_detector,
                       "; legal is above 0 (parallel beams cannot be reconstructed)"));
    }
    if (matrices.size() == kMaxViews) {
      return absl::InvalidArgumentError(
          absl::StrCat(path.string(), " holds more than ", kMaxViews, " projections"));
    }
    matrices.push_back(ToOurWorld(matrix));
  }
  if (matrices.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path.string(), " holds no <Projection>"));
  }
  return matrices;
}

}  // namespace isocenter::formats
