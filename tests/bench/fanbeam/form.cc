#include "tests/bench/fanbeam/form.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "tests/all_methods.h"
#include "tests/bench/fanbeam/scan.h"

namespace isocenter::bench {

absl::StatusOr<FanBeamForm> FanBeamForm::Create(const std::string& backend,
                                                const std::string& filter,
                                                const std::string& backproject, int threads,
                                                const ops::FanBeamFilterSpec& spec,
                                                const VolumeGrid& grid) {
  FanBeamForm form;
  form.backend_ = backend;
  form.filter_ = filter;
  form.backproject_ = backproject;
  form.geometry_ = spec.geometry;
  const ops::Registry& all = AllMethods();
  ISO_ASSIGN_OR_RETURN(form.session_, OpenSession(all, backend, {.threads = threads}));
  ISO_ASSIGN_OR_RETURN(const auto make_filter, all.fan_beam_filter.Find(backend, filter));
  ISO_ASSIGN_OR_RETURN(const auto make_back, all.fan_beam_backproject.Find(backend, backproject));
  ops::Session& session = *form.session_;
  ISO_ASSIGN_OR_RETURN(form.filter_operation_, make_filter(session, spec));
  ISO_ASSIGN_OR_RETURN(form.backproject_operation_, make_back(session));
  ISO_ASSIGN_OR_RETURN(form.stack_,
                       session.NewProjectionStack({spec.geometry.views, 1, spec.geometry.channels},
                                                  ops::StackUse::kLineIntegrals));
  ISO_ASSIGN_OR_RETURN(form.volume_, session.NewVolume(grid));
  return form;
}

absl::StatusOr<std::vector<float>> FanBeamForm::Reconstruct(const std::vector<float>& lines,
                                                            FanBeamSeconds* seconds) {
  ISO_RETURN_IF_ERROR(stack_->Upload(0, {lines.data(), stack_->shape()}));
  ISO_RETURN_IF_ERROR(volume_->Clear());
  ISO_RETURN_IF_ERROR(session_->Synchronize());
  const absl::Time begin = absl::Now();
  ISO_RETURN_IF_ERROR(filter_operation_->Run(0, *stack_, *stack_));
  ISO_RETURN_IF_ERROR(session_->Synchronize());
  const absl::Time filtered = absl::Now();
  ISO_RETURN_IF_ERROR(backproject_operation_->Run(geometry_, 0, *stack_, *volume_));
  ISO_RETURN_IF_ERROR(session_->Synchronize());
  if (seconds != nullptr) {
    *seconds = {.filter = absl::ToDoubleSeconds(filtered - begin),
                .backproject = absl::ToDoubleSeconds(absl::Now() - filtered)};
  }
  std::vector<float> image(volume_->grid().voxels());
  ISO_RETURN_IF_ERROR(volume_->Download(0, {image.data(), volume_->grid().shape()}));
  for (float& value : image) value = static_cast<float>(value / kFanBeamWater);
  return image;
}

absl::StatusOr<std::vector<FanBeamMethods>> FanBeamMethodsOf(
    std::vector<std::string> backends, const std::vector<std::string>& wanted) {
  const ops::Registry& all = AllMethods();
  if (backends.empty()) {
    for (const auto& [backend, open] : all.devices) {
      if (backend == "reference") continue;
      const absl::Status status = all.OpenDevice(backend, {}).status();
      if (status.ok()) {
        backends.push_back(backend);
      } else {
        std::printf("not measured: %s: %s\n", backend.c_str(),
                    std::string(status.message()).c_str());
      }
    }
  }
  std::vector<FanBeamMethods> methods;
  for (const std::string& backend : backends) {
    ISO_RETURN_IF_ERROR(all.OpenDevice(backend, {}).status());
    for (const auto& entry : all.fan_beam_backproject.List()) {
      if (entry.backend != backend) continue;
      if (!wanted.empty() && std::ranges::find(wanted, entry.method) == wanted.end()) continue;
      const bool wide = absl::StartsWith(entry.method, "double") &&
                        all.fan_beam_filter.Find(backend, "double").ok();
      ISO_ASSIGN_OR_RETURN(const auto* filter,
                           all.fan_beam_filter.FindEntry(backend, wide ? "double" : ""));
      methods.push_back({backend, filter->method, entry.method});
    }
  }
  if (methods.empty()) return absl::NotFoundError("no method of these backends is wanted");
  return methods;
}

}  // namespace isocenter::bench
