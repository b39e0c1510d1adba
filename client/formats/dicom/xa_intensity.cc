#include "client/formats/dicom/xa_intensity.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {
namespace {

struct Bits {
  int allocated = 0, stored = 0, high = 0;
  uint32_t mask() const { return (uint32_t{1} << stored) - 1; }
};

absl::StatusOr<Bits> ReadBits(DcmDataset& data) {
  const auto number = [&](const DcmTagKey& tag, int otherwise) {
    return static_cast<int>(DicomNumber(data, tag).value_or(otherwise));
  };
  Bits bits{.allocated = number(DCM_BitsAllocated, 0), .stored = number(DCM_BitsStored, 0)};
  bits.high = number(DCM_HighBit, bits.stored - 1);
  const int samples = number(DCM_SamplesPerPixel, 1);
  const int is_signed = number(DCM_PixelRepresentation, 0);
  if (samples != 1 || is_signed != 0) {
    return absl::InvalidArgumentError(absl::StrCat("Samples per Pixel is ", samples,
                                                   " and Pixel Representation ", is_signed,
                                                   "; legal is 1 and 0 (unsigned)"));
  }
  if ((bits.allocated != 8 && bits.allocated != 16) || bits.stored < 1 ||
      bits.stored > bits.allocated || bits.high < bits.stored - 1 || bits.high >= bits.allocated) {
    return absl::InvalidArgumentError(
        absl::StrCat("Bits Allocated is ", bits.allocated, ", Bits Stored ", bits.stored,
                     ", High Bit ", bits.high, "; legal is 8 or 16 with 1 to all of them stored"));
  }
  return bits;
}

/// The item that holds the table from stored values to linear ones, or nullptr.
DcmItem* LinearTable(const XaAttributes& run) {
  DcmItem* item = nullptr;
  if (!run.enhanced()) {
    run.data().findAndGetSequenceItem(DCM_ModalityLUTSequence, item);
    return item;
  }
  DcmItem* groups = nullptr;
  for (const DcmTagKey& where :
       {DCM_PerFrameFunctionalGroupsSequence, DCM_SharedFunctionalGroupsSequence}) {
    if (run.data().findAndGetSequenceItem(where, groups).bad()) continue;
    for (int i = 0;
         groups->findAndGetSequenceItem(DCM_PixelIntensityRelationshipLUTSequence, item, i).good();
         ++i) {
      if (DicomText(*item, DCM_LUTFunction) == "TO_LINEAR") return item;
    }
  }
  return nullptr;
}

using Meaning = std::function<uint16_t(uint32_t stored)>;

/// PS3.3 C.11.1.1: number of entries, first stored value, bits per entry; values outside the table
/// have the entry at its end.
absl::StatusOr<Meaning> TableOf(DcmItem& item) {
  Uint16 entries = 0, first = 0, bits = 0;
  DcmElement* element = nullptr;
  Uint16* values = nullptr;
  if (item.findAndGetUint16(DCM_LUTDescriptor, entries, 0).bad() ||
      item.findAndGetUint16(DCM_LUTDescriptor, first, 1).bad() ||
      item.findAndGetUint16(DCM_LUTDescriptor, bits, 2).bad() ||
      item.findAndGetElement(DCM_LUTData, element).bad()) {
    return absl::InvalidArgumentError("LUT Descriptor or LUT Data is missing");
  }
  const size_t count = entries == 0 ? 65536 : entries;  // 0 stands for 2^16
  if (element->getUint16Array(values).bad() || values == nullptr ||
      element->getLength() < count * sizeof(Uint16)) {
    return absl::InvalidArgumentError(absl::StrCat("LUT Data has ", element->getLength(),
                                                   " bytes; needed are ", count * sizeof(Uint16)));
  }
  return [table = std::vector<uint16_t>(values, values + count), first](uint32_t stored) {
    const size_t index = stored < first ? 0 : stored - first;
    return table[std::min(index, table.size() - 1)];
  };
}

absl::StatusOr<Meaning> MeaningOf(const XaAttributes& run, const Bits& bits) {
  const DcmTagKey macro = DCM_FramePixelDataPropertiesSequence;
  const std::string relationship = run.Text(0, macro, DCM_PixelIntensityRelationship);
  for (int i = 1; i < run.frames() && run.enhanced(); ++i) {
    if (run.Text(i, macro, DCM_PixelIntensityRelationship) != relationship) {
      return absl::InvalidArgumentError(
          absl::StrCat("Pixel Intensity Relationship changes at frame ", i, "; legal is one"));
    }
  }
  if (relationship == "LOG") {
    DcmItem* const table = LinearTable(run);
    if (table != nullptr) return TableOf(*table);
    return absl::InvalidArgumentError(
        "Pixel Intensity Relationship (0028,1040) is LOG, and no table that makes the values "
        "linear "
        "is there; needed is a Modality LUT Sequence, or in an enhanced object a Pixel Intensity "
        "Relationship LUT Sequence with the function TO_LINEAR");
  }
  if (relationship != "LIN") {
    return absl::InvalidArgumentError(absl::StrCat(
        "Pixel Intensity Relationship (0028,1040) is '", relationship,
        "'; legal is LIN, or LOG with a table: values that were processed for display have lost "
        "the intensities; export the run unprocessed"));
  }
  const double sign = run.Number(0, macro, DCM_PixelIntensityRelationshipSign).value_or(1);
  const uint32_t mask = bits.mask();
  if (sign < 0) return [mask](uint32_t stored) { return static_cast<uint16_t>(mask - stored); };
  return [](uint32_t stored) { return static_cast<uint16_t>(stored); };
}

}  // namespace

absl::StatusOr<XaIntensity> ReadXaIntensity(const XaAttributes& run) {
  ISO_ASSIGN_OR_RETURN(const Bits bits, ReadBits(run.data()));
  ISO_ASSIGN_OR_RETURN(const Meaning meaning, MeaningOf(run, bits));
  XaIntensity intensity{.bits_allocated = bits.allocated};
  intensity.counts.resize(size_t{1} << bits.allocated);
  for (uint32_t value = 0; value < intensity.counts.size(); ++value) {
    intensity.counts[value] = meaning((value >> (bits.high + 1 - bits.stored)) & bits.mask());
  }
  intensity.largest = *std::max_element(intensity.counts.begin(), intensity.counts.end());
  if (intensity.largest == 0) {
    return absl::InvalidArgumentError("the table that makes the values linear holds zeros only");
  }
  return intensity;
}

}  // namespace isocenter::formats
