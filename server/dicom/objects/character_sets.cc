#include "server/dicom/objects/character_sets.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>
#include <iconv.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace isocenter::dicom {
namespace {

enum class Code { kNone, kAscii, kKatakana, kJisX0208, kJisX0212, kKsX1001, kGb2312 };

struct Escape {
  absl::string_view sequence;
  bool is_high;  // for bytes of more than 127
  Code code;
};
constexpr std::array<Escape, 8> kEscapes = {{{"\x1b(B", false, Code::kAscii},
                                             {"\x1b(J", false, Code::kAscii},
                                             {"\x1b)I", true, Code::kKatakana},
                                             {"\x1b$@", false, Code::kJisX0208},
                                             {"\x1b$B", false, Code::kJisX0208},
                                             {"\x1b$(D", false, Code::kJisX0212},
                                             {"\x1b$)C", true, Code::kKsX1001},
                                             {"\x1b$)A", true, Code::kGb2312}}};

/// The C library's converter of one encoding.
class Converter {
 public:
  explicit Converter(const char* from) : handle_(iconv_open("UTF-8", from)) {}
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;
  ~Converter() {
    if (IsOpen()) iconv_close(handle_);
  }
  /// Appends one character.
  bool Append(std::string character, std::string& utf8) {
    if (!IsOpen()) return false;
    std::array<char, 16> buffer;
    char *from = character.data(), *to = buffer.data();
    size_t left = character.size(), room = buffer.size();
    if (iconv(handle_, &from, &left, &to, &room) == static_cast<size_t>(-1)) return false;
    utf8.append(buffer.data(), buffer.size() - room);
    return true;
  }

 private:
  // The handle of an encoding that is not known is -1.
  bool IsOpen() const { return reinterpret_cast<intptr_t>(handle_) != -1; }
  const iconv_t handle_;
};

class Decoder {
 public:
  explicit Decoder(bool katakana) : high_(katakana ? Code::kKatakana : Code::kNone) {}

  std::optional<std::string> Decode(absl::string_view text) {
    while (!text.empty()) {
      if (text[0] == '\x1b' ? !TakeEscape(text) : !TakeCharacter(text)) return std::nullopt;
    }
    return std::move(utf8_);
  }

 private:
  bool TakeEscape(absl::string_view& text) {
    for (const Escape& escape : kEscapes) {
      if (!absl::ConsumePrefix(&text, escape.sequence)) continue;
      (escape.is_high ? high_ : low_) = escape.code;
      return true;
    }
    return false;
  }

  bool TakeCharacter(absl::string_view& text) {
    const auto byte = static_cast<unsigned char>(text[0]);
    // Control characters are the same everywhere.
    const Code code = byte < 0x21 ? Code::kAscii : byte < 0x80 ? low_ : high_;
    const bool single = code == Code::kAscii || code == Code::kKatakana;
    const size_t bytes = single ? 1 : 2;
    if (code == Code::kNone || text.size() < bytes) return false;
    std::string character(text.substr(0, bytes));
    text.remove_prefix(bytes);
    if (code == Code::kAscii) {
      utf8_ += character;
      return true;
    }
    for (char& c : character) c = static_cast<char>(static_cast<unsigned char>(c) | 0x80);
    switch (code) {
      case Code::kKatakana:
        return japanese_.Append("\x8e" + character, utf8_);
      case Code::kJisX0212:
        return japanese_.Append("\x8f" + character, utf8_);
      case Code::kKsX1001:
        return korean_.Append(character, utf8_);
      case Code::kGb2312:
        return chinese_.Append(character, utf8_);
      default:
        return japanese_.Append(character, utf8_);
    }
  }

  Code low_ = Code::kAscii, high_;
  std::string utf8_;
  Converter japanese_{"EUC-JP"}, korean_{"EUC-KR"}, chinese_{"GB2312"};
};

/// The values of all text of an item and of those within it, decoded.
bool DecodeItem(DcmItem& item, bool katakana,
                std::vector<std::pair<DcmElement*, std::string>>& decoded) {
  for (unsigned long i = 0; i < item.card(); ++i) {  // NOLINT(google-runtime-int): DCMTK's type
    DcmElement* const element = item.getElement(i);
    if (element->ident() == EVR_SQ) {
      auto* const sequence = static_cast<DcmSequenceOfItems*>(element);
      for (unsigned long k = 0; k < sequence->card(); ++k) {  // NOLINT(google-runtime-int)
        if (!DecodeItem(*sequence->getItem(k), katakana, decoded)) return false;
      }
      continue;
    }
    if (!element->isAffectedBySpecificCharacterSet()) continue;
    OFString value;
    if (element->getOFStringArray(value).bad()) continue;
    std::optional<std::string> utf8 =
        DecodeIso2022(absl::string_view(value.c_str(), value.size()), katakana);
    if (!utf8) return false;
    decoded.emplace_back(element, *std::move(utf8));
  }
  return true;
}

}  // namespace

std::optional<std::string> DecodeIso2022(absl::string_view text, bool katakana) {
  return Decoder(katakana).Decode(text);
}

bool ConvertToUtf8(DcmDataset& dataset) {
  OFString declared;
  (void)dataset.findAndGetOFStringArray(DCM_SpecificCharacterSet, declared);
  const std::vector<std::string> sets = absl::StrSplit(declared.c_str(), '\\');
  static const auto* const kExtensions = new std::set<std::string>{
      "ISO 2022 IR 13", "ISO 2022 IR 87", "ISO 2022 IR 159", "ISO 2022 IR 149", "ISO 2022 IR 58"};
  const bool extended = std::any_of(sets.begin(), sets.end(), [](const std::string& set) {
    return kExtensions->contains(std::string(absl::StripAsciiWhitespace(set)));
  });
  if (!extended) return dataset.convertToUTF8().good();
  const bool katakana = absl::StrContains(sets.front(), "IR 13");
  std::vector<std::pair<DcmElement*, std::string>> decoded;
  if (!DecodeItem(dataset, katakana, decoded)) return dataset.convertToUTF8().good();
  for (const auto& [element, utf8] : decoded) (void)element->putString(utf8.c_str());
  return dataset.putAndInsertString(DCM_SpecificCharacterSet, "ISO_IR 192").good();
}

}  // namespace isocenter::dicom
