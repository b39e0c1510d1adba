#include "client/cli/qa/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/formats/png_image.h"
#include "client/imaging/planes.h"
#include "client/imaging/svg_plot.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

using imaging::EscapeMarkup;
using imaging::PlotSeries;
using imaging::RenderSvg;
using imaging::SvgPlot;
using quality::FrequencyCurve;

constexpr char kStyle[] =
    "body{font:14px/1.45 system-ui,sans-serif;max-width:1000px;margin:24px auto;padding:0 "
    "16px;color:#1b1f24}h1{font-size:22px}h2{font-size:17px;margin-top:28px}table{border-collapse:"
    "collapse}td,th{padding:3px 12px 3px 0;text-align:left;border-bottom:1px solid "
    "#ddd}td.n{text-align:right;font-variant-numeric:tabular-nums}.pass{color:#1b7a3a}.fail{color:"
    "#b3261e;font-weight:600}svg text{font:11px system-ui,sans-serif}svg text.title{font-weight:"
    "600;font-size:12px}.grid{stroke:#e3e6ea}figure{display:inline-block;margin:8px 16px 8px "
    "0}figcaption{font-size:12px;color:#555}.plot{margin:4px 8px 4px 0}";

std::string Image(const std::string& png) {
  return absl::StrCat("data:image/png;base64,", absl::Base64Escape(png));
}

/// A slice with the modules that are in it.
absl::StatusOr<std::string> SlicePicture(const Report& report, double z,
                                         const std::vector<const PhantomModule*>& modules) {
  const VolumeGrid& grid = report.view.grid;
  const quality::Placement& placement = report.study.place.placement;
  const Vec3 middle = grid.WorldToVoxel(placement.ToWorld({0, 0, z}));
  const int k = std::clamp(static_cast<int>(std::lround(middle.z)), 0, grid.nz - 1);
  const bool faint = modules.front()->kind == PhantomModule::Kind::kLow ||
                     modules.front()->kind == PhantomModule::Kind::kUniform;
  const imaging::Window window{.center = 0.0, .width = faint ? 200.0 : 2000.0};
  formats::GrayImage image(grid.nx, grid.ny, 0);
  for (int j = 0; j < grid.ny; ++j) {
    for (int i = 0; i < grid.nx; ++i) image.at(i, j) = window.Gray(report.view.voxels(k, j, i));
  }
  ISO_ASSIGN_OR_RETURN(const std::string png, formats::EncodePng(image));
  const double shown = 380, high = shown * grid.ny * grid.spacing.y / (grid.nx * grid.spacing.x);
  std::string out = absl::StrFormat(
      "<figure><svg width=\"%.0f\" height=\"%.0f\" viewBox=\"-0.5 -0.5 %d %d\" "
      "preserveAspectRatio=\"none\"><image x=\"-0.5\" y=\"-0.5\" width=\"%d\" height=\"%d\" "
      "preserveAspectRatio=\"none\" href=\"%s\"/>",
      shown, high, grid.nx, grid.ny, grid.nx, grid.ny, Image(png));
  for (const PhantomModule* module : modules) {
    const Vec3 at = grid.WorldToVoxel(placement.ToWorld(module->center));
    absl::StrAppendFormat(
        &out,
        "<ellipse cx=\"%.2f\" cy=\"%.2f\" rx=\"%.2f\" ry=\"%.2f\" fill=\"none\" "
        "stroke=\"#ffb000\" vector-effect=\"non-scaling-stroke\"><title>%s</title></ellipse>",
        at.x, at.y, module->radius_mm / grid.spacing.x, module->radius_mm / grid.spacing.y,
        EscapeMarkup(module->name));
  }
  absl::StrAppendFormat(&out,
                        "</svg><figcaption>slice %d of %d, z = %.0f mm of the phantom, %g to %g "
                        "HU</figcaption></figure>\n",
                        k + 1, grid.nz, z, window.center - window.width / 2,
                        window.center + window.width / 2);
  return out;
}

absl::StatusOr<std::string> Pictures(const Report& report) {
  std::map<double, std::vector<const PhantomModule*>> levels;
  for (const PhantomModule& module : report.phantom.modules) {
    levels[std::round(module.center.z)].push_back(&module);
  }
  std::string out = "<h2>Where it was measured</h2>\n";
  for (const auto& [z, modules] : levels) {
    ISO_ASSIGN_OR_RETURN(const std::string picture, SlicePicture(report, z, modules));
    out += picture;
  }
  return out;
}

PlotSeries Curve(std::string label, const FrequencyCurve& curve) {
  return {.label = std::move(label), .x = curve.frequencies, .y = curve.values};
}

std::string Sharpness(const quality::PhantomStudy& study) {
  SvgPlot mtf{.title = "Modulation transfer", .x_label = "1/mm", .y_label = "MTF"};
  if (study.edge) mtf.series.push_back(Curve(study.edge->name, study.edge->transfer.mtf));
  if (study.low_edge)
    mtf.series.push_back(Curve(study.low_edge->name, study.low_edge->transfer.mtf));
  if (study.wire) mtf.series.push_back(Curve("wire", study.wire->mtf));
  if (study.sphere) {
    mtf.series.push_back(Curve("sphere", study.sphere->in_plane));
    mtf.series.push_back(Curve("across slices", study.sphere->axial));
  }
  SvgPlot slices{.title = "Slice sensitivity", .x_label = "mm", .y_label = "relative"};
  if (study.sphere) slices.series.push_back(Curve("sphere", study.sphere->slice_sensitivity));
  for (const auto& ramp : study.ramps) {
    slices.series.push_back(Curve(ramp.name, ramp.transfer.sensitivity));
  }
  std::string out = "<h2>Sharpness</h2>\n" + RenderSvg(mtf);
  if (study.edge) {
    out += RenderSvg({.title = "Edge spread",
                      .x_label = "mm from the insert's middle",
                      .y_label = "HU",
                      .series = {Curve(study.edge->name, study.edge->transfer.spread)},
                      .from_zero = false});
  }
  if (!slices.series.empty()) out += RenderSvg(slices);
  return out;
}

/// The spectrum with frequency 0 in its middle, white where there is most.
absl::StatusOr<std::string> SpectrumPicture(const quality::NoisePower& nps) {
  formats::GrayImage image(nps.nx, nps.ny, 0);
  const double most = *std::ranges::max_element(nps.power);
  for (int j = 0; j < nps.ny; ++j) {
    for (int i = 0; i < nps.nx; ++i) {
      const double power = nps.power[static_cast<size_t>(j) * nps.nx + i];
      image.at((i + nps.nx / 2) % nps.nx, (j + nps.ny / 2) % nps.ny) =
          static_cast<uint8_t>(255 * std::clamp(power / most, 0.0, 1.0));
    }
  }
  ISO_ASSIGN_OR_RETURN(const std::string png, formats::EncodePng(image));
  return absl::StrFormat(
      "<figure><img width=\"240\" height=\"240\" style=\"image-rendering:pixelated\" alt=\"\" "
      "src=\"%s\"><figcaption>noise power over both frequencies, to %.2f/mm</figcaption></figure>",
      Image(png), 0.5 * nps.nx * nps.bin_x);
}

absl::StatusOr<std::string> Noise(const quality::PhantomStudy& study) {
  if (!study.nps) return std::string();
  std::string out =
      absl::StrCat("<h2>Noise</h2>\n", RenderSvg({.title = "Noise power of slices",
                                                  .x_label = "1/mm",
                                                  .y_label = "HU² mm²",
                                                  .series = {Curve("", study.nps->radial)}}));
  if (study.nps_3d) {
    out += RenderSvg({.title = "Noise power of the volume",
                      .x_label = "1/mm",
                      .y_label = "HU² mm³",
                      .series = {Curve("", study.nps_3d->radial)}});
  }
  ISO_ASSIGN_OR_RETURN(const std::string picture, SpectrumPicture(*study.nps));
  return out + picture;
}

std::string Linearity(const quality::PhantomStudy& study) {
  PlotSeries dots{.label = "inserts", .dots = true}, line{.label = "nominal"};
  for (const quality::InsertFigures& insert : study.inserts) {
    dots.x.push_back(insert.nominal);
    dots.y.push_back(insert.figures.mean);
    line.x.push_back(insert.nominal);
    line.y.push_back(insert.nominal);
  }
  return "<h2>Hounsfield units</h2>\n" + RenderSvg({.title = "Linearity",
                                                    .x_label = "nominal HU",
                                                    .y_label = "measured HU",
                                                    .series = {dots, line},
                                                    .from_zero = false});
}

std::string Detection(const quality::PhantomStudy& study) {
  if (study.tasks.empty()) return "";
  std::string out =
      "<h2>Detectability</h2>\n<table><tr><th>disc<th>contrast<th>d′, eye<th>d′, not "
      "prewhitened<th>d′, ideal</tr>\n";
  for (const quality::TaskFigures& each : study.tasks) {
    absl::StrAppendFormat(&out,
                          "<tr><td>%g mm<td class=n>%g HU<td class=n>%.2f<td class=n>%.2f<td "
                          "class=n>%.2f</tr>\n",
                          each.task.size_mm, each.task.contrast, each.index.with_eye,
                          each.index.non_prewhitening, each.index.prewhitening);
  }
  return out + "</table>\n";
}

/// By how a figure's name ends; those of none are ratios.
const char* UnitOf(absl::string_view figure) {
  if (absl::EndsWith(figure, "_per_mm")) return "1/mm";
  if (absl::EndsWith(figure, "_hu")) return "HU";
  return absl::EndsWith(figure, "_mm") ? "mm" : "";
}

std::string Figures(const Report& report) {
  std::string out = "<h2>Figures</h2>\n<table><tr><th>figure<th>unit<th>value";
  if (report.verdicts.empty()) {
    out += "</tr>\n";
    for (const quality::Measure& measure : report.measures) {
      absl::StrAppendFormat(&out, "<tr><td>%s<td>%s<td class=n>%.5g</tr>\n",
                            EscapeMarkup(measure.name), UnitOf(measure.name), measure.value);
    }
    return out + "</table>\n";
  }
  out += "<th>baseline<th>tolerance<th>verdict</tr>\n";
  for (const quality::Verdict& verdict : report.verdicts) {
    absl::StrAppendFormat(
        &out, "<tr><td>%s<td>%s<td class=n>%s<td class=n>%.5g<td class=n>±%.3g<td class=%s</tr>\n",
        EscapeMarkup(verdict.name), UnitOf(verdict.name),
        verdict.value ? absl::StrFormat("%.5g", *verdict.value) : "—", verdict.baseline,
        verdict.tolerance,
        verdict.passed() ? "pass>passed"
        : verdict.not_comparable.empty()
            ? "fail>not passed"
            : absl::StrCat("fail>not comparable: ", EscapeMarkup(verdict.not_comparable)));
  }
  return out + "</table>\n";
}

std::string Limits(const Report& report) {
  if (report.limits.empty()) return "";
  const auto side = [](const std::optional<double>& bound) {
    return bound ? absl::StrFormat("%.5g", *bound) : std::string("—");
  };
  std::string out =
      "<h2>Limits</h2>\n<table><tr><th>figure<th>unit<th>value<th>min<th>max<th>verdict</tr>\n";
  for (const quality::LimitVerdict& verdict : report.limits) {
    absl::StrAppendFormat(
        &out, "<tr><td>%s<td>%s<td class=n>%s<td class=n>%s<td class=n>%s<td class=%s</tr>\n",
        EscapeMarkup(verdict.limit.name), UnitOf(verdict.limit.name), side(verdict.value),
        side(verdict.limit.least), side(verdict.limit.most),
        verdict.passed() ? "pass>passed"
        : verdict.value  ? "fail>not passed"
                         : "fail>not measured");
  }
  return out + "</table>\n";
}

/// Under which conditions the scan was made; what is not known is said.
std::string ConditionsTable(const Report& report) {
  const quality::Conditions& told = report.conditions;
  std::string out = "<h2>Scan</h2>\n<table>\n";
  const auto row = [&](const char* name, const std::string& value) {
    absl::StrAppend(&out, "<tr><td>", name, "<td>",
                    value.empty() ? "not known" : EscapeMarkup(value), "</tr>\n");
  };
  row("room", told.station);
  row("acquired",
      told.acquired > absl::InfinitePast()
          ? absl::FormatTime("%Y-%m-%d %H:%M:%S%Ez", told.acquired, absl::LocalTimeZone())
          : "");
  row("protocol", told.protocol);
  row("tube voltage",
      told.tube_voltage_kv > 0 ? absl::StrFormat("%g kV", told.tube_voltage_kv) : "");
  row("filter", told.filter);
  row("calibration set", told.calibration);
  row("frames", told.frames);
  row("measured by", absl::StrCat("isocenter ", report.version));
  return out + "</table>\n";
}

/// Names and reasons, if there are any.
std::string Reasons(const char* heading,
                    const std::vector<std::pair<std::string, std::string>>& list) {
  if (list.empty()) return "";
  std::string out = absl::StrCat("<h2>", heading, "</h2>\n<table>\n");
  for (const auto& [name, why] : list) {
    absl::StrAppend(&out, "<tr><td>", EscapeMarkup(name), "<td>", EscapeMarkup(why), "</tr>\n");
  }
  return out + "</table>\n";
}

std::string Heading(const Report& report) {
  const quality::PhantomPlace& place = report.study.place;
  const Vec3 shift = place.placement.shift;
  std::string verdict;
  if (!report.verdicts.empty()) {
    verdict = quality::Passed(report.verdicts) ? "<p class=pass>Constancy test passed.</p>\n"
                                               : "<p class=fail>Constancy test not passed.</p>\n";
  }
  return absl::StrFormat(
      "<h1>Image quality: %s</h1>\n<p>Phantom “%s”, moved by %.1f, %.1f, %.1f mm, tilted by %.1f°. "
      "%d x %d x %d voxels of %g x %g x %g mm. Measured %s.</p>\n%s%s",
      EscapeMarkup(report.volume), EscapeMarkup(report.phantom.name), shift.x, shift.y, shift.z,
      place.tilt_deg, report.view.grid.nx, report.view.grid.ny, report.view.grid.nz,
      report.view.grid.spacing.x, report.view.grid.spacing.y, report.view.grid.spacing.z,
      absl::FormatTime("%Y-%m-%d %H:%M:%S%Ez", report.made, absl::LocalTimeZone()),
      report.comment.empty()
          ? ""
          : absl::StrCat("<p class=fail>", EscapeMarkup(report.comment), ".</p>\n"),
      verdict);
}

}  // namespace

absl::StatusOr<std::string> RenderReport(const Report& report) {
  ISO_ASSIGN_OR_RETURN(const std::string pictures, Pictures(report));
  ISO_ASSIGN_OR_RETURN(const std::string noise, Noise(report.study));
  return absl::StrCat(
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Image quality</title>"
      "<style>",
      kStyle, "</style>\n", Heading(report), ConditionsTable(report), Figures(report),
      Limits(report), Reasons("Not judged", report.not_judged),
      Reasons("Not measured", report.study.unmeasured), Sharpness(report.study), noise,
      Linearity(report.study), Detection(report.study), pictures, "</html>\n");
}

}  // namespace isocenter::cli
