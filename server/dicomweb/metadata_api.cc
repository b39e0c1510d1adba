// WADO-RS: the attributes of stored instances without their pixels.
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/objects/stored_object.h"
#include "server/dicomweb/requests.h"
#include "server/dicomweb/routes.h"
#include "server/dicomweb/stored_instances.h"
#include "server/http/places.h"
#include "server/http/transport/answers.h"

namespace isocenter::dicomweb {
namespace {

// At once, of answers that are made while they are sent: each parses files of a whole series.
constexpr int kMostLong = 4;

/// An array with an object for each instance, some instances at a time.
class MetadataBody : public http::Body {
 public:
  MetadataBody(std::vector<StoredInstance> instances, std::string base)
      : instances_(std::move(instances)), base_(std::move(base)) {}

  std::optional<int64_t> bytes() const override { return std::nullopt; }
  absl::StatusOr<std::string> Next() override {
    if (!first_.empty()) return std::exchange(first_, {});
    return Make();
  }

  /// Makes the first piece, so that what is wrong can still be told. Whether it is all.
  absl::StatusOr<bool> Begin() {
    ISO_ASSIGN_OR_RETURN(first_, Make());
    return next_ == instances_.size();
  }
  void Hold(std::shared_ptr<void> place) { place_ = std::move(place); }

 private:
  absl::StatusOr<std::string> Make() {
    constexpr size_t kPieceBytes = 256 << 10;
    std::string piece;
    while (next_ < instances_.size() && piece.size() < kPieceBytes) {
      const StoredInstance& instance = instances_[next_];
      ISO_ASSIGN_OR_RETURN(
          const std::string object,
          dicom::MetadataOf(instance.file,
                            absl::StrCat(UrlOf(base_, instance.path), "/bulkdata/7FE00010")));
      absl::StrAppend(&piece, next_ == 0 ? "[" : ",", object,
                      next_ + 1 == instances_.size() ? "]" : "");
      ++next_;
    }
    return piece;
  }

  const std::vector<StoredInstance> instances_;
  const std::string base_;
  std::string first_;
  std::shared_ptr<void> place_;
  size_t next_ = 0;
};

class MetadataApi {
 public:
  explicit MetadataApi(archive::Catalog& catalog) : catalog_(catalog) {}

  absl::StatusOr<http::Response> Answer(const http::Call& call) {
    static const std::array<Form, 2> kForms = {Form{.type = kDicomJson},
                                               Form{.type = "application/json"}};
    ISO_ASSIGN_OR_RETURN(const ObjectPath path, PathOf(call));
    ISO_RETURN_IF_ERROR(CheckParameters(call.request, {}));
    ISO_ASSIGN_OR_RETURN(const Form form, FormFor(call.request, kForms));
    archive::Gap gap;
    ISO_ASSIGN_OR_RETURN(auto instances, FindStored(catalog_, path, gap));
    TellAudit(instances, call.about);
    auto body = std::make_shared<MetadataBody>(std::move(instances), BaseUrl(call.request));
    ISO_ASSIGN_OR_RETURN(const bool is_all, body->Begin());
    http::Response response;
    response.Set("Content-Type", form.type);
    TellGap(gap, response);
    if (!is_all) {
      ISO_ASSIGN_OR_RETURN(std::shared_ptr<void> place, places_.Take());
      body->Hold(std::move(place));
      response.long_body = std::move(body);
      return response;
    }
    ISO_ASSIGN_OR_RETURN(response.body, body->Next());
    if (call.request.AcceptsGzip()) http::Compress(response);
    return response;
  }

 private:
  archive::Catalog& catalog_;
  http::Places places_{kMostLong, "metadata of many instances"};
};

}  // namespace

void AddMetadataRoutes(const Environment& environment, http::Router& router) {
  const auto api = std::make_shared<MetadataApi>(environment.catalog);
  for (const char* path : {"/studies/{}/metadata", "/studies/{}/series/{}/metadata",
                           "/studies/{}/series/{}/instances/{}/metadata"}) {
    router.Add(
        "GET", absl::StrCat(kRoot, path), environment.least,
        [api](const http::Call& call) { return Answered(api->Answer(call)); },
        audit::Action::kView);
  }
}

}  // namespace isocenter::dicomweb
