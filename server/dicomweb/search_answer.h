// What a search has found, in the DICOM JSON Model. Source: DICOM PS3.18, annex F.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/dicomweb/search_request.h"

namespace isocenter::dicomweb {

/// An array with an object for each row, whose values are those of `search.returned`. `base`: see
/// BaseUrl().
std::string SearchAnswer(const SearchRequest& search,
                         const std::vector<std::vector<std::string>>& rows, absl::string_view base);

}  // namespace isocenter::dicomweb
