// What a client of DICOMweb sends: the parameters of a search, an Accept header, a list of frames,
// a window and a UID, up to a NUL each; the search's first byte is its level.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "server/dicomweb/frame_list.h"
#include "server/dicomweb/media_types.h"
#include "server/dicomweb/search_answer.h"
#include "server/dicomweb/search_request.h"
#include "server/dicomweb/window.h"
#include "server/http/transport/http.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

namespace {

void Search(dicom::Level level, const http::Request& request) {
  const auto search = dicomweb::ParseSearch(level, {}, request);
  if (!search.ok()) return;
  fuzz::Require(search->limit >= 1 && search->limit <= dicomweb::SearchRequest::kMostResults &&
                    search->offset >= 0 &&
                    search->offset <= dicomweb::SearchRequest::kLargestOffset,
                "pages are bounded");
  const auto listing = dicomweb::ListingOf(*search);
  fuzz::Require(listing.ok(), "what is parsed can be asked");
  for (const archive::Field field : listing->fields) {
    fuzz::Require(archive::LevelOf(field) <= listing->level, "fields are of the level or above");
  }
  for (const archive::FieldCondition& condition : listing->conditions) {
    (void)condition.accepts("CT,XA");
  }
  const std::vector<std::string> row(search->returned.size(), "1");
  dicomweb::SearchAnswer answer(*search, dicomweb::BaseUrl(request));
  answer.Add(row);
  (void)answer.TakeText();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const absl::string_view text = input.TakeText();
  http::Request request;
  request.headers["host"] = std::string(input.TakeText());
  if (auto query = http::ParseQuery(text.substr(text.empty() ? 0 : 1))) {
    request.query = *std::move(query);
    constexpr dicom::Level kLevels[] = {dicom::Level::kStudy, dicom::Level::kSeries,
                                        dicom::Level::kImage};
    Search(kLevels[text.empty() ? 0 : static_cast<unsigned char>(text[0]) % 3], request);
  }
  if (const auto accepted = dicomweb::ParseAccept(input.TakeText()); accepted.ok()) {
    const std::vector<dicomweb::Form> forms = {
        {.type = "application/dicom", .multipart = true, .transfer_syntax = "1.2"},
        {.type = "application/dicom+json"}};
    (void)dicomweb::Choose(*accepted, forms);
  }
  if (const auto frames = dicomweb::ParseFrames(input.TakeText(), 100); frames.ok()) {
    fuzz::Require(!frames->empty() && frames->size() <= 100, "each frame once");
    for (const int frame : *frames) fuzz::Require(frame >= 1 && frame <= 100, "1 to 100 is legal");
  }
  if (const auto window = dicomweb::ParseWindow(input.TakeText()); window.ok()) {
    fuzz::Require(dicomweb::ShadeOf(*window, -2e6) <= dicomweb::ShadeOf(*window, 2e6),
                  "more is not darker");
  }
  const std::string uid(input.TakeRest());
  const bool is_uid = dicomweb::CheckUid("UID", uid).ok();
  fuzz::Require(!is_uid || uid.find_first_not_of("0123456789.") == std::string::npos,
                "a UID has digits and dots");
  return 0;
}
