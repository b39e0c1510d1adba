// Ordered subsets of views and the chunks in which they are worked on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/recon/iterative/settings.h"

namespace isocenter::recon {

/// 0..count-1 in the order of their bits reversed, so that neighbours are far apart (Hudson &
/// Larkin, IEEE TMI 13 (1994) 601, ask for subsets in an order in which each adds the most).
std::vector<int> BitReversedOrder(int count);

/// How many subsets suit an algorithm when the settings leave it open.
int DefaultSubsets(Algorithm algorithm, int views);

/// Why so many subsets are more than suit OS-SQS, as a sentence for people, with the settings'
/// field; nothing where they are not, and of other algorithms: SART's single views are a subset
/// each, and OS-SART with as many is like it.
std::optional<std::string> ManySubsetsText(Algorithm algorithm, int views, int subsets);

/// Subset s has the views s, s + subsets, s + 2·subsets...; the subsets come in bit-reversed order.
/// 1 <= subsets <= views.
std::vector<std::vector<int>> MakeSubsets(int views, int subsets);

/// Over how many frames, the first ones, each early pass goes: from half of them to 31 of
/// 32; what is missing shrinks by the same factor from one pass to the next, so that passes
/// are closer together where the arc is nearly complete. 1 <= views.
std::vector<int> EarlyFrames(int views, int passes);

/// Views of one subset that are worked on at once.
struct ViewChunk {
  int subset = 0;
  std::vector<int> views;  // ascending
};

/// Each subset in chunks of at most `chunk_views` views, as even as possible; subset after subset.
std::vector<ViewChunk> ChunksOf(const std::vector<std::vector<int>>& subsets, int chunk_views);
/// Whether a chunk is the first or the last one of its subset.
bool BeginsSubset(const std::vector<ViewChunk>& chunks, int chunk);
bool EndsSubset(const std::vector<ViewChunk>& chunks, int chunk);

}  // namespace isocenter::recon
