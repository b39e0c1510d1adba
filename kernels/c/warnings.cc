// What is wrong with a scan before its volume is made of it.
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"
#include "kernels/c/arguments.h"
#include "kernels/c/plan.h"
#include "kernels/c/status.h"
#include "kernels/geometry/limited_arc.h"
#include "kernels/recon/completeness/grid_coverage.h"
#include "kernels/recon/completeness/whole_scan.h"
#include "kernels/recon/iterative/surroundings.h"

namespace isocenter::c {
namespace {

using Sentences = std::vector<std::string>;

const recon::FdkSettings& FdkOf(const isocenter_plan& plan) {
  if (const auto* refinement = std::get_if<recon::RefinementPlan>(&plan.plan)) {
    return refinement->fdk;
  }
  return std::get<recon::ReconstructionPlan>(plan.plan).settings;
}

// `isocenter reconstruct` says the same, in this order (client/cli/reconstruct).
Sentences WarningsOf(const isocenter_plan& plan, const ops::RawFrames& frames) {
  Sentences sentences;
  const auto* const refinement = std::get_if<recon::RefinementPlan>(&plan.plan);
  if (refinement != nullptr && refinement->limited_arc) {
    sentences.push_back(LimitedArcText(*refinement->limited_arc));
  }
  if (auto unseen = recon::LittleSeenText(plan.acquisition(), plan.grid())) {
    sentences.push_back(*std::move(unseen));
  }
  const recon::WholeScan scan{plan.acquisition(), frames, {}};
  for (std::string& found : recon::ScanFindings(scan).texts) sentences.push_back(std::move(found));
  if (FdkOf(plan).truncation == ops::Truncation::kNone) {
    auto cut = recon::CutRowsText(
        scan, "; without truncation \"cylinder\" the volume is wrong by tens of per cent");
    if (cut) sentences.push_back(*std::move(cut));
  }
  if (refinement != nullptr) {
    const bool alone = refinement->settings.surroundings_factor == 0;
    for (const std::string& text : recon::BeyondGridTexts(
             scan, recon::GridWithSurroundings(*refinement), recon::SurroundedGrid(*refinement))) {
      sentences.push_back(absl::StrCat(text, alone ? " (surroundings_factor 4)" : ""));
    }
  }
  return sentences;
}

}  // namespace
}  // namespace isocenter::c

isocenter_status isocenter_plan_warnings(const isocenter_plan* plan, const void* frames,
                                         int64_t pixels, const char** sentences) {
  thread_local std::string said;
  return isocenter::c::Call([&]() -> absl::Status {
    ISO_RETURN_IF_ERROR(isocenter::c::CheckPointer("plan", plan));
    ISO_RETURN_IF_ERROR(isocenter::c::CheckPointer("sentences", sentences));
    ISO_ASSIGN_OR_RETURN(const auto raw,
                         isocenter::c::FramesOf(plan->acquisition(), frames, pixels));
    said = absl::StrJoin(isocenter::c::WarningsOf(*plan, raw), "\n");
    *sentences = said.c_str();
    return absl::OkStatus();
  });
}
