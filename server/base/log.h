// The log: spdlog. Everybody includes it by this file.
#pragma once

#include <string>

#include "spdlog/spdlog.h"

// libfmt.so holds fmt's formatter for all types. Without this line every file that logs compiles it
// once more, for four seconds.
#if FMT_VERSION >= 90000 && FMT_VERSION < 100000
extern template void fmt::detail::vformat_to<char>(
    fmt::detail::buffer<char>&, fmt::basic_string_view<char>,
    fmt::basic_format_args<fmt::buffer_context<char>>, fmt::detail::locale_ref);
#endif

namespace isocenter {

/// How every line of the log is written: "time=... level=... " and the event. What others have sent
/// may stand in an event, but cannot begin a line or move a terminal's cursor: control characters
/// become \xNN.
std::unique_ptr<spdlog::formatter> LogFormatter();

/// From now on the log goes to the standard error. `level`: trace, debug, info, warn, err or
/// critical.
void StartLog(const std::string& level);

}  // namespace isocenter
