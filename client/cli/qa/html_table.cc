#include "client/cli/qa/html_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/imaging/svg_plot.h"

namespace isocenter::cli {

using imaging::EscapeMarkup;

HtmlTable::HtmlTable(std::string heading, std::vector<std::string> columns)
    : heading_(std::move(heading)), columns_(std::move(columns)) {}

void HtmlTable::AddRow(const std::string& header, const std::vector<HtmlCell>& cells) {
  AddNamedRow(header, "", cells);
}

void HtmlTable::AddNamedRow(const std::string& header, const std::string& key,
                            const std::vector<HtmlCell>& cells) {
  absl::StrAppend(&rows_, "<tr><th scope=row>", EscapeMarkup(header));
  if (!key.empty()) absl::StrAppend(&rows_, "<br><code>", EscapeMarkup(key), "</code>");
  for (const auto& [text, style] : cells) {
    absl::StrAppend(&rows_, *style == '\0' ? "<td>" : absl::StrCat("<td class=", style, ">"),
                    EscapeMarkup(text));
  }
  rows_ += "</tr>\n";
}

std::string HtmlTable::Text() const {
  if (rows_.empty()) return "";
  std::string out = absl::StrCat("<h2>", EscapeMarkup(heading_), "</h2>\n<div class=table><table>");
  if (!columns_.empty()) {
    out += "<tr>";
    for (const std::string& column : columns_) {
      absl::StrAppend(&out, "<th scope=col>", EscapeMarkup(column));
    }
    out += "</tr>\n";
  }
  return absl::StrCat(out, rows_, "</table></div>\n");
}

}  // namespace isocenter::cli
