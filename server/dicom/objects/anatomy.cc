#include "server/dicom/objects/anatomy.h"

#include <array>

namespace isocenter::dicom {
namespace {

struct Entry {
  const char* body_part;
  AnatomicRegion region;
};

// What C-arms scan.
constexpr std::array kRegions = {
    Entry{"ABDOMEN", {"113345001", "Abdomen"}},
    Entry{"ANKLE", {"70258002", "Ankle joint"}},
    Entry{"ARM", {"40983000", "Arm"}},
    Entry{"BRAIN", {"12738006", "Brain"}},
    Entry{"CHEST", {"51185008", "Chest"}},
    Entry{"CSPINE", {"122494005", "Cervical spine"}},
    Entry{"ELBOW", {"16953009", "Elbow joint"}},
    Entry{"FOOT", {"56459004", "Foot"}},
    Entry{"HAND", {"85562004", "Hand"}},
    Entry{"HEAD", {"69536005", "Head"}},
    Entry{"HEART", {"80891009", "Heart"}},
    Entry{"HIP", {"24136001", "Hip joint"}},
    Entry{"JAW", {"661005", "Jaw region"}},
    Entry{"KNEE", {"72696002", "Knee"}},
    Entry{"LEG", {"30021000", "Lower leg"}},
    Entry{"LIVER", {"10200004", "Liver"}},
    Entry{"LSPINE", {"122496007", "Lumbar spine"}},
    Entry{"NECK", {"45048000", "Neck"}},
    Entry{"PELVIS", {"12921003", "Pelvis"}},
    Entry{"SHOULDER", {"16982005", "Shoulder"}},
    Entry{"SKULL", {"89546000", "Skull"}},
    Entry{"SPINE", {"421060004", "Spine"}},
    Entry{"TSPINE", {"122495006", "Thoracic spine"}},
    Entry{"WRIST", {"74670003", "Wrist joint"}},
};

constexpr AnatomicRegion kBody = {"38266002", "Entire body"};

}  // namespace

AnatomicRegion RegionOf(const std::string& body_part_examined) {
  for (const Entry& entry : kRegions) {
    if (body_part_examined == entry.body_part) return entry.region;
  }
  return kBody;
}

}  // namespace isocenter::dicom
