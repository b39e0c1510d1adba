#include "server/traces/trace_context.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/crypto/digests.h"

namespace isocenter::traces {
namespace {

constexpr size_t kLength = 55;

// The Recommendation has lower case only.
bool IsHex(absl::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsZero(absl::string_view text) { return text.find_first_not_of('0') == text.npos; }

}  // namespace

std::optional<TraceContext> ParseTraceParent(absl::string_view text) {
  if (text.size() < kLength) return std::nullopt;
  const absl::string_view version = text.substr(0, 2), trace = text.substr(3, 32),
                          span = text.substr(36, 16), flags = text.substr(53, 2);
  if (!IsHex(version) || !IsHex(trace) || !IsHex(span) || !IsHex(flags)) return std::nullopt;
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  // Later versions may go on behind another dash.
  if (version == "ff" || (version == "00" && text.size() != kLength)) return std::nullopt;
  if (text.size() > kLength && text[kLength] != '-') return std::nullopt;
  if (IsZero(trace) || IsZero(span)) return std::nullopt;
  uint32_t bits = 0;
  if (!absl::SimpleHexAtoi(flags, &bits)) return std::nullopt;
  return TraceContext{
      .trace_id = std::string(trace), .span_id = std::string(span), .sampled = (bits & 1) != 0};
}

std::string TraceParent(const TraceContext& context) {
  return absl::StrCat("00-", context.trace_id, "-", context.span_id,
                      context.sampled ? "-01" : "-00");
}

std::string JobSpanId(absl::string_view job_id) {
  return crypto::Sha256Hex(absl::StrCat("span of job ", job_id)).substr(0, 16);
}

std::string TraceParentOf(absl::string_view job_id, absl::string_view told, double ratio) {
  if (const auto context = ParseTraceParent(told)) return TraceParent(*context);
  const std::string digest = crypto::Sha256Hex(absl::StrCat("trace of job ", job_id));
  uint64_t draw = 0;
  (void)absl::SimpleHexAtoi(digest.substr(32, 13), &draw);  // 52 bits
  return TraceParent({.trace_id = digest.substr(0, 32),
                      .span_id = JobSpanId(job_id),
                      .sampled = std::ldexp(static_cast<double>(draw), -52) < ratio});
}

}  // namespace isocenter::traces
