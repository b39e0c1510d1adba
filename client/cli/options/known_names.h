// Names that the service knows, for completion by the shell.
#pragma once

namespace isocenter::cli {

/// How completion scripts ask: `isocenter __names KIND [--server ADDRESS ..]`.
inline constexpr char kNamesCommand[] = "__names";

/// Prints the names of a kind, one a line: job, protocol, station, calibration, or destination (of
/// what was sent lately). `arguments` begin with kNamesCommand. Nobody waits for a completion:
/// prints nothing where the service has not answered within a second. The exit code, which is 0.
int PrintKnownNames(int count, const char* const* arguments);

}  // namespace isocenter::cli
