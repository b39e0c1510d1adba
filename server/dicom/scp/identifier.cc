#include "server/dicom/scp/identifier.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "server/dicom/objects/character_sets.h"

namespace isocenter::dicom {
namespace {

uint32_t NumberOf(const DcmTag& tag) { return uint32_t{tag.getGroup()} << 16 | tag.getElement(); }

/// Sequences have no value and count as keys that are not known.
std::string ValueOf(DcmElement& element) {
  OFString value;
  if (element.isLeaf()) (void)element.getOFStringArray(value);
  return std::string(absl::StripAsciiWhitespace(value.c_str()));
}

/// The keys in the item of a sequence. Without an item all that can be asked for are meant.
void ReadItem(DcmElement& element, uint32_t sequence, const std::vector<uint32_t>& known,
              KeyValues& keys) {
  auto* const items = dynamic_cast<DcmSequenceOfItems*>(&element);
  DcmItem* const item = items == nullptr || items->card() == 0 ? nullptr : items->getItem(0);
  if (item == nullptr || item->card() == 0) {
    for (const uint32_t tag : known) keys[InSequence(sequence, tag)] = "";
    return;
  }
  for (unsigned long i = 0; i < item->card(); ++i) {
    DcmElement* const nested = item->getElement(i);
    keys[InSequence(sequence, NumberOf(nested->getTag()))] = ValueOf(*nested);
  }
}

}  // namespace

KeyValues KeysOf(DcmDataset& identifier) {
  (void)ConvertToUtf8(identifier);  // what cannot be converted matches as it is
  KeyValues keys;
  for (unsigned long i = 0; i < identifier.card(); ++i) {
    DcmElement* const element = identifier.getElement(i);
    const uint32_t tag = NumberOf(element->getTag());
    if ((tag & 0xffff) == 0) continue;  // group length
    const std::vector<uint32_t> nested = KeysOfSequence(tag);
    if (nested.empty()) {
      keys[tag] = ValueOf(*element);
      continue;
    }
    ReadItem(*element, tag, nested, keys);
  }
  return keys;
}

}  // namespace isocenter::dicom
