// Tables of a report that is one HTML file.
#pragma once

#include <string>
#include <vector>

namespace isocenter::cli {

struct HtmlCell {
  std::string text;        // as it is read; marked up here
  const char* style = "";  // a class of the report's: "n" for numbers, "pass", "fail"; "": none
};

/// A heading and the rows below it; without rows nothing. Each row begins with its header.
class HtmlTable {
 public:
  /// `columns`: heads of the columns, that of the rows' headers first; empty: none.
  HtmlTable(std::string heading, std::vector<std::string> columns);
  void AddRow(const std::string& header, const std::vector<HtmlCell>& cells);
  /// As AddRow, with the name that files and programs have for it below the header.
  void AddNamedRow(const std::string& header, const std::string& key,
                   const std::vector<HtmlCell>& cells);
  /// The markup. On a page that is narrower the table scrolls, and not the page.
  std::string Text() const;

 private:
  const std::string heading_;
  const std::vector<std::string> columns_;
  std::string rows_;
};

}  // namespace isocenter::cli
