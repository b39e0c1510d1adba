// Phantoms of small balls whose places are known: what an arm's geometry is measured with.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/geometry/vec3.h"

namespace isocenter {

/// A ball, in the phantom's own frame (mm).
struct Bead {
  Vec3 center;
  double diameter_mm = 0;

  friend bool operator==(const Bead&, const Bead&) = default;
};

/// In the order of the table; a ball is called by its row, from 0.
using BeadTable = std::vector<Bead>;

/// A matrix of 11 parameters needs 6 balls; what makes it robust and accurate needs more.
inline constexpr int kLeastBeads = 12, kMostBeads = 1000;
inline constexpr double kMostBeadCoordinateMm = 500;
inline constexpr double kLeastBeadDiameterMm = 0.2, kMostBeadDiameterMm = 20;

/// 108 balls on a helix of radius 60 mm about z, from z = -80 to 80 mm, 18 to a turn. Which are of
/// 1.5 and which of 2.5 mm is a binary code (a maximal-length sequence of order 7), of which any
/// seven neighbours occur once.
BeadTable HelixBeads();
/// 84 balls on seven rings of radius 60 mm about z, from z = -80 to 80 mm, each turned against the
/// next; sizes coded as the helix's.
BeadTable RingBeads();

/// Four numbers on each line: x, y, z and diameter in mm, separated by blanks or commas; '#' begins
/// a comment. Errors: INVALID_ARGUMENT with the line; those of CheckBeadTable.
absl::StatusOr<BeadTable> ParseBeadTable(absl::string_view text);
/// What ParseBeadTable reads, to 1 nm.
std::string BeadTableText(const BeadTable& table);

/// INVALID_ARGUMENT with the ball, its value and what is legal: number of balls, coordinates,
/// diameters; balls that overlap; all balls in a plane (to 5 mm), of which no matrix follows.
absl::Status CheckBeadTable(const BeadTable& table);

/// "helix", "rings" or the name of a file; `flag` names it in errors. Errors: those of
/// ReadRegularFile (64 KiB at most) and ParseBeadTable.
absl::StatusOr<BeadTable> FindBeadTable(absl::string_view flag, const std::string& name);

}  // namespace isocenter
