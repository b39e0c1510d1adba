// WADO-RS: studies, series and instances as they are stored.
#include <memory>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/dicomweb/file_answer.h"
#include "server/dicomweb/requests.h"
#include "server/dicomweb/routes.h"
#include "server/dicomweb/stored_instances.h"

namespace isocenter::dicomweb {
namespace {

absl::StatusOr<std::vector<FilePart>> PartsOf(const std::vector<StoredInstance>& instances,
                                              absl::string_view base) {
  std::vector<FilePart> parts;
  for (const StoredInstance& instance : instances) {
    std::error_code error;
    const auto bytes = static_cast<int64_t>(std::filesystem::file_size(instance.file, error));
    if (error) {  // its job was deleted meanwhile
      return absl::NotFoundError(
          absl::StrCat("instance ", instance.path.instance, " is not stored any more"));
    }
    parts.push_back(
        {.file = instance.file, .bytes = bytes, .location = UrlOf(base, instance.path)});
  }
  return parts;
}

class ObjectApi {
 public:
  explicit ObjectApi(archive::Catalog& catalog) : catalog_(catalog) {}

  absl::StatusOr<http::Response> Answer(const http::Call& call) {
    ISO_ASSIGN_OR_RETURN(const ObjectPath path, PathOf(call));
    ISO_RETURN_IF_ERROR(CheckParameters(call.request, {}));
    std::vector<Form> forms = {
        {.type = kDicom, .multipart = true, .transfer_syntax = kExplicitLittleEndian}};
    if (!path.instance.empty()) {
      forms.push_back({.type = kDicom, .transfer_syntax = kExplicitLittleEndian});
    }
    ISO_ASSIGN_OR_RETURN(const Form form, FormFor(call.request, forms));
    archive::Gap gap;
    ISO_ASSIGN_OR_RETURN(const auto instances, FindStored(catalog_, path, gap));
    TellAudit(instances, call.about);
    ISO_ASSIGN_OR_RETURN(const std::vector<FilePart> parts,
                         PartsOf(instances, BaseUrl(call.request)));
    ISO_ASSIGN_OR_RETURN(http::Response response, files_.Make(form, parts));
    TellGap(gap, response);
    spdlog::info("event=dicomweb_retrieval instances={} bytes={} by=\"{}\"", parts.size(),
                 *response.long_body->bytes(), call.caller.name);
    return response;
  }

 private:
  archive::Catalog& catalog_;
  FileAnswers files_;
};

}  // namespace

void AddObjectRoutes(const Environment& environment, http::Router& router) {
  const auto api = std::make_shared<ObjectApi>(environment.catalog);
  for (const char* path :
       {"/studies/{}", "/studies/{}/series/{}", "/studies/{}/series/{}/instances/{}"}) {
    router.Add(
        "GET", absl::StrCat(kRoot, path), environment.least,
        [api](const http::Call& call) { return Answered(api->Answer(call)); },
        audit::Action::kRetrieve);
  }
}

}  // namespace isocenter::dicomweb
