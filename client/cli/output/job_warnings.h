// What a job is warned of, by kinds.
#pragma once

#include <string>
#include <vector>

#include "isocenter/v1/jobs.pb.h"

namespace isocenter::cli {

/// "air_level"; "unknown" for a kind of a newer server.
std::string KindName(v1::WarningKind kind);
/// Each kind of a job's warnings once, the worst first (docs/troubleshooting.md has that order).
std::vector<v1::WarningKind> KindsOf(const v1::Job& job);
/// Those of them that say of the volume, which there is or is going to be, that it may be wrong;
/// others are of the acquisition's course.
std::vector<v1::WarningKind> DoubtsOf(const v1::Job& job);
/// For a cell of a table: "", "frame gap", "may be wrong: air level (3 warnings)".
std::string WarningNote(const v1::Job& job);

}  // namespace isocenter::cli
