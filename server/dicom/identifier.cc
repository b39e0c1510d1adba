#include "server/dicom/identifier.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>
#include <iconv.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

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

/// Character sets with code extensions of two bytes per character. DCMTK converts them by the C
/// library's iconv, which does not know the sets by themselves, but does know encodings that hold
/// them. Source: DICOM PS3.3, C.12.1.1.2; PS3.5, annexes H to K.
struct CodeExtension {
  const char* term;      // a part of Specific Character Set
  const char* encoding;  // of iconv
  const char* escape;    // not part of that encoding: left out
};
constexpr CodeExtension kCodeExtensions[] = {{"ISO 2022 IR 87", "ISO-2022-JP-2", nullptr},
                                             {"ISO 2022 IR 159", "ISO-2022-JP-2", nullptr},
                                             {"ISO 2022 IR 149", "EUC-KR", "\x1b$)C"},
                                             {"ISO 2022 IR 58", "GB2312", "\x1b$)A"}};

const CodeExtension* FindCodeExtension(absl::string_view character_sets) {
  for (const CodeExtension& extension : kCodeExtensions) {
    if (absl::StrContains(character_sets, extension.term)) return &extension;
  }
  return nullptr;
}

/// The value in UTF-8; as it is where it cannot be converted.
std::string Converted(const CodeExtension& extension, std::string value) {
  std::string input =
      extension.escape == nullptr ? value : absl::StrReplaceAll(value, {{extension.escape, ""}});
  const iconv_t conversion = iconv_open("UTF-8", extension.encoding);
  if (conversion == reinterpret_cast<iconv_t>(-1)) return value;
  // No character of these sets has more than four bytes in UTF-8.
  std::string output(4 * input.size() + 4, '\0');
  char* from = input.data();
  char* to = output.data();
  size_t from_left = input.size(), to_left = output.size();
  const bool done = iconv(conversion, &from, &from_left, &to, &to_left) != static_cast<size_t>(-1);
  iconv_close(conversion);
  if (!done) return value;
  output.resize(output.size() - to_left);
  return output;
}

}  // namespace

KeyValues KeysOf(DcmDataset& identifier) {
  OFString character_sets;
  (void)identifier.findAndGetOFStringArray(DCM_SpecificCharacterSet, character_sets);
  const bool converted = identifier.convertToUTF8().good();
  const CodeExtension* const extension =
      converted ? nullptr : FindCodeExtension(character_sets.c_str());
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
  if (extension != nullptr) {
    for (auto& [tag, value] : keys) value = Converted(*extension, std::move(value));
  }
  return keys;
}

}  // namespace isocenter::dicom
