// Spans as OpenTelemetry's protocol has them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/traces/span.h"

namespace isocenter::traces {

/// An ExportTraceServiceRequest of OTLP 1.x in its JSON form, with `resource` ("service.name", ...)
/// as the attributes of what the spans are of.
std::string OtlpJson(const std::vector<std::pair<std::string, Value>>& resource,
                     const std::vector<Span>& spans);

}  // namespace isocenter::traces
