// What somebody meant who mistyped a name.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace isocenter {

/// The candidate with the fewest typing mistakes between it and `word`: letters too much, too few,
/// wrong or swapped (optimal string alignment; Damerau, Commun. ACM 7(3), 1964). Case, and '-' for
/// '_', are no mistakes; leading dashes do not count. A word that begins exactly one
/// candidate means that one; one that begins none and ends exactly one means that. Empty where none
/// is near: more than one mistake in three characters. Words of more than 64 characters are no
/// typos.
std::string Nearest(absl::string_view word, const std::vector<std::string>& candidates);

/// "; did you mean X?", or "X, Y or Z" of up to four that begin (or end) with the word; nothing
/// where none is near.
std::string DidYouMean(absl::string_view word, const std::vector<std::string>& candidates);

}  // namespace isocenter
