#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter {
namespace {

constexpr int kMatrixElements = 12;

// A line of the table, without comment or surrounding blanks.
absl::StatusOr<ProjectionMatrix> ParseLine(absl::string_view line) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
  if (fields.size() < kMatrixElements) {
    return absl::InvalidArgumentError(
        absl::StrCat("the number of columns is ", fields.size(),
                     "; legal is 12 or more (the last 12 are the matrix)"));
  }
  const size_t first = fields.size() - kMatrixElements;
  ProjectionMatrix matrix;
  for (int i = 0; i < kMatrixElements; ++i) {
    const absl::string_view field = absl::StripAsciiWhitespace(fields[first + i]);
    if (!absl::SimpleAtod(field, &matrix.m[i])) {
      return absl::InvalidArgumentError(absl::StrCat("column ", first + i + 1, " is '",
                                                     field.substr(0, 40), "'; legal is a number"));
    }
  }
  return NormalizeMatrix(matrix);
}

}  // namespace

absl::StatusOr<Trajectory> ReadTrajectoryCsv(const std::string& path) {
  ISO_RETURN_IF_ERROR(CheckRegularFile("the trajectory", path));
  std::ifstream file(path);
  if (!file) {
    return absl::NotFoundError(
        absl::StrCat("trajectory file ", path, " does not exist or cannot be read"));
  }
  const auto error = [&path](int line, absl::string_view message) {
    return absl::InvalidArgumentError(absl::StrCat(path, ", line ", line, ": ", message));
  };
  Trajectory trajectory;
  std::string text;
  int line_number = 0;
  while (std::getline(file, text)) {
    ++line_number;
    const absl::string_view line =
        absl::StripAsciiWhitespace(absl::string_view(text).substr(0, text.find('#')));
    if (line.empty()) continue;
    absl::StatusOr<ProjectionMatrix> matrix = ParseLine(line);
    if (!matrix.ok()) return error(line_number, matrix.status().message());
    if (trajectory.size() == kMaxViews) {
      return error(line_number,
                   absl::StrCat("more than ", kMaxViews, " matrices; legal is 1 to ", kMaxViews));
    }
    trajectory.push_back(*matrix);
  }
  if (trajectory.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": after ", line_number, " lines no matrix was found; legal is 1 to ", kMaxViews));
  }
  return trajectory;
}

}  // namespace isocenter
