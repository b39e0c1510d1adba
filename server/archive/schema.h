// The tables of the index, version by version. Described in docs/formats/archive.md.
#pragma once

#include <span>

namespace isocenter::archive {

/// Scripts that lead from schema version i to i + 1. Published scripts are never changed; a change
/// of the schema is a new script at the end.
std::span<const char* const> SchemaMigrations();

}  // namespace isocenter::archive
