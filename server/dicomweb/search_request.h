// A search as its address says it. Source: DICOM PS3.18, 8.3.4 and 10.6.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/archive/listing.h"
#include "server/dicom/scp/query.h"
#include "server/dicomweb/requests.h"
#include "server/dicomweb/search_attributes.h"
#include "server/http/transport/http.h"

namespace isocenter::dicomweb {

struct SearchRequest {
  /// More are not answered at once; the client goes on with `offset`.
  static constexpr int kMostResults = 1000;
  static constexpr int64_t kLargestOffset = 1'000'000'000;

  dicom::Level level = dicom::Level::kStudy;
  dicom::KeyValues keys;                         // that are matched, without the level
  std::vector<const SearchAttribute*> returned;  // in the order of SearchAttributes()
  int limit = kMostResults;
  int64_t offset = 0;
  bool wants_fuzzy_matching = false;  // of names, which there is not
};

/// The search for objects of `level` within those that `within` names. Takes matching keys by
/// keyword or tag, includefield, limit, offset and fuzzymatching. Errors are INVALID_ARGUMENT with
/// the parameter, its value and what is legal.
absl::StatusOr<SearchRequest> ParseSearch(dicom::Level level, const ObjectPath& within,
                                          const http::Request& request);

/// What the index is asked for it; one row more than the limit, so that it shows whether there are
/// more.
absl::StatusOr<archive::ListingRequest> ListingOf(const SearchRequest& search);

}  // namespace isocenter::dicomweb
