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

/// `reconstructed`, the model's line integrals in HU, becomes what it has beside the model: the
/// artefact, smoothed by a Gaussian of a voxel. What lies at edges of the model counts little: the
/// reconstruction blurs them, and that is no artefact. Of the rest as much is left as is likely to
/// be artefact at its distance from the orbit's plane (cone_beam_shares.h). `model` in 1/mm;
/// `scratch` is of its size.
ConeBeamFindings FindArtefact(const ConeBeamPlan& plan, const SeenSlices& seen,
                              HostView3<const float> model, ThreadPool& threads,
                              HostView3<float> reconstructed, HostView3<float> scratch);

/// Takes the artefact, trilinear between the model's voxels, off a volume in HU of `scale`.
void TakeOffArtefact(const ConeBeamPlan& plan, const ops::HounsfieldScale& scale,
                     HostView3<const float> artefact, ThreadPool& threads, HostView3<float> volume);

}  // namespace isocenter::recon
