// WADO-RS: frames, and the pixels that metadata refer to.
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/objects/stored_object.h"
#include "server/dicomweb/file_answer.h"
#include "server/dicomweb/frame_list.h"
#include "server/dicomweb/requests.h"
#include "server/dicomweb/routes.h"
#include "server/dicomweb/stored_instances.h"

namespace isocenter::dicomweb {
namespace {

std::vector<Form> FormsOf(size_t parts) {
  std::vector<Form> forms = {
      {.type = kOctetStream, .multipart = true, .transfer_syntax = kExplicitLittleEndian}};
  if (parts == 1) forms.push_back({.type = kOctetStream, .transfer_syntax = kExplicitLittleEndian});
  return forms;
}

class PixelApi {
 public:
  explicit PixelApi(archive::Catalog& catalog) : catalog_(catalog) {}

  absl::StatusOr<http::Response> Frames(const http::Call& call) {
    ISO_ASSIGN_OR_RETURN(const Opened opened, Open(call));
    ISO_ASSIGN_OR_RETURN(const std::vector<int> frames,
                         ParseFrames(call.arguments[3], opened.layout.frames));
    std::vector<FilePart> parts;
    for (const int frame : frames) {
      parts.push_back({.file = opened.instance.file,
                       .offset = opened.layout.offset + (frame - 1) * opened.layout.frame_bytes,
                       .bytes = opened.layout.frame_bytes,
                       .location = absl::StrCat(opened.url, "/frames/", frame)});
    }
    return Make(call, parts);
  }

  absl::StatusOr<http::Response> BulkData(const http::Call& call) {
    constexpr char kPixelData[] = "7FE00010";
    if (call.arguments[3] != kPixelData) {
      return absl::NotFoundError(absl::StrCat("there are no bulk data ",
                                              call.arguments[3].substr(0, 64), "; legal is ",
                                              kPixelData, ", as metadata name it"));
    }
    ISO_ASSIGN_OR_RETURN(const Opened opened, Open(call));
    return Make(call, {{.file = opened.instance.file,
                        .offset = opened.layout.offset,
                        .bytes = opened.layout.frames * opened.layout.frame_bytes,
                        .location = absl::StrCat(opened.url, "/bulkdata/", kPixelData)}});
  }

 private:
  struct Opened {
    StoredInstance instance;
    dicom::PixelLayout layout;
    std::string url;
  };

  absl::StatusOr<Opened> Open(const http::Call& call) {
    ISO_ASSIGN_OR_RETURN(const ObjectPath path, PathOf(call));
    ISO_RETURN_IF_ERROR(CheckParameters(call.request, {}));
    Opened opened;
    ISO_ASSIGN_OR_RETURN(opened.instance, FindOne(catalog_, path));
    ISO_ASSIGN_OR_RETURN(opened.layout, dicom::ReadPixelLayout(opened.instance.file));
    opened.url = UrlOf(BaseUrl(call.request), path);
    TellAudit({opened.instance}, call.about);
    return opened;
  }

  absl::StatusOr<http::Response> Make(const http::Call& call, const std::vector<FilePart>& parts) {
    ISO_ASSIGN_OR_RETURN(const Form form, FormFor(call.request, FormsOf(parts.size())));
    return files_.Make(form, parts);
  }

  archive::Catalog& catalog_;
  FileAnswers files_;
};

}  // namespace

void AddPixelRoutes(const Environment& environment, http::Router& router) {
  const auto api = std::make_shared<PixelApi>(environment.catalog);
  const std::string instance = absl::StrCat(kRoot, "/studies/{}/series/{}/instances/{}");
  router.Add(
      "GET", instance + "/frames/{}", environment.least,
      [api](const http::Call& call) { return Answered(api->Frames(call)); }, audit::Action::kView);
  router.Add(
      "GET", instance + "/bulkdata/{}", environment.least,
      [api](const http::Call& call) { return Answered(api->BulkData(call)); },
      audit::Action::kView);
}

}  // namespace isocenter::dicomweb
