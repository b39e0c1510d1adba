#include "client/formats/dicom/xa_attributes.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::formats {

std::vector<double> DicomNumbers(DcmItem& item, const DcmTagKey& tag) {
  OFString text;
  std::vector<double> numbers;
  if (item.findAndGetOFStringArray(tag, text).bad()) return numbers;
  for (const absl::string_view value : absl::StrSplit(absl::string_view(text.c_str()), '\\')) {
    double number;
    if (!absl::SimpleAtod(value, &number) || !std::isfinite(number)) break;
    numbers.push_back(number);
  }
  return numbers;
}

std::optional<double> DicomNumber(DcmItem& item, const DcmTagKey& tag) {
  const std::vector<double> numbers = DicomNumbers(item, tag);
  if (numbers.empty()) return std::nullopt;
  return numbers.front();
}

std::string DicomText(DcmItem& item, const DcmTagKey& tag, int index) {
  OFString text;
  if (item.findAndGetOFString(tag, text, static_cast<unsigned long>(index)).bad()) return "";
  return text.c_str();
}

absl::StatusOr<XaAttributes> XaAttributes::Of(DcmDataset& data) {
  const std::string sop_class = DicomText(data, DCM_SOPClassUID);
  const bool enhanced = sop_class == UID_EnhancedXAImageStorage;
  if (!enhanced && sop_class != UID_XRayAngiographicImageStorage) {
    const char* name = dcmFindNameOfUID(sop_class.c_str());
    return absl::InvalidArgumentError(absl::StrCat(
        "SOP Class UID is '", sop_class, "' (", name ? name : "unknown",
        "); legal is X-Ray Angiographic Image Storage (", UID_XRayAngiographicImageStorage,
        ") or Enhanced XA Image Storage (", UID_EnhancedXAImageStorage, ")"));
  }
  const double frames = DicomNumber(data, DCM_NumberOfFrames).value_or(1);
  if (!(frames >= 2 && frames <= kMaxViews)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Number of Frames is ", frames, "; a rotational run has 2 to ", kMaxViews));
  }
  return XaAttributes(data, enhanced, static_cast<int>(frames));
}

DcmItem* XaAttributes::Group(int frame, const DcmTagKey& macro) const {
  if (!enhanced_) return data_;
  DcmItem *groups = nullptr, *item = nullptr;
  if (data_->findAndGetSequenceItem(DCM_PerFrameFunctionalGroupsSequence, groups, frame).good() &&
      groups->findAndGetSequenceItem(macro, item).good()) {
    return item;
  }
  if (data_->findAndGetSequenceItem(DCM_SharedFunctionalGroupsSequence, groups).good() &&
      groups->findAndGetSequenceItem(macro, item).good()) {
    return item;
  }
  return nullptr;
}

std::optional<double> XaAttributes::Number(int frame, const DcmTagKey& macro,
                                           const DcmTagKey& tag) const {
  DcmItem* const group = Group(frame, macro);
  return group ? DicomNumber(*group, tag) : std::nullopt;
}

std::string XaAttributes::Text(int frame, const DcmTagKey& macro, const DcmTagKey& tag,
                               int index) const {
  DcmItem* const group = Group(frame, macro);
  return group ? DicomText(*group, tag, index) : "";
}

}  // namespace isocenter::formats
