// The values of listings as SQL, and their order: what SQLite and PostgreSQL have in common.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/archive/dialect.h"
#include "server/archive/listing.h"

namespace isocenter::archive {

/// The value of a field over patients p, studies s, series r and instances i.
std::string ColumnOf(Field field, const Dialect& dialect = {});

/// INVALID_ARGUMENT: a request asks for a field of a level below its own.
absl::Status CheckLevels(const ListingRequest& request);

/// " ORDER BY ...": newest studies first, their series by number, instances in slice order.
std::string OrderOf(ListingLevel level);

}  // namespace isocenter::archive
