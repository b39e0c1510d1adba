#include "server/dicom/objects/derivation.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace isocenter::dicom {

namespace {

void PutMotion(const jobs::Job& job, Attributes& put) {
  const bool found = job.refinement.motion && job.refinement.motion->found;
  put(DCM_DerivationDescription,
      found ? "second reconstruction: rigid motion of the object, found from the projections, "
              "taken out"
            : "no rigid motion of the object was found from the projections: the first "
              "reconstruction as it was");
  put.Code(DCM_DerivationCodeSequence, "MOTION_COMPENSATION", "99ISOCENTER",
           "Reconstruction without the motion found in its projections");
}

void PutSelfCalibration(const jobs::Job& job, Attributes& put) {
  const bool found = job.refinement.self_calibration && job.refinement.self_calibration->found;
  // The pixels are not of the earlier volume, and its slices lie elsewhere: no source image.
  const auto& reference = job.refinement.second_pass->reference_job_id;
  const std::string from =
      reference ? absl::StrCat("the projections and the earlier volume of job ", *reference)
                : "the projections";
  put(DCM_DerivationDescription,
      found ? absl::StrCat("second reconstruction: the place of the detector, found from ", from,
                           ", corrected")
            : absl::StrCat("the detector was found from ", from,
                           " to be where it was said to be: the first reconstruction as it was"));
  put.Code(DCM_DerivationCodeSequence, "SELF_CALIBRATION", "99ISOCENTER",
           "Reconstruction with the geometry found from its projections");
}

}  // namespace

bool IsSubtraction(const jobs::Job& job) { return job.pair_role == jobs::PairRole::kSubtraction; }

bool IsDerived(const jobs::Job& job) { return IsSubtraction(job) || jobs::IsSecondPass(job); }

bool Iterates(const jobs::Job& job) {
  const bool phase_by_fdk = job.refinement.phase && job.progress.iterations_total == 0;
  return jobs::IsRefinement(job) && !jobs::IsSecondPass(job) && !phase_by_fdk;
}

void PutDerivation(const jobs::Job& job, Attributes& put) {
  if (IsSubtraction(job)) {
    put(DCM_DerivationDescription, "fill minus mask, in Hounsfield units");
    put.Code(DCM_DerivationCodeSequence, "113062", "DCM", "Pixel by pixel subtraction");
    return;
  }
  if (job.refinement.second_pass->motion) return PutMotion(job, put);
  if (job.refinement.second_pass->self_calibrate) return PutSelfCalibration(job, put);
  std::vector<absl::string_view> steps;
  if (job.refinement.second_pass->complete_rows) {
    steps.push_back("rows that the detector cuts continued as projections of a coarse volume");
  }
  if (job.refinement.second_pass->scatter) {
    steps.push_back("scatter computed from a coarse volume and subtracted");
  }
  if (job.refinement.second_pass->metal) {
    steps.push_back("metal interpolated in the projections (NMAR) and put back");
  }
  if (job.refinement.second_pass->bone) steps.push_back("beam hardening by bone corrected");
  if (job.refinement.second_pass->cone_beam) {
    steps.push_back("cone-beam artefact of bone and air subtracted");
  }
  put(DCM_DerivationDescription,
      absl::StrCat("second reconstruction: ", absl::StrJoin(steps, "; ")));
  // No code of the standard says it; the context group may be extended.
  put.Code(DCM_DerivationCodeSequence, "SECOND_PASS", "99ISOCENTER",
           "Reconstruction from projections corrected by a first volume");
}

void PutIsSource(Attributes& reference) {
  reference.Code(DCM_PurposeOfReferenceCodeSequence, "121322", "DCM",
                 "Source image for image processing operation");
}

}  // namespace isocenter::dicom
