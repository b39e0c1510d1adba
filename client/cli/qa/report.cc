#include "client/cli/qa/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/qa/figure_name.h"
#include "client/cli/qa/html_table.h"
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
    "16px;color:#1b1f24}h1{font-size:22px;overflow-wrap:anywhere}h2{font-size:17px;margin-top:28px}"
    ".table{overflow-x:auto}table{border-collapse:collapse}td,th{padding:3px 12px 3px "
    "0;text-align:left;vertical-align:top;border-bottom:1px solid #ddd}th[scope=row]{font-weight:"
    "400}code{font-size:11px;color:#555}td.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".pass{color:#1b7a3a}.fail{color:#b3261e;font-weight:600}svg text{font:11px "
    "system-ui,sans-serif}svg text.title{font-weight:600;font-size:12px}.grid{stroke:#e3e6ea}"
    "figure{display:inline-block;max-width:100%;margin:8px 16px 8px "
    "0}figcaption{font-size:12px;color:#555}svg{max-width:100%;height:auto}.plot{margin:4px 8px "
    "4px 0}";

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
      "<figure><svg width=\"%.0f\" height=\"%.0f\" style=\"aspect-ratio:%.4g\" "
      "viewBox=\"-0.5 -0.5 %d %d\" "
      "preserveAspectRatio=\"none\"><image x=\"-0.5\" y=\"-0.5\" width=\"%d\" height=\"%d\" "
      "preserveAspectRatio=\"none\" href=\"%s\"/>",
      shown, high, shown / high, grid.nx, grid.ny, grid.nx, grid.ny, Image(png));
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

/// Of which no figure is followed.
PlotSeries Unfollowed(const std::string& label, const FrequencyCurve& curve) {
  PlotSeries series = Curve(label + ", not followed", curve);
  series.dashed = true;
  return series;
}

/// Why of two curves of one sharpness the one counts, and the other does not.
std::string NotFollowed(const quality::PhantomStudy& study) {
  constexpr char kOthers[] = "; the edge's and the sphere's are what is followed and judged";
  HtmlTable table("Not followed", {"transfer function", "why"});
  if (study.wire) {
    table.AddRow("wire", {{absl::StrCat("by how much its figures differ between scans of one "
                                        "system is not known, and a tolerance would be a guess",
                                        kOthers)}});
  }
  if (study.low_edge) {
    table.AddRow("edge of " + study.low_edge->name,
                 {{absl::StrCat("by how much that of the least contrast differs from room to room "
                                "is not known",
                                kOthers)}});
  }
  return table.Text();
}

std::string Sharpness(const quality::PhantomStudy& study) {
  SvgPlot mtf{.title = "Modulation transfer", .x_label = "1/mm", .y_label = "MTF"};
  if (study.edge) {
    mtf.series.push_back(
        Curve(absl::StrCat("edge of ", study.edge->name, ", followed"), study.edge->transfer.mtf));
  }
  if (study.sphere) {
    mtf.series.push_back(Curve("sphere, in slices, followed", study.sphere->in_plane));
    mtf.series.push_back(Curve("sphere, across slices, followed", study.sphere->axial));
  }
  if (study.wire) mtf.series.push_back(Unfollowed("wire", study.wire->mtf));
  if (study.low_edge) {
    mtf.series.push_back(
        Unfollowed(absl::StrCat("edge of ", study.low_edge->name), study.low_edge->transfer.mtf));
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
  HtmlTable table("Detectability",
                  {"disc", "contrast", "d′, eye", "d′, not prewhitened", "d′, ideal"});
  const auto number = [](double value) { return HtmlCell{absl::StrFormat("%.2f", value), "n"}; };
  for (const quality::TaskFigures& each : study.tasks) {
    table.AddRow(absl::StrFormat("%g mm", each.task.size_mm),
                 {{absl::StrFormat("%g HU", each.task.contrast), "n"},
                  number(each.index.with_eye),
                  number(each.index.non_prewhitening),
                  number(each.index.prewhitening)});
  }
  return table.Text();
}

/// What is not known is a dash.
HtmlCell Number(const std::optional<double>& value) {
  return {value ? absl::StrFormat("%.5g", *value) : "—", "n"};
}

HtmlCell WordFor(const quality::Verdict& verdict) {
  if (verdict.passed()) return {"passed", "pass"};
  if (verdict.not_comparable.empty()) return {"not passed", "fail"};
  return {absl::StrCat("not comparable: ", verdict.not_comparable), "fail"};
}

std::string Figures(const Report& report) {
  if (report.verdicts.empty()) {
    HtmlTable table("Figures", {"figure", "value"});
    for (const quality::Measure& measure : report.measures) {
      table.AddNamedRow(FigureName(measure.name), measure.name, {Number(measure.value)});
    }
    return table.Text();
  }
  HtmlTable table("Figures", {"figure", "value", "baseline", "tolerance", "verdict"});
  for (const quality::Verdict& verdict : report.verdicts) {
    table.AddNamedRow(FigureName(verdict.name), verdict.name,
                      {Number(verdict.value),
                       Number(verdict.baseline),
                       {absl::StrFormat("±%.3g", verdict.tolerance), "n"},
                       WordFor(verdict)});
  }
  return table.Text();
}

std::string Limits(const Report& report) {
  HtmlTable table("Limits", {"figure", "value", "min", "max", "verdict"});
  for (const quality::LimitVerdict& verdict : report.limits) {
    const HtmlCell word = verdict.passed() ? HtmlCell{"passed", "pass"}
                          : verdict.value  ? HtmlCell{"not passed", "fail"}
                                           : HtmlCell{"not measured", "fail"};
    table.AddNamedRow(
        FigureName(verdict.limit.name), verdict.limit.name,
        {Number(verdict.value), Number(verdict.limit.least), Number(verdict.limit.most), word});
  }
  return table.Text();
}

/// Under which conditions the scan was made; what is not known is said.
std::string ConditionsTable(const Report& report) {
  const quality::Conditions& told = report.conditions;
  HtmlTable table("Scan", {});
  const auto row = [&](const char* name, const std::string& value) {
    table.AddRow(name, {{value.empty() ? "not known" : value}});
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
  return table.Text();
}

/// Figures and reasons, if there are any.
std::string Reasons(const char* heading,
                    const std::vector<std::pair<std::string, std::string>>& list) {
  HtmlTable table(heading, {"figure", "why"});
  for (const auto& [name, why] : list) table.AddNamedRow(FigureName(name), name, {{why}});
  return table.Text();
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
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>Image quality</title>"
      "<style>",
      kStyle, "</style>\n", Heading(report), ConditionsTable(report), Figures(report),
      Limits(report), Reasons("Not judged", report.not_judged),
      Reasons("Not measured", report.study.unmeasured), NotFollowed(report.study),
      Sharpness(report.study), noise, Linearity(report.study), Detection(report.study), pictures,
      "</html>\n");
}

}  // namespace isocenter::cli
