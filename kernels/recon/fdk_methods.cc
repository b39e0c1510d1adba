#include "kernels/recon/fdk_methods.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::recon {

absl::StatusOr<FdkMethods> FdkMethods::Find(const FdkSettings& settings, const Detector& detector,
                                            const ops::Registry& registry,
                                            absl::string_view backend) {
  ISO_ASSIGN_OR_RETURN(const auto preprocess, registry.preprocess.FindEntry(backend));
  ISO_ASSIGN_OR_RETURN(const auto ramp_filter, registry.ramp_filter.FindEntry(backend));
  ISO_ASSIGN_OR_RETURN(
      const auto backproject,
      registry.backproject.FindEntry(backend, settings.backproject_method, settings.precision));
  ISO_ASSIGN_OR_RETURN(const auto to_hounsfield, registry.to_hounsfield.FindEntry(backend));
  return FdkMethods{
      .preprocess = preprocess->factory,
      .ramp_filter = ramp_filter->factory,
      .backproject = backproject->factory,
      .to_hounsfield = to_hounsfield->factory,
      .filter = {.rows = detector.rows,
                 .columns = detector.columns,
                 .window = settings.window,
                 .cutoff = settings.cutoff,
                 .truncation = settings.truncation},
      .description = absl::StrCat(backend, ": preprocessing ", preprocess->method, ", ramp filter ",
                                  ramp_filter->method, ", back-projection ", backproject->method,
                                  ", Hounsfield units ", to_hounsfield->method)};
}

int64_t FdkMethods::WorkspaceBytes(const ops::Device& device, const ops::Extents& extents) const {
  return preprocess.WorkspaceBytes(device, extents) +
         ramp_filter.WorkspaceBytes(device, extents, filter) +
         backproject.WorkspaceBytes(device, extents) +
         to_hounsfield.WorkspaceBytes(device, extents);
}

}  // namespace isocenter::recon
