#include "tests/bench/fanbeam/figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/formats/png_image.h"
#include "tests/bench/write_file.h"

namespace isocenter::bench {

FigureTable::FigureTable(std::vector<std::string> columns) : rows_{std::move(columns)} {}

void FigureTable::Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

void FigureTable::Print(const std::string& title) const {
  std::vector<size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::printf("\n%s\n", title.c_str());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      const int width = static_cast<int>(widths[i]);
      std::printf(i == 0 ? "  %-*s" : "  %*s", width, row[i].c_str());
    }
    std::printf("\n");
  }
  std::fflush(stdout);
}

absl::Status FigureTable::Write(const std::string& directory, const std::string& name) const {
  if (directory.empty()) return absl::OkStatus();
  std::string text;
  for (const auto& row : rows_) absl::StrAppend(&text, absl::StrJoin(row, ","), "\n");
  return WriteFile(absl::StrCat(directory, "/", name, ".csv"), text);
}

absl::Status WritePicture(const std::string& directory, const std::string& name,
                          std::span<const float> values, int width, double black, double white) {
  if (directory.empty()) return absl::OkStatus();
  constexpr int kLeast = 256;
  const int height = static_cast<int>(values.size()) / width;
  const int scale = std::max(1, kLeast / width);
  formats::GrayImage image(width * scale, height * scale, 0);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const double value = values[static_cast<size_t>(height - 1 - y / scale) * width + x / scale];
      const double share = std::clamp((value - black) / (white - black), 0.0, 1.0);
      image.at(x, y) = static_cast<uint8_t>(std::lround(255 * share));
    }
  }
  return formats::WritePng(absl::StrCat(directory, "/", name, ".png"), image);
}

absl::Status WriteCurve(const std::string& directory, const std::string& name,
                        const imaging::PlotAxes& axes,
                        const std::vector<imaging::CurvePoint>& points) {
  return WriteCurves(directory, name, axes, {{.name = "", .points = points}});
}

absl::Status WriteCurves(const std::string& directory, const std::string& name,
                         const imaging::PlotAxes& axes, const std::vector<imaging::Curve>& curves) {
  if (directory.empty()) return absl::OkStatus();
  constexpr int kWidth = 900, kHeight = 420;
  formats::GrayImage image(kWidth, kHeight, 255);
  imaging::DrawCurves(image, {.width = kWidth, .height = kHeight}, axes, curves);
  return formats::WritePng(absl::StrCat(directory, "/", name, ".png"), image);
}

absl::Status MakeFigureDirectory(const std::string& directory) {
  if (directory.empty()) return absl::OkStatus();
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot make the directory ", directory, ": ", error.message()));
}

}  // namespace isocenter::bench
