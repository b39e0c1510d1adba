#include "kernels/cuda/fdk/fft_plan.h"

#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/device/status.h"

namespace isocenter::cuda {

struct CufftLibrary {
  decltype(&cufftPlan1d) plan_1d;
  decltype(&cufftSetStream) set_stream;
  decltype(&cufftExecR2C) exec_r2c;
  decltype(&cufftExecC2R) exec_c2r;
  decltype(&cufftDestroy) destroy;
};

namespace {

absl::StatusOr<CufftLibrary> Open() {
  const std::string name = absl::StrCat("libcufft.so.", CUFFT_VER_MAJOR);
  void* handle = nullptr;
  std::string reason;
  // The loader's own places, then where NVIDIA's packages put it.
  for (const std::string& path : {name, absl::StrCat("/usr/local/cuda/lib64/", name)}) {
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) break;
    if (reason.empty()) reason = dlerror();
  }
  CufftLibrary library = {};
  const auto find = [handle](const char* symbol, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, symbol));
    return function != nullptr;
  };
  if (handle == nullptr || !find("cufftPlan1d", library.plan_1d) ||
      !find("cufftSetStream", library.set_stream) || !find("cufftExecR2C", library.exec_r2c) ||
      !find("cufftExecC2R", library.exec_c2r) || !find("cufftDestroy", library.destroy)) {
    return absl::FailedPreconditionError(
        absl::StrCat("rows as wide as these are filtered by ", name,
                     " of NVIDIA's CUDA toolkit, which is not installed (", reason, ")"));
  }
  return library;
}

// For the life of the process.
absl::StatusOr<const CufftLibrary*> Cufft() {
  static const auto* const opened = new absl::StatusOr<CufftLibrary>(Open());
  if (!opened->ok()) return opened->status();
  return &**opened;
}

}  // namespace

absl::StatusOr<FftPlan> FftPlan::Create(int n, int batch, cufftType type, cudaStream_t stream) {
  ISO_ASSIGN_OR_RETURN(const CufftLibrary* library, Cufft());
  cufftHandle handle = 0;
  ISO_RETURN_IF_CUDA_ERROR(library->plan_1d(&handle, n, type, batch));
  FftPlan plan(library, handle);
  ISO_RETURN_IF_CUDA_ERROR(library->set_stream(handle, stream));
  return plan;
}

FftPlan::~FftPlan() {
  if (library_ != nullptr) library_->destroy(plan_);
}

absl::Status FftPlan::Forward(float* reals, cufftComplex* spectrum) const {
  return ToStatus(library_->exec_r2c(plan_, reals, spectrum), "cufftExecR2C");
}

absl::Status FftPlan::Inverse(cufftComplex* spectrum, float* reals) const {
  return ToStatus(library_->exec_c2r(plan_, spectrum, reals), "cufftExecC2R");
}

}  // namespace isocenter::cuda
