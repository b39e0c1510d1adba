// WADO-RS: frames as pictures.
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "proto/images/png.h"
#include "server/dicom/objects/stored_object.h"
#include "server/dicomweb/frame_list.h"
#include "server/dicomweb/requests.h"
#include "server/dicomweb/routes.h"
#include "server/dicomweb/stored_instances.h"
#include "server/dicomweb/window.h"
#include "server/viewer/raw_volume.h"

namespace isocenter::dicomweb {
namespace {

constexpr char kWindow[] = "window";

/// Reads one frame, counted from one, and gives each of its values a shade.
absl::StatusOr<images::GrayImage> Render(const std::filesystem::path& path,
                                         const dicom::PixelLayout& layout, int frame,
                                         const dicom::Presentation& presentation,
                                         const Window& window) {
  std::vector<int16_t> values(static_cast<size_t>(layout.rows) * layout.columns);
  ISO_ASSIGN_OR_RETURN(const viewer::InputFile file, viewer::InputFile::Open(path));
  ISO_RETURN_IF_ERROR(file.ReadAt(layout.offset + (frame - 1) * layout.frame_bytes,
                                  std::as_writable_bytes(std::span(values))));
  images::GrayImage image(layout.columns, layout.rows, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    const double stored = layout.is_signed ? values[i] : static_cast<uint16_t>(values[i]);
    image.pixels[i] = ShadeOf(window, stored * presentation.slope + presentation.intercept);
  }
  return image;
}

/// The frame that a path means: its last part, or the only one of the instance.
absl::StatusOr<int> FrameOf(const http::Call& call, const dicom::PixelLayout& layout) {
  if (call.arguments.size() < 4) {
    if (layout.frames == 1) return 1;
    return absl::InvalidArgumentError(absl::StrCat(
        "the instance has ", layout.frames, " frames; legal are /frames/1/rendered to /frames/",
        layout.frames, "/rendered"));
  }
  ISO_ASSIGN_OR_RETURN(const std::vector<int> frames,
                       ParseFrames(call.arguments[3], layout.frames));
  if (frames.size() == 1) return frames.front();
  return absl::InvalidArgumentError(
      absl::StrCat(frames.size(), " frames are asked for; legal is one for each picture"));
}

absl::StatusOr<http::Response> Answer(archive::Catalog& catalog, const http::Call& call) {
  static const std::array<Form, 1> kForms = {Form{.type = "image/png"}};
  ISO_ASSIGN_OR_RETURN(const ObjectPath path, PathOf(call));
  ISO_RETURN_IF_ERROR(CheckParameters(call.request, {kWindow}));
  ISO_ASSIGN_OR_RETURN(const Form form, FormFor(call.request, kForms));
  std::optional<Window> window;
  if (const auto text = call.request.Parameter(kWindow)) {
    ISO_ASSIGN_OR_RETURN(window, ParseWindow(*text));
  }
  ISO_ASSIGN_OR_RETURN(const StoredInstance instance, FindOne(catalog, path));
  ISO_ASSIGN_OR_RETURN(const dicom::PixelLayout layout, dicom::ReadPixelLayout(instance.file));
  ISO_ASSIGN_OR_RETURN(const int frame, FrameOf(call, layout));
  ISO_ASSIGN_OR_RETURN(const dicom::Presentation presentation,
                       dicom::ReadPresentation(instance.file));
  if (!window) {
    window = Window{.center = presentation.window_center, .width = presentation.window_width};
  }
  TellAudit({instance}, call.about);
  ISO_ASSIGN_OR_RETURN(const images::GrayImage image,
                       Render(instance.file, layout, frame, presentation, *window));
  http::Response response;
  response.Set("Content-Type", form.type);
  ISO_ASSIGN_OR_RETURN(response.body, images::EncodePng(image));
  return response;
}

}  // namespace

void AddRenderedRoutes(const Environment& environment, http::Router& router) {
  const std::string instance = absl::StrCat(kRoot, "/studies/{}/series/{}/instances/{}");
  for (const char* rest : {"/rendered", "/frames/{}/rendered"}) {
    router.Add(
        "GET", instance + rest, environment.least,
        [&catalog = environment.catalog](const http::Call& call) {
          return Answered(Answer(catalog, call));
        },
        audit::Action::kView);
  }
}

}  // namespace isocenter::dicomweb
