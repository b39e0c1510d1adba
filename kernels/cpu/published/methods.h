// Projectors on the CPU as papers measured them beside their own, to be measured against: Siddon's
// as Thompson & Lionheart (MIMS EPrint 2016.48, 2014) did in their table I, the voxel-driven one as
// Du et al. (2017) did.
#pragma once

#include "kernels/cpu/projectors/methods.h"

namespace isocenter::cpu {

/// "Jacobs, CPU": every ray finds its own way. Rays are shared out among threads; backwards,
/// threads add to the same voxels and do so by atomic operations, unless there is one thread.
ForwardProjectOr NewProjectJacobs(ops::Session& session);
MatchedBackprojectOr NewMatchedBackprojectJacobs(ops::Session& session);

/// "Inner v loop Jacobs, CPU": the way through x and y is found once for a column of pixels, and
/// within a column of voxels one ray is served after the other. Where detector columns are not
/// parallel to the grid's z axis, as those of a C-arm that wobbles, the view is left to the form
/// above.
ForwardProjectOr NewProjectJacobsInnerV(ops::Session& session);
MatchedBackprojectOr NewMatchedBackprojectJacobsInnerV(ops::Session& session);

/// Du et al. (2017) on one thread, whatever the device has, with whole voxels and with eight pieces
/// of each.
ForwardProjectOr NewProjectDu(ops::Session& session);
ForwardProjectOr NewProjectDuSplit(ops::Session& session);

}  // namespace isocenter::cpu
