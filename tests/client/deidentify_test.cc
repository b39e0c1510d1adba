#include "client/formats/dicom/deidentify.h"

#include <dcmtk/config/osconfig.h>
//
#include <dcmtk/dcmdata/dcistrmb.h>
#include <dcmtk/dcmdata/dcostrmb.h>
#include <dcmtk/dcmdata/dctk.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "client/formats/dicom/deidentify_rules.h"
#include "tests/client/test_files.h"

namespace isocenter::formats {
namespace {

using testing::HasSubstr;

constexpr char kKey[] = "a key of thirty-two bytes, or so";

Deidentifier Make(const DeidentifyOptions& options = {}, const std::string& key = kKey) {
  return *Deidentifier::Create(key, options);
}

std::vector<std::byte> Bytes(DcmFileFormat& file,
                             E_TransferSyntax syntax = EXS_LittleEndianExplicit) {
  const client_test::TemporaryDirectory directory;
  EXPECT_TRUE(file.saveFile((directory / "f.dcm").c_str(), syntax).good());
  const std::string bytes = client_test::ReadBytes(directory / "f.dcm");
  const auto raw = std::as_bytes(std::span(bytes));
  return {raw.begin(), raw.end()};
}

void Parse(const std::vector<std::byte>& bytes, DcmFileFormat& file) {
  DcmInputBufferStream stream;
  stream.setBuffer(bytes.data(), static_cast<offile_off_t>(bytes.size()));
  stream.setEos();
  file.transferInit();
  ASSERT_TRUE(file.read(stream).good());
  file.transferEnd();
}

/// What a cleaned file holds. `put` makes the file.
class Cleaned {
 public:
  explicit Cleaned(const std::function<void(DcmDataset&)>& put, const Deidentifier& d = Make()) {
    DcmFileFormat file;
    file.getDataset()->putAndInsertString(DCM_SOPClassUID, UID_CTImageStorage);
    file.getDataset()->putAndInsertString(DCM_SOPInstanceUID, "1.2.3.4.5");
    put(*file.getDataset());
    const auto cleaned = d.Clean(Bytes(file));
    EXPECT_TRUE(cleaned.ok()) << cleaned.status();
    if (cleaned.ok()) bytes_ = *cleaned;
    Parse(bytes_, file_);
  }
  DcmDataset& data() { return *file_.getDataset(); }
  DcmFileFormat& file() { return file_; }
  std::string Text(const DcmTagKey& tag) {
    OFString value;
    if (data().findAndGetOFStringArray(tag, value).bad()) return "(missing)";
    return value.c_str();
  }
  bool Holds(const std::string& text) const {
    const auto raw = std::as_bytes(std::span(text));
    return std::search(bytes_.begin(), bytes_.end(), raw.begin(), raw.end()) != bytes_.end();
  }

 private:
  std::vector<std::byte> bytes_;
  DcmFileFormat file_;
};

/// A value of the representation that nobody else has.
std::string Marker(DcmEVR vr) {
  switch (vr) {
    case EVR_DA:
      return "19770707";
    case EVR_TM:
      return "070717";
    case EVR_DT:
      return "19770707070717";
    case EVR_UI:
      return "1.2.77.77";
    case EVR_DS:
    case EVR_IS:
      return "7777";
    case EVR_AS:
      return "077Y";
    case EVR_AE:
    case EVR_CS:
    case EVR_LO:
    case EVR_LT:
    case EVR_PN:
    case EVR_SH:
    case EVR_ST:
    case EVR_UC:
    case EVR_UR:
    case EVR_UT:
      return "SECRET77";
    default:
      return "";
  }
}

/// The attributes of DCMTK's dictionary, without groups of messages and files.
std::vector<DcmTag> Dictionary() {
  std::vector<DcmTag> tags;
  DcmDataDictionary& dictionary = dcmDataDict.wrlock();
  for (auto it = dictionary.normalBegin(); it != dictionary.normalEnd(); ++it) {
    const DcmDictEntry& entry = **it;
    const DcmTagKey tag = entry.getKey();
    if (tag.getGroup() < 8 || tag.getGroup() == 0xFFFE || tag.getElement() == 0 ||
        entry.getPrivateCreator() != nullptr || tag == DCM_SpecificCharacterSet ||
        tag == DCM_PixelData) {
      continue;
    }
    tags.push_back(DcmTag(tag, entry.getVR()));
  }
  dcmDataDict.wrunlock();
  return tags;
}

/// Inserts every attribute of DCMTK's dictionary that can have a marker, sequences with one in an
/// item, and what is private.
void PutAll(DcmItem& item) {
  static const std::vector<DcmTag> dictionary = Dictionary();
  for (const DcmTag& tag : dictionary) {
    if (tag.getEVR() == EVR_SQ) {
      DcmItem* inner = nullptr;
      item.findOrCreateSequenceItem(tag, inner, 0);
      inner->putAndInsertString(DCM_PatientName, "SECRET77");
      inner->putAndInsertString(DCM_TextValue, "SECRET77");
    } else if (const std::string marker = Marker(tag.getEVR()); !marker.empty()) {
      item.putAndInsertString(tag, marker.c_str());
    }
  }
  item.putAndInsertString(DcmTag(0x0011, 0x0010, EVR_LO), "SECRET77");
  item.putAndInsertString(DcmTag(0x0011, 0x1001, EVR_LO), "SECRET77");
  item.putAndInsertString(DcmTag(0x6002, 0x0022, EVR_LO), "SECRET77");  // a second overlay
}

/// No attribute in the item has a marker unless the table says that it is kept.
void ExpectDecided(DcmItem& item, int& kept) {
  for (unsigned long i = 0; i < item.card(); ++i) {
    DcmElement& element = *item.getElement(i);
    const DcmTagKey tag = element.getTag();
    if (tag == DCM_DeidentificationMethodCodeSequence || tag == DCM_DeidentificationMethod ||
        tag == DCM_PatientIdentityRemoved || tag == DCM_LongitudinalTemporalInformationModified) {
      continue;
    }
    const auto rule = FindDeidentifyRule(tag);
    ASSERT_TRUE(rule) << DcmTag(tag).getTagName();
    EXPECT_NE(rule->action, DeidentifyAction::kRemove) << DcmTag(tag).getTagName();
    if (auto* const sequence = dynamic_cast<DcmSequenceOfItems*>(&element)) {
      for (unsigned long j = 0; j < sequence->card(); ++j) {
        ExpectDecided(*sequence->getItem(j), kept);
      }
      continue;
    }
    ++kept;
    if (rule->action == DeidentifyAction::kKeep) continue;
    OFString value;
    element.getOFStringArray(value);
    const std::string marker = Marker(element.getVR());
    EXPECT_THAT(std::string(value.c_str()), testing::Not(HasSubstr(marker)))
        << DcmTag(tag).getTagName();
  }
}

// The whole dictionary, at two depths: more than Table E.1-1, which is a part of it.
TEST(Deidentify, OfAllAttributesOnlyTheDecidedSurvive) {
  Cleaned cleaned([](DcmDataset& data) {
    PutAll(data);
    DcmItem* groups = nullptr;
    data.findOrCreateSequenceItem(DCM_SharedFunctionalGroupsSequence, groups, 0);
    DcmItem* frame = nullptr;
    groups->findOrCreateSequenceItem(DCM_DerivationImageSequence, frame, 0);
    PutAll(*frame);
  });
  int kept = 0;
  ExpectDecided(cleaned.data(), kept);
  EXPECT_GT(kept, 100);
}

TEST(Deidentify, TheTableIsSortedAndLosesNoIdentity) {
  const auto rules = DeidentifyRules();
  for (size_t i = 1; i < rules.size(); ++i) {
    EXPECT_TRUE(rules[i - 1].tag.getGroup() < rules[i].tag.getGroup() ||
                (rules[i - 1].tag.getGroup() == rules[i].tag.getGroup() &&
                 rules[i - 1].tag.getElement() < rules[i].tag.getElement()))
        << DcmTag(rules[i].tag).getTagName();
  }
  for (const DeidentifyRule& rule : rules) {
    if (rule.action != DeidentifyAction::kKeep) continue;
    const DcmEVR vr = DcmTag(rule.tag).getEVR();
    const std::set<DcmEVR> identifying = {EVR_PN, EVR_DA, EVR_TM, EVR_DT, EVR_LT, EVR_UT, EVR_AE};
    EXPECT_EQ(identifying.count(vr), 0u) << DcmTag(rule.tag).getTagName();
    EXPECT_TRUE(vr != EVR_UI || rule.tag == DCM_SOPClassUID ||
                rule.tag == DCM_ReferencedSOPClassUID)
        << DcmTag(rule.tag).getTagName();
  }
}

TEST(Deidentify, SaysWhatWasDone) {
  const auto put = [](DcmDataset& data) { data.putAndInsertString(DCM_PatientName, "Doe^Jane"); };
  Cleaned basic(put);
  EXPECT_EQ(basic.Text(DCM_PatientIdentityRemoved), "YES");
  EXPECT_EQ(basic.Text(DCM_LongitudinalTemporalInformationModified), "REMOVED");
  EXPECT_EQ(basic.Text(DCM_BurnedInAnnotation), "NO");
  EXPECT_THAT(basic.Text(DCM_DeidentificationMethod), HasSubstr("PS3.15"));
  EXPECT_LE(basic.Text(DCM_DeidentificationMethod).size(), 64u);
  Cleaned all(put, Make({.shifted_dates = true,
                         .patient_characteristics = true,
                         .device_identity = true,
                         .institution_identity = true}));
  EXPECT_EQ(all.Text(DCM_LongitudinalTemporalInformationModified), "MODIFIED");
  std::vector<std::string> codes;
  DcmItem* item = nullptr;
  for (int i = 0;
       all.data().findAndGetSequenceItem(DCM_DeidentificationMethodCodeSequence, item, i).good();
       ++i) {
    OFString code;
    item->findAndGetOFString(DCM_CodeValue, code);
    codes.push_back(code.c_str());
  }
  EXPECT_THAT(codes, testing::ElementsAre("113100", "113107", "113108", "113109", "113112"));
}

TEST(Deidentify, OptionsKeepWhatTheyName) {
  const auto put = [](DcmDataset& data) {
    data.putAndInsertString(DCM_PatientSex, "F");
    data.putAndInsertString(DCM_StationName, "ROOM1");
    data.putAndInsertString(DCM_InstitutionName, "St. Elsewhere");
    data.putAndInsertString(DCM_StudyDate, "20260301");
    data.putAndInsertString(DCM_StudyTime, "101112");
    data.putAndInsertString(DCM_SeriesDate, "20260301");
  };
  Cleaned basic(put);
  EXPECT_EQ(basic.Text(DCM_PatientSex), "");
  EXPECT_EQ(basic.Text(DCM_StationName), "(missing)");
  EXPECT_EQ(basic.Text(DCM_InstitutionName), "(missing)");
  EXPECT_EQ(basic.Text(DCM_StudyDate), "");
  EXPECT_EQ(basic.Text(DCM_SeriesDate), "(missing)");
  EXPECT_EQ(Cleaned(put, Make({.patient_characteristics = true})).Text(DCM_PatientSex), "F");
  EXPECT_EQ(Cleaned(put, Make({.device_identity = true})).Text(DCM_StationName), "ROOM1");
  EXPECT_EQ(Cleaned(put, Make({.institution_identity = true})).Text(DCM_InstitutionName),
            "St. Elsewhere");
}

TEST(Deidentify, ShiftedDatesKeepTheirIntervals) {
  const auto clean = [](const char* patient, const char* date) {
    return Cleaned(
        [&](DcmDataset& data) {
          data.putAndInsertString(DCM_PatientID, patient);
          data.putAndInsertString(DCM_StudyDate, date);
          data.putAndInsertString(DCM_AcquisitionDateTime, absl::StrCat(date, "101112.5").c_str());
        },
        Make({.shifted_dates = true}));
  };
  const auto day = [](const std::string& text) {
    return absl::CivilDay(std::stoi(text.substr(0, 4)), std::stoi(text.substr(4, 2)),
                          std::stoi(text.substr(6, 2)));
  };
  Cleaned march = clean("P1", "20260301"), february = clean("P1", "20260227");
  EXPECT_NE(march.Text(DCM_StudyDate), "20260301");
  EXPECT_EQ(day(march.Text(DCM_StudyDate)) - day(february.Text(DCM_StudyDate)), 2);
  EXPECT_EQ(march.Text(DCM_AcquisitionDateTime), march.Text(DCM_StudyDate) + "101112.5");
  EXPECT_NE(clean("P2", "20260301").Text(DCM_StudyDate), march.Text(DCM_StudyDate));
  EXPECT_EQ(clean("P1", "unknown").Text(DCM_StudyDate), "");
}

TEST(Deidentify, ReplacementsLinkObjectsOfOneKeyOnly) {
  const auto put = [](DcmDataset& data) {
    data.putAndInsertString(DCM_PatientName, "Doe^Jane");
    data.putAndInsertString(DCM_PatientID, "P1");
    data.putAndInsertString(DCM_StudyInstanceUID, "1.2.99.1");
    DcmItem* source = nullptr;
    data.findOrCreateSequenceItem(DCM_SourceImageSequence, source, 0);
    source->putAndInsertString(DCM_ReferencedSOPClassUID, UID_CTImageStorage);
    source->putAndInsertString(DCM_ReferencedSOPInstanceUID, "1.2.99.7");
  };
  Cleaned one(put), again(put), other(put, Make({}, "another key, as long as that one"));
  EXPECT_EQ(one.Text(DCM_StudyInstanceUID), again.Text(DCM_StudyInstanceUID));
  EXPECT_EQ(one.Text(DCM_PatientID), again.Text(DCM_PatientID));
  EXPECT_NE(one.Text(DCM_StudyInstanceUID), other.Text(DCM_StudyInstanceUID));
  EXPECT_NE(one.Text(DCM_PatientID), other.Text(DCM_PatientID));
  EXPECT_EQ(one.Text(DCM_PatientName), one.Text(DCM_PatientID));
  EXPECT_EQ(one.Text(DCM_StudyInstanceUID), Make().Uid("1.2.99.1"));
  DcmItem* source = nullptr;
  ASSERT_TRUE(one.data().findAndGetSequenceItem(DCM_SourceImageSequence, source).good());
  OFString uid;
  source->findAndGetOFString(DCM_ReferencedSOPInstanceUID, uid);
  EXPECT_EQ(std::string(uid.c_str()), Make().Uid("1.2.99.7"));
  source->findAndGetOFString(DCM_ReferencedSOPClassUID, uid);
  EXPECT_STREQ(uid.c_str(), UID_CTImageStorage);
  for (const char* const secret : {"Doe", "1.2.99.1", "1.2.99.7"}) EXPECT_FALSE(one.Holds(secret));
  // The file's own header names the new instance.
  OFString header;
  one.file().getMetaInfo()->findAndGetOFString(DCM_MediaStorageSOPInstanceUID, header);
  EXPECT_EQ(std::string(header.c_str()), one.Text(DCM_SOPInstanceUID));
}

TEST(Deidentify, PreambleAndFileHeaderAreMadeAnew) {
  DcmFileFormat file;
  file.getDataset()->putAndInsertString(DCM_SOPClassUID, UID_CTImageStorage);
  file.getDataset()->putAndInsertString(DCM_SOPInstanceUID, "1.2.3");
  file.getMetaInfo()->putAndInsertString(DCM_SourceApplicationEntityTitle, "SECRETAE");
  std::vector<std::byte> bytes = Bytes(file);
  std::memcpy(bytes.data(), "SECRETPRE", 9);
  const auto cleaned = Make().Clean(bytes);
  ASSERT_TRUE(cleaned.ok()) << cleaned.status();
  const std::string text(reinterpret_cast<const char*>(cleaned->data()), cleaned->size());
  EXPECT_THAT(text, testing::Not(HasSubstr("SECRET")));
}

TEST(Deidentify, PixelsStayAsTheyAre) {
  std::vector<Uint16> pixels(600000);  // more than one piece of the encoder
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<Uint16>(i * 31);
  Cleaned cleaned([&](DcmDataset& data) {
    data.putAndInsertUint16(DCM_BitsAllocated, 16);
    data.putAndInsertUint16Array(DCM_PixelData, pixels.data(), pixels.size());
  });
  const Uint16* found = nullptr;
  unsigned long count = 0;
  ASSERT_TRUE(cleaned.data().findAndGetUint16Array(DCM_PixelData, found, &count).good());
  ASSERT_EQ(count, pixels.size());
  EXPECT_EQ(std::memcmp(found, pixels.data(), 2 * count), 0);
}

TEST(Deidentify, BadKeysAndFilesAreRefused) {
  EXPECT_THAT(std::string(Deidentifier::Create("short", {}).status().message()),
              HasSubstr("5 bytes; legal is 16"));
  EXPECT_EQ(RandomKey()->size(), 32u);
  EXPECT_NE(*RandomKey(), *RandomKey());
  const std::string nonsense(1000, 'x');
  const auto raw = std::as_bytes(std::span(nonsense));
  EXPECT_FALSE(Make().Clean(raw).ok());
}

}  // namespace
}  // namespace isocenter::formats
