#include "server/traces/otlp.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace isocenter::traces {
namespace {

using Json = nlohmann::json;

// SPAN_KIND_INTERNAL, SPAN_KIND_SERVER, STATUS_CODE_ERROR of
// opentelemetry/proto/trace/v1/trace.proto.
constexpr int kInternal = 1, kServer = 2, kError = 2;

Json ToJson(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return {{"stringValue", *text}};
  // 64 bits are text in the JSON form of protocol buffers.
  if (const auto* number = std::get_if<int64_t>(&value))
    return {{"intValue", absl::StrCat(*number)}};
  return {{"doubleValue", std::get<double>(value)}};
}

Json ToJson(const std::vector<std::pair<std::string, Value>>& attributes) {
  Json array = Json::array();
  for (const auto& [key, value] : attributes) {
    array.push_back({{"key", key}, {"value", ToJson(value)}});
  }
  return array;
}

Json ToJson(const Span& span) {
  Json json = {{"traceId", span.trace_id},
               {"spanId", span.span_id},
               {"name", span.name},
               {"kind", span.is_request ? kServer : kInternal},
               {"startTimeUnixNano", absl::StrCat(absl::ToUnixNanos(span.begin))},
               {"endTimeUnixNano", absl::StrCat(absl::ToUnixNanos(span.end))},
               {"attributes", ToJson(span.attributes)}};
  if (!span.parent_span_id.empty()) json["parentSpanId"] = span.parent_span_id;
  if (!span.error.empty()) json["status"] = {{"code", kError}, {"message", span.error}};
  return json;
}

}  // namespace

std::string OtlpJson(const std::vector<std::pair<std::string, Value>>& resource,
                     const std::vector<Span>& spans) {
  Json all = Json::array();
  for (const Span& span : spans) all.push_back(ToJson(span));
  Json scope = {{"scope", {{"name", "isocenter"}}}, {"spans", std::move(all)}};
  Json of_resource = {{"resource", {{"attributes", ToJson(resource)}}},
                      {"scopeSpans", Json::array({std::move(scope)})}};
  const Json request = {{"resourceSpans", Json::array({std::move(of_resource)})}};
  // Names come from consoles: what is no UTF-8 must not end the exporter.
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace isocenter::traces
