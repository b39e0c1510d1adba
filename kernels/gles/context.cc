#include "kernels/gles/context.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <dlfcn.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "kernels/base/status_macros.h"

namespace isocenter::gles {
namespace {

constexpr char kLibrary[] = "libEGL.so.1";

absl::Status Missing(const std::string& what) {
  return absl::UnavailableError(absl::StrCat("no graphics device: ", what));
}

}  // namespace

struct Context::Egl {
  decltype(&eglGetProcAddress) get = nullptr;
  decltype(&eglMakeCurrent) make_current = nullptr;
  decltype(&eglDestroyContext) destroy = nullptr;
  EGLDisplay display = EGL_NO_DISPLAY;
  EGLContext context = EGL_NO_CONTEXT;

  template <class Function>
  Function Find(const char* name) const {
    return reinterpret_cast<Function>(get(name));
  }
};

Context::Context() : egl_(std::make_unique<Egl>()) {}

Context::~Context() {
  // The display stays: others of this process have it, too.
  if (egl_->context != EGL_NO_CONTEXT) egl_->destroy(egl_->display, egl_->context);
}

absl::StatusOr<std::unique_ptr<Context>> Context::Create() {
  std::unique_ptr<Context> context(new Context);
  ISO_RETURN_IF_ERROR(context->Open());
  ISO_RETURN_IF_ERROR(context->FindFunctions());
  const Current current(*context);
  ISO_RETURN_IF_ERROR(context->CheckDriver());
  return context;
}

absl::Status Context::Open() {
  // Never closed: drivers leave threads and handlers behind.
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Missing(absl::StrCat("there is no ", kLibrary));
  egl_->get = reinterpret_cast<decltype(&eglGetProcAddress)>(dlsym(library, "eglGetProcAddress"));
  if (egl_->get == nullptr) return Missing(absl::StrCat(kLibrary, " has no eglGetProcAddress"));
  const auto get_display = egl_->Find<PFNEGLGETPLATFORMDISPLAYEXTPROC>("eglGetPlatformDisplayEXT");
  const auto initialize = egl_->Find<decltype(&eglInitialize)>("eglInitialize");
  const auto bind = egl_->Find<decltype(&eglBindAPI)>("eglBindAPI");
  const auto create = egl_->Find<decltype(&eglCreateContext)>("eglCreateContext");
  egl_->make_current = egl_->Find<decltype(&eglMakeCurrent)>("eglMakeCurrent");
  egl_->destroy = egl_->Find<decltype(&eglDestroyContext)>("eglDestroyContext");
  if (get_display == nullptr || initialize == nullptr || bind == nullptr || create == nullptr ||
      egl_->make_current == nullptr || egl_->destroy == nullptr) {
    return Missing("EGL lacks EGL_EXT_platform_base or EGL_KHR_get_all_proc_addresses");
  }
  egl_->display = get_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
  if (egl_->display == EGL_NO_DISPLAY || initialize(egl_->display, nullptr, nullptr) != EGL_TRUE) {
    return Missing("EGL has no surfaceless display (EGL_MESA_platform_surfaceless)");
  }
  const EGLint attributes[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 1,
                               EGL_NONE};
  bind(EGL_OPENGL_ES_API);
  egl_->context = create(egl_->display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes);
  if (egl_->context == EGL_NO_CONTEXT) {
    return Missing("the driver has no OpenGL ES 3.1, or no EGL_KHR_no_config_context");
  }
  return absl::OkStatus();
}

absl::Status Context::FindFunctions() {
  std::vector<const char*> missing;
#define ISOCENTER_GLES_FIND(name)                           \
  gl_.name = egl_->Find<decltype(&::gl##name)>("gl" #name); \
  if (gl_.name == nullptr) missing.push_back("gl" #name);
  ISOCENTER_GLES_FUNCTIONS(ISOCENTER_GLES_FIND)
#undef ISOCENTER_GLES_FIND
  if (missing.empty()) return absl::OkStatus();
  return Missing(absl::StrCat("the driver lacks ", absl::StrJoin(missing, ", ")));
}

absl::Status Context::CheckDriver() {
  const auto text = [&](GLenum name) {
    const auto* found = reinterpret_cast<const char*>(gl_.GetString(name));
    return std::string(found == nullptr ? "" : found);
  };
  renderer_ = text(GL_RENDERER);
  extensions_ = text(GL_EXTENSIONS);
  std::vector<absl::string_view> missing;
  for (const absl::string_view needed :
       {"GL_OES_texture_float_linear", "GL_EXT_color_buffer_float"}) {
    if (!Has(needed)) missing.push_back(needed);
  }
  if (!missing.empty()) {
    return Missing(absl::StrCat(renderer_, " lacks ", absl::StrJoin(missing, ", ")));
  }
  gl_.GetIntegerv(GL_MAX_TEXTURE_SIZE, &largest_texture_);
  GLint bytes = 0, alignment = 1;
  gl_.GetIntegerv(GL_MAX_SHADER_STORAGE_BLOCK_SIZE, &bytes);
  gl_.GetIntegerv(GL_SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT, &alignment);
  largest_binding_ = bytes;
  binding_alignment_ = alignment;
  return Check("asking the driver");
}

bool Context::Has(absl::string_view extension) const {
  const std::vector<absl::string_view> all = absl::StrSplit(extensions_, ' ');
  return std::find(all.begin(), all.end(), extension) != all.end();
}

absl::Status Context::Needs(absl::string_view extension) const {
  if (Has(extension)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(renderer_, " lacks ", extension));
}

absl::Status Context::Check(const char* what) const {
  const GLenum error = gl_.GetError();
  if (error == GL_NO_ERROR) return absl::OkStatus();
  const std::string message = absl::StrCat(renderer_, ": ", what, " failed, error ", error);
  return error == GL_OUT_OF_MEMORY ? absl::ResourceExhaustedError(message)
                                   : absl::InternalError(message);
}

Context::Current::Current(const Context& context) : context_(context) {
  if (context.users_++ > 0) return;
  const Egl& egl = *context.egl_;
  egl.make_current(egl.display, EGL_NO_SURFACE, EGL_NO_SURFACE, egl.context);
}

Context::Current::~Current() {
  if (--context_.users_ > 0) return;
  const Egl& egl = *context_.egl_;
  egl.make_current(egl.display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
}

}  // namespace isocenter::gles
