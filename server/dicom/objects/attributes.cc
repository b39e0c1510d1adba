#include "server/dicom/objects/attributes.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "server/dicom/objects/text.h"

namespace isocenter::dicom {
namespace {

/// Keeps the first error.
void Keep(const OFCondition& condition, const DcmTagKey& tag, absl::Status& status) {
  if (condition.good()) return;
  status = absl::InternalError(
      absl::StrCat("attribute ", tag.toString().c_str(), ": ", condition.text()));
}

}  // namespace

void Attributes::operator()(const DcmTagKey& tag, const std::string& value) {
  if (status_->ok()) Keep(item_->putAndInsertString(tag, value.c_str()), tag, *status_);
}

void Attributes::operator()(const DcmTagKey& tag, double value) {
  (*this)(tag, DecimalString(value));
}

void Attributes::Unsigned(const DcmTagKey& tag, int value) {
  if (status_->ok()) {
    Keep(item_->putAndInsertUint16(tag, static_cast<Uint16>(value)), tag, *status_);
  }
}

void Attributes::UnsignedLong(const DcmTagKey& tag, std::initializer_list<uint32_t> values) {
  if (!status_->ok()) return;
  auto element = std::make_unique<DcmUnsignedLong>(tag);
  Keep(element->putUint32Array(values.begin(), values.size()), tag, *status_);
  if (status_->ok()) Keep(item_->insert(element.release(), OFTrue), tag, *status_);
}

void Attributes::Float(const DcmTagKey& tag, double value) {
  if (status_->ok()) {
    Keep(item_->putAndInsertFloat32(tag, static_cast<Float32>(value)), tag, *status_);
  }
}

void Attributes::Double(const DcmTagKey& tag, double value) {
  if (status_->ok()) Keep(item_->putAndInsertFloat64(tag, value), tag, *status_);
}

void Attributes::IfGiven(const DcmTagKey& tag, const std::string& value) {
  if (!value.empty()) (*this)(tag, value);
}

Attributes Attributes::Item(const DcmTagKey& sequence) {
  constexpr long kNewAtEnd = -2;
  DcmItem* item = item_;  // after an error nothing is put anywhere
  if (status_->ok()) {
    Keep(item_->findOrCreateSequenceItem(sequence, item, kNewAtEnd), sequence, *status_);
  }
  return {item == nullptr ? *item_ : *item, *status_};
}

void Attributes::Code(const DcmTagKey& sequence, const char* value, const char* scheme,
                      const char* meaning) {
  Attributes code = Item(sequence);
  code(DCM_CodeValue, value);
  code(DCM_CodingSchemeDesignator, scheme);
  code(DCM_CodeMeaning, meaning);
}

void Attributes::EmptySequence(const DcmTagKey& sequence) {
  if (status_->ok()) Keep(item_->insertEmptyElement(sequence), sequence, *status_);
}

}  // namespace isocenter::dicom
