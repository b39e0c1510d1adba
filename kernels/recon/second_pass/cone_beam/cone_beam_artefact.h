// The cone-beam artefact of a model of an object, and what is taken of it off a volume.
#pragma once

#include "kernels/base/thread_pool.h"
#include "kernels/base/views.h"
#include "kernels/ops/hounsfield.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_model.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_plan.h"

namespace isocenter::recon {

/// What was taken off, HU, where all views see, and how far off that may be (RMS;
/// cone_beam_shares.h).
struct ConeBeamFindings {
  double rms_hu = 0, most_hu = 0, unsure_hu = 0;
};

/// `model`, in 1/mm, becomes its artefact: what its `reconstructed` line integrals, in HU, have
/// beside it, smoothed by a Gaussian of a voxel. What lies at edges of the model counts little: the
/// reconstruction blurs them, and that is no artefact. Of the rest as much is left as is likely to
/// be artefact at its distance from the orbit's plane (cone_beam_shares.h). `reconstructed` is
/// overwritten, as is `scratch`, which is of its size.
ConeBeamFindings FindArtefact(const ConeBeamPlan& plan, const SeenSlices& seen, ThreadPool& threads,
                              HostView3<float> model, HostView3<float> reconstructed,
                              HostView3<float> scratch);

/// Takes the artefact, trilinear between the model's voxels, off a volume in HU of `scale`.
void TakeOffArtefact(const ConeBeamPlan& plan, const ops::HounsfieldScale& scale,
                     HostView3<const float> artefact, ThreadPool& threads, HostView3<float> volume);

}  // namespace isocenter::recon
