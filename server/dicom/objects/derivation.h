// What volumes are derived from other than frames: those of two jobs, or a first one that is
// corrected.
#pragma once

#include "server/dicom/objects/attributes.h"
#include "server/jobs/job.h"

namespace isocenter::dicom {

bool IsSubtraction(const jobs::Job& job);

/// Whether pixels depend on those of stored volumes: of a subtraction, and of a second pass, which
/// looks for metal and bone in the first volume and takes metal from there, or is that volume where
/// nothing moved.
bool IsDerived(const jobs::Job& job);
/// A refinement by iterations: neither a second pass nor a phase by filtered back-projection.
bool Iterates(const jobs::Job& job);

/// How, in words and as a code. Only of what is derived.
void PutDerivation(const jobs::Job& job, Attributes& put);

/// The purpose of a reference to what it is derived from.
void PutIsSource(Attributes& reference);

}  // namespace isocenter::dicom
