#include "client/formats/dicom/deidentify.h"

#include <dcmtk/config/osconfig.h>
//
#include <dcmtk/dcmdata/dcistrmb.h>
#include <dcmtk/dcmdata/dcostrmb.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmdata/dcwcache.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/civil_time.h"
#include "client/formats/dicom/deidentify_rules.h"
#include "client/formats/dicom/dictionary.h"
#include "client/formats/dicom/file_bounds.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {
namespace {

constexpr char kMethod[] = "Isocenter: DICOM PS3.15 Basic Confidentiality Profile";
constexpr int kMostShiftedDays = 3650;

/// A fixed value where an object must have one.
std::string DummyDate(DcmEVR vr) {
  if (vr == EVR_TM) return "000000";
  return vr == EVR_DT ? "19000101000000" : "19000101";
}

/// A date, or the date of a date and time, `days` earlier; "" for what is no date. Times of day
/// stay.
std::string Earlier(const std::string& value, DcmEVR vr, int days) {
  if (vr == EVR_TM) return value;
  int year, month, day;
  if (value.size() < 8 || !absl::SimpleAtoi(value.substr(0, 4), &year) ||
      !absl::SimpleAtoi(value.substr(4, 2), &month) ||
      !absl::SimpleAtoi(value.substr(6, 2), &day)) {
    return "";
  }
  const absl::CivilDay then = absl::CivilDay(year, month, day) - days;
  return absl::StrFormat("%04d%02d%02d", then.year(), then.month(), then.day()) + value.substr(8);
}

struct Code {
  const char *value, *meaning;
};

std::vector<Code> MethodCodes(const DeidentifyOptions& options) {
  std::vector<Code> codes = {{"113100", "Basic Application Confidentiality Profile"}};
  if (options.shifted_dates) {
    codes.push_back({"113107", "Retain Longitudinal Temporal Information Modified Dates Option"});
  }
  if (options.patient_characteristics) {
    codes.push_back({"113108", "Retain Patient Characteristics Option"});
  }
  if (options.device_identity) codes.push_back({"113109", "Retain Device Identity Option"});
  if (options.institution_identity) {
    codes.push_back({"113112", "Retain Institution Identity Option"});
  }
  return codes;
}

absl::Status Checked(const OFCondition& condition, const char* what) {
  if (condition.good()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot ", what, ": ", condition.text()));
}

std::string StringOf(DcmItem& item, const DcmTagKey& tag) {
  OFString value;
  item.findAndGetOFString(tag, value);
  return value.c_str();
}

absl::StatusOr<std::vector<std::byte>> Encode(DcmFileFormat& file, E_TransferSyntax syntax) {
  std::vector<std::byte> bytes, buffer(1 << 20);
  DcmOutputBufferStream stream(buffer.data(), static_cast<offile_off_t>(buffer.size()));
  DcmWriteCache cache;
  file.transferInit();
  OFCondition written = EC_StreamNotifyClient;
  while (written == EC_StreamNotifyClient) {  // the buffer is full
    written = file.write(stream, syntax, EET_UndefinedLength, &cache, EGL_recalcGL, EPD_noChange, 0,
                         0, 0, EWM_createNewMeta);
    void* begin = nullptr;
    offile_off_t length = 0;
    stream.flushBuffer(begin, length);
    const auto* const from = static_cast<const std::byte*>(begin);
    bytes.insert(bytes.end(), from, from + length);
  }
  file.transferEnd();
  ISO_RETURN_IF_ERROR(Checked(written, "encode the object"));
  return bytes;
}

}  // namespace

/// Applies the rules to one data set.
class DatasetCleaner {
 public:
  DatasetCleaner(const Deidentifier& deidentifier, DcmDataset& data)
      : deidentifier_(deidentifier), data_(data) {
    std::string patient = StringOf(data, DCM_PatientID);
    // Those without an id are kept apart by study.
    if (patient.empty()) patient = absl::StrCat("study ", StringOf(data, DCM_StudyInstanceUID));
    subject_ = absl::AsciiStrToUpper(
        absl::BytesToHexString(deidentifier.Digest("subject", patient)).substr(0, 16));
    const std::string digest = deidentifier.Digest("dates", patient);
    const int drawn = static_cast<uint8_t>(digest[0]) * 256 + static_cast<uint8_t>(digest[1]);
    days_ = 1 + drawn % kMostShiftedDays;
  }

  absl::Status Clean() {
    ISO_RETURN_IF_ERROR(CleanItem(data_));
    return State();
  }

 private:
  const DeidentifyOptions& options() const { return deidentifier_.options_; }

  bool Retained(RetainOption option) const {
    switch (option) {
      case RetainOption::kNone:
        return false;
      case RetainOption::kPatientCharacteristics:
        return options().patient_characteristics;
      case RetainOption::kDevice:
        return options().device_identity;
      case RetainOption::kInstitution:
        return options().institution_identity;
    }
    return false;
  }

  absl::Status CleanItem(DcmItem& item) {
    for (unsigned long i = item.card(); i-- > 0;) {
      ISO_ASSIGN_OR_RETURN(const bool keep, CleanElement(*item.getElement(i)));
      if (!keep) delete item.remove(i);
    }
    return absl::OkStatus();
  }

  /// Whether the element stays.
  absl::StatusOr<bool> CleanElement(DcmElement& element) {
    const auto rule = FindDeidentifyRule(element.getTag());
    if (!rule) return false;
    if (Retained(rule->option)) return true;
    switch (rule->action) {
      case DeidentifyAction::kKeep:
        return true;
      case DeidentifyAction::kRemove:
        return false;
      case DeidentifyAction::kEmpty:
        return Emptied(element);
      case DeidentifyAction::kUid:
        return WithUids(element);
      case DeidentifyAction::kItems:
        return WithItems(element);
      case DeidentifyAction::kDummy:
        return With(element, "REMOVED");
      case DeidentifyAction::kSubject:
        return With(element, subject_);
      case DeidentifyAction::kDate:
        if (!options().shifted_dates) return false;
        return Shifted(element, "");
      case DeidentifyAction::kEmptyDate:
        if (!options().shifted_dates) return Emptied(element);
        return Shifted(element, "");
      case DeidentifyAction::kDummyDate:
        if (!options().shifted_dates) return With(element, DummyDate(element.getVR()));
        return Shifted(element, DummyDate(element.getVR()));
    }
    return false;
  }

  absl::StatusOr<bool> Emptied(DcmElement& element) {
    ISO_RETURN_IF_ERROR(Checked(element.clear(), "empty an attribute"));
    return true;
  }

  absl::StatusOr<bool> With(DcmElement& element, const std::string& value) {
    ISO_RETURN_IF_ERROR(Checked(element.putString(value.c_str()), "replace an attribute"));
    return true;
  }

  absl::StatusOr<bool> Shifted(DcmElement& element, const std::string& otherwise) {
    OFString value;
    element.getOFString(value, 0);
    const std::string earlier = Earlier(value.c_str(), element.getVR(), days_);
    return With(element, earlier.empty() ? otherwise : earlier);
  }

  absl::StatusOr<bool> WithUids(DcmElement& element) {
    std::string uids;
    for (unsigned long i = 0; i < element.getVM(); ++i) {
      OFString uid;
      ISO_RETURN_IF_ERROR(Checked(element.getOFString(uid, i), "read a UID"));
      absl::StrAppend(&uids, i > 0 ? "\\" : "", deidentifier_.Uid(uid.c_str()));
    }
    return With(element, uids);
  }

  absl::StatusOr<bool> WithItems(DcmElement& element) {
    auto* const sequence = dynamic_cast<DcmSequenceOfItems*>(&element);
    if (sequence == nullptr) return false;
    for (unsigned long i = 0; i < sequence->card(); ++i) {
      ISO_RETURN_IF_ERROR(CleanItem(*sequence->getItem(i)));
    }
    return true;
  }

  /// Says what was done (PS3.15 E.1.1, step 7).
  absl::Status State() {
    const auto put = [&](DcmItem& item, const DcmTagKey& tag, const char* value) {
      return Checked(item.putAndInsertString(tag, value), "state the de-identification");
    };
    ISO_RETURN_IF_ERROR(put(data_, DCM_PatientIdentityRemoved, "YES"));
    ISO_RETURN_IF_ERROR(put(data_, DCM_DeidentificationMethod, kMethod));
    ISO_RETURN_IF_ERROR(put(data_, DCM_LongitudinalTemporalInformationModified,
                            options().shifted_dates ? "MODIFIED" : "REMOVED"));
    ISO_RETURN_IF_ERROR(put(data_, DCM_BurnedInAnnotation, "NO"));
    const std::vector<Code> codes = MethodCodes(options());
    for (size_t i = 0; i < codes.size(); ++i) {
      DcmItem* item = nullptr;
      ISO_RETURN_IF_ERROR(
          Checked(data_.findOrCreateSequenceItem(DCM_DeidentificationMethodCodeSequence, item,
                                                 static_cast<long>(i)),
                  "state the de-identification"));
      ISO_RETURN_IF_ERROR(put(*item, DCM_CodeValue, codes[i].value));
      ISO_RETURN_IF_ERROR(put(*item, DCM_CodingSchemeDesignator, "DCM"));
      ISO_RETURN_IF_ERROR(put(*item, DCM_CodeMeaning, codes[i].meaning));
    }
    return absl::OkStatus();
  }

  const Deidentifier& deidentifier_;
  DcmDataset& data_;
  std::string subject_;
  int days_ = 0;
};

absl::StatusOr<Deidentifier> Deidentifier::Create(std::string key,
                                                  const DeidentifyOptions& options) {
  ISO_RETURN_IF_ERROR(CheckDicomDictionary());
  if (key.size() < kLeastKeyBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the key of the de-identification has ",
                                                   key.size(), " bytes; legal is ", kLeastKeyBytes,
                                                   " or more"));
  }
  return Deidentifier(std::move(key), options);
}

std::string Deidentifier::Digest(absl::string_view purpose, absl::string_view text) const {
  const std::string message = absl::StrCat(purpose, "/", text);
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(), digest.data(),
       &length);
  return std::string(digest.begin(), digest.begin() + length);
}

std::string Deidentifier::Uid(absl::string_view uid) const {
  std::string bytes = Digest("uid", uid).substr(0, 16);
  // A UUID of version 8 (RFC 9562: made as its maker likes), as a UID (PS3.5 B.2).
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x80);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  absl::uint128 number = 0;
  for (const char byte : bytes) number = number * 256 + static_cast<uint8_t>(byte);
  std::string digits;
  for (; number != 0; number /= 10)
    digits += static_cast<char>('0' + static_cast<int>(number % 10));
  return absl::StrCat("2.25.", std::string(digits.rbegin(), digits.rend()));
}

absl::StatusOr<std::vector<std::byte>> Deidentifier::Clean(std::span<const std::byte> file) const {
  ISO_RETURN_IF_ERROR(CheckDicomFile(file));
  DcmFileFormat format;
  DcmInputBufferStream stream;
  stream.setBuffer(file.data(), static_cast<offile_off_t>(file.size()));
  stream.setEos();
  format.transferInit();
  const OFCondition read = format.read(stream);
  format.transferEnd();
  if (read.bad()) {
    return absl::InvalidArgumentError(absl::StrCat("not a DICOM file: ", read.text()));
  }
  DcmDataset& data = *format.getDataset();
  const E_TransferSyntax syntax = data.getOriginalXfer();
  ISO_RETURN_IF_ERROR(DatasetCleaner(*this, data).Clean());
  // The file's preamble and header name its sender and its identifiers: they are made anew.
  DcmFileFormat cleaned(format.getAndRemoveDataset(), /*deepCopy=*/OFFalse);
  return Encode(cleaned, syntax);
}

absl::StatusOr<std::string> RandomKey() {
  std::array<uint8_t, 32> key;
  if (RAND_bytes(key.data(), key.size()) == 1) return std::string(key.begin(), key.end());
  return absl::InternalError("the system has no random numbers for the de-identification");
}

}  // namespace isocenter::formats
