// What a report of image quality is made of: names, tables, diagrams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/qa/figure_name.h"
#include "client/cli/qa/html_table.h"
#include "client/imaging/svg_plot.h"

namespace isocenter::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Those of web/test/quality.test.ts, and others.
TEST(FigureName, IsThatOfThePage) {
  for (const auto& [key, name] :
       {std::pair("noise_hu", "noise, HU"), std::pair("mtf50_edge_per_mm", "MTF 50 % edge, 1/mm"),
        std::pair("slice_fwhm_mm", "slice FWHM, mm"),
        std::pair("detectability_10mm", "detectability 10 mm"),
        std::pair("cnr_low-30", "CNR low-30"), std::pair("linearity_slope", "linearity slope"),
        std::pair("nps_mean_per_mm", "NPS mean, 1/mm"), std::pair("mtf_wire", "MTF wire")}) {
    EXPECT_EQ(FigureName(key), name);
  }
}

TEST(HtmlTable, HasHeadersOfColumnsAndRows) {
  HtmlTable table("<Figures>", {"figure", "value"});
  EXPECT_THAT(table.Text(), IsEmpty()) << "no rows";
  table.AddRow("a & b", {{"1", "n"}, {"<c>"}});
  table.AddNamedRow("noise, HU", "noise_hu", {{"2", "n"}});
  EXPECT_EQ(table.Text(),
            "<h2>&lt;Figures&gt;</h2>\n<div class=table><table><tr><th scope=col>figure<th "
            "scope=col>value</tr>\n<tr><th scope=row>a &amp; b<td class=n>1<td>&lt;c&gt;</tr>\n"
            "<tr><th scope=row>noise, HU<br><code>noise_hu</code><td class=n>2</tr>\n"
            "</table></div>\n");
}

TEST(SvgPlot, AxesEndAtTicksAndTheLegendIsBelowThem) {
  const std::string svg =
      imaging::RenderSvg({.title = "Linearity",
                          .x_label = "nominal HU",
                          .y_label = "measured HU",
                          .series = {{.label = "inserts", .x = {-130, 340}, .y = {-128, 343}},
                                     {.label = "nominal", .x = {0}, .y = {0}, .dashed = true}},
                          .from_zero = false});
  // To 400, beyond what there is, at the plot's upper and right ends.
  EXPECT_THAT(svg, AllOf(HasSubstr("y=\"32.0\" text-anchor=\"end\">400</text>"),
                         HasSubstr("x=\"440.0\" y=\"250\" text-anchor=\"middle\">400</text>"),
                         HasSubstr(">-200</text>")));
  // Of 280 pixels without it; the axis' own label is at 272.
  EXPECT_THAT(svg,
              AllOf(HasSubstr("height=\"312\""), HasSubstr("y=\"288\" fill=\"#1f6fb2\">inserts"),
                    HasSubstr("y=\"304\" fill=\"#c4541d\">nominal")));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray"));
  EXPECT_THAT(
      imaging::RenderSvg({.title = "", .x_label = "", .y_label = "", .series = {{.label = ""}}}),
      AllOf(HasSubstr("height=\"280\""), Not(HasSubstr("dasharray"))));
}

}  // namespace
}  // namespace isocenter::cli
