// Whether the phases of a scan's frames rise, as those of an organ do.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace isocenter {

/// What is wrong with the order of the phases that frames tell, in the order of the frames (those
/// of frames that are lost are left out), as a sentence for people; nothing where they rise, or
/// where frames are too few to tell. Frames lie less than half a cycle apart, so that a phase
/// rises by less than one half from one to the next; at more, order cannot be told from disorder.
std::optional<std::string> PhaseOrderText(std::span<const std::optional<float>> phases);

}  // namespace isocenter
