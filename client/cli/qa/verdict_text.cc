#include "client/cli/qa/verdict_text.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/table.h"

namespace isocenter::cli {
namespace {

using quality::LimitVerdict;
using quality::Measure;
using quality::Verdict;

/// What is said of a verdict in the table.
const char* WordFor(const Verdict& verdict) {
  if (!verdict.not_comparable.empty()) return "NOT COMPARABLE";
  return verdict.passed() ? "passed" : "NOT PASSED";
}

}  // namespace

std::string FigureTable(const std::vector<Measure>& measures,
                        const std::vector<Verdict>& verdicts) {
  std::vector<TableRow> rows = {{"FIGURE", "VALUE"}};
  if (!verdicts.empty()) rows = {{"FIGURE", "VALUE", "BASELINE", "TOLERANCE", "VERDICT"}};
  for (const Measure& measure : measures) {
    TableRow& row =
        rows.emplace_back(TableRow{measure.name, absl::StrFormat("%.5g", measure.value)});
    if (verdicts.empty()) continue;
    const auto verdict = std::ranges::find(verdicts, measure.name, &Verdict::name);
    if (verdict == verdicts.end()) {
      row.insert(row.end(), {"", "", ""});
      continue;
    }
    row.push_back(absl::StrFormat("%.5g", verdict->baseline));
    row.push_back(absl::StrFormat("%.3g", verdict->tolerance));
    row.push_back(WordFor(*verdict));
  }
  for (const Verdict& verdict : verdicts) {
    if (verdict.value) continue;
    rows.push_back({verdict.name, "", absl::StrFormat("%.5g", verdict.baseline),
                    absl::StrFormat("%.3g", verdict.tolerance), "NOT MEASURED"});
  }
  return FormatTable(rows);
}

std::string LimitTable(const std::vector<LimitVerdict>& verdicts) {
  const auto side = [](const std::optional<double>& bound) {
    return bound ? absl::StrFormat("%.5g", *bound) : std::string("-");
  };
  std::vector<TableRow> rows = {{"LIMIT OF", "VALUE", "MIN", "MAX", "VERDICT"}};
  for (const LimitVerdict& verdict : verdicts) {
    rows.push_back({verdict.limit.name, side(verdict.value), side(verdict.limit.least),
                    side(verdict.limit.most),
                    verdict.passed() ? "passed"
                    : verdict.value  ? "NOT PASSED"
                                     : "NOT MEASURED"});
  }
  return FormatTable(rows);
}

std::string ConstancyText(const std::vector<Verdict>& verdicts) {
  std::vector<std::string> failed, not_comparable;
  for (const Verdict& verdict : verdicts) {
    if (verdict.passed()) continue;
    (verdict.not_comparable.empty() ? failed : not_comparable).push_back(verdict.name);
  }
  if (failed.empty() && not_comparable.empty()) return "";
  std::string text = "the constancy test is not passed: ";
  if (!failed.empty()) {
    absl::StrAppend(&text, failed.size(), " of ", verdicts.size(),
                    " figures are beyond their tolerance: ", absl::StrJoin(failed, ", "));
  }
  if (!not_comparable.empty()) {
    absl::StrAppend(
        &text, failed.empty() ? "" : "; ", not_comparable.size(), " of ", verdicts.size(),
        " are not comparable, under other conditions: ", absl::StrJoin(not_comparable, ", "));
  }
  return text;
}

std::string LimitsText(const std::vector<LimitVerdict>& verdicts) {
  std::vector<std::string> failed;
  for (const LimitVerdict& verdict : verdicts) {
    if (!verdict.passed()) failed.push_back(verdict.limit.name);
  }
  if (failed.empty()) return "";
  return absl::StrCat(failed.size(), " of ", verdicts.size(),
                      " limits are not kept: ", absl::StrJoin(failed, ", "));
}

}  // namespace isocenter::cli
