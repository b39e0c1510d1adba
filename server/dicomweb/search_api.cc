// QIDO-RS.
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "server/dicomweb/requests.h"
#include "server/dicomweb/routes.h"
#include "server/dicomweb/search_answer.h"
#include "server/dicomweb/search_request.h"
#include "server/http/transport/answers.h"

namespace isocenter::dicomweb {
namespace {

void TellKeys(const SearchRequest& search, int64_t matches, audit::Event& about) {
  about.matches = matches;
  for (const auto& [tag, value] : search.keys) {
    if (value.empty()) continue;
    about.query.push_back(
        absl::StrFormat("(%04x,%04x)=%s", tag >> 16 & 0xffff, tag & 0xffff, value));
  }
}

absl::StatusOr<http::Response> Search(archive::Catalog& catalog, dicom::Level level,
                                      const http::Call& call) {
  static const std::array<Form, 2> kForms = {Form{.type = kDicomJson},
                                             Form{.type = "application/json"}};
  ISO_ASSIGN_OR_RETURN(const Form form, FormFor(call.request, kForms));
  ISO_ASSIGN_OR_RETURN(const ObjectPath within, PathOf(call));
  ISO_ASSIGN_OR_RETURN(const SearchRequest search, ParseSearch(level, within, call.request));
  ISO_ASSIGN_OR_RETURN(const archive::ListingRequest wanted, ListingOf(search));
  SearchAnswer answer(search, BaseUrl(call.request));
  archive::Gap gap;
  ISO_RETURN_IF_ERROR(catalog.FindRows(
      wanted, [&](const auto& row) { answer.Add(row); }, gap));
  TellKeys(search, answer.rows(), call.about);
  http::Response response;
  response.Set("Content-Type", form.type);
  if (answer.has_more()) Warn("There are additional results that can be requested", response);
  if (search.wants_fuzzy_matching) {
    Warn("The fuzzymatching parameter is not supported. Only literal matching has been performed.",
         response);
  }
  if (!gap.empty()) Warn(absl::StrCat("Not all results are known: ", gap), response);
  response.body = answer.TakeText();
  if (call.request.AcceptsGzip()) http::Compress(response);
  return response;
}

}  // namespace

void AddSearchRoutes(const Environment& environment, http::Router& router) {
  using dicom::Level;
  static constexpr std::pair<const char*, Level> kSearches[] = {
      {"/studies", Level::kStudy},
      {"/series", Level::kSeries},
      {"/instances", Level::kImage},
      {"/studies/{}/series", Level::kSeries},
      {"/studies/{}/instances", Level::kImage},
      {"/studies/{}/series/{}/instances", Level::kImage}};
  for (const auto& [path, level] : kSearches) {
    router.Add(
        "GET", absl::StrCat(kRoot, path), environment.least,
        [&catalog = environment.catalog, level = level](const http::Call& call) {
          return Answered(Search(catalog, level, call));
        },
        audit::Action::kQuery);
  }
}

}  // namespace isocenter::dicomweb
