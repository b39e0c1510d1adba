#include "tests/bench/refine_live.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter::bench {
namespace {

using Clock = std::chrono::steady_clock;

// What there is to do is done in this order, whenever its frames are there.
class LiveRun {
 public:
  LiveRun(const recon::RefinementPlan& plan, const recon::ReconstructionPlan& fdk_plan,
          const ops::Registry& registry, std::span<ops::Device* const> devices,
          const ops::RawFrames& frames, HostView3<float> volume)
      : plan_(plan),
        fdk_plan_(fdk_plan),
        registry_(registry),
        devices_(devices),
        frames_(frames),
        volume_(volume) {}

  absl::Status Begin() {
    ISO_ASSIGN_OR_RETURN(fdk_, recon::Reconstructor::Create(fdk_plan_, registry_, devices_));
    if (plan_.early_frames.empty()) return absl::OkStatus();
    ISO_ASSIGN_OR_RETURN(refinement_, recon::Refinement::Create(plan_, registry_, devices_));
    return absl::OkStatus();
  }

  // With so many frames; false: nothing is to be done.
  absl::StatusOr<bool> DoNext(int arrived) {
    if (fdk_ != nullptr) {
      const recon::Chunk& chunk = fdk_plan_.chunks[fdk_->next_chunk()];
      if (chunk.first_view + chunk.views <= arrived) {
        ISO_RETURN_IF_ERROR(fdk_->Push(frames_.views(chunk.first_view, chunk.views)));
        if (fdk_->next_chunk() < static_cast<int>(fdk_plan_.chunks.size())) return true;
        ISO_RETURN_IF_ERROR(fdk_->Finish(volume_));
        fdk_.reset();
        return true;
      }
    }
    if (refinement_ == nullptr) return false;
    if (const int count = NextViews(); count > 0 && pushed_ + count <= arrived) {
      ISO_RETURN_IF_ERROR(PushViews(count));
      return true;
    }
    ISO_ASSIGN_OR_RETURN(const bool idle, refinement_->StepEarly());
    return !idle;
  }
  bool fdk_done() const { return fdk_ == nullptr; }
  bool all_pushed() const { return fdk_done() && (refinement_ == nullptr || NextViews() == 0); }

  absl::Status Refine() {
    if (refinement_ == nullptr) {
      ISO_ASSIGN_OR_RETURN(refinement_, recon::Refinement::Create(plan_, registry_, devices_));
    }
    while (NextViews() > 0) ISO_RETURN_IF_ERROR(PushViews(NextViews()));
    ISO_RETURN_IF_ERROR(refinement_->Start(plan_.warm_start ? volume_ : HostView3<const float>()));
    for (bool done = false; !done;) {
      ISO_ASSIGN_OR_RETURN(done, refinement_->Step());
    }
    return refinement_->Read(volume_);
  }

 private:
  int NextViews() const { return std::min(plan_.chunk_views, plan_.views() - pushed_); }
  absl::Status PushViews(int count) {
    ISO_RETURN_IF_ERROR(refinement_->Push(frames_.views(pushed_, count)));
    pushed_ += count;
    return absl::OkStatus();
  }

  const recon::RefinementPlan& plan_;
  const recon::ReconstructionPlan& fdk_plan_;
  const ops::Registry& registry_;
  const std::span<ops::Device* const> devices_;
  const ops::RawFrames& frames_;
  const HostView3<float> volume_;
  std::unique_ptr<recon::Reconstructor> fdk_;  // until its volume is there
  std::unique_ptr<recon::Refinement> refinement_;
  int pushed_ = 0;
};

}  // namespace

absl::StatusOr<AfterLastFrame> RefineLive(const recon::RefinementPlan& plan, double arm_seconds,
                                          const ops::Registry& registry,
                                          std::span<ops::Device* const> devices,
                                          const ops::RawFrames& frames, HostView3<float> volume) {
  ISO_ASSIGN_OR_RETURN(const recon::ReconstructionPlan fdk_plan,
                       recon::MakePlan(plan.acquisition, plan.grid, plan.fdk, registry, devices,
                                       recon::Arrival::kStreamed));
  LiveRun run(plan, fdk_plan, registry, devices, frames, volume);
  ISO_RETURN_IF_ERROR(run.Begin());
  const auto begin = Clock::now();
  const auto seconds = [begin] {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  AfterLastFrame after;
  while (!run.all_pushed()) {
    const double share = std::min(seconds() / arm_seconds, 1.0);
    const bool had_fdk = run.fdk_done();
    ISO_ASSIGN_OR_RETURN(const bool worked, run.DoNext(static_cast<int>(share * plan.views())));
    if (run.fdk_done() && !had_fdk) after.fdk = seconds() - arm_seconds;
    if (!worked) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  ISO_RETURN_IF_ERROR(run.Refine());
  after.refined = seconds() - arm_seconds;
  return after;
}

}  // namespace isocenter::bench
