// Writing attributes of a data set, nested ones too, with one error for all of them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/status/status.h"

class DcmItem;
class DcmTagKey;

namespace isocenter::dicom {

/// Puts values into a data set or an item of a sequence. What fails first stays in `status`,
/// INTERNAL with the attribute; nothing is put after it. Not thread-safe.
class Attributes {
 public:
  /// Both must outlive this and all items made of it.
  Attributes(DcmItem& item, absl::Status& status) : item_(&item), status_(&status) {}

  /// Text of any representation; several values are separated by backslashes.
  void operator()(const DcmTagKey& tag, const std::string& value);
  void operator()(const DcmTagKey& tag, const char* value) { (*this)(tag, std::string(value)); }
  /// A decimal string (DS).
  void operator()(const DcmTagKey& tag, double value);
  void Unsigned(const DcmTagKey& tag, int value);                                   // US
  void UnsignedLong(const DcmTagKey& tag, std::initializer_list<uint32_t> values);  // UL
  void Float(const DcmTagKey& tag, double value);                                   // FL
  void Double(const DcmTagKey& tag, double value);                                  // FD
  /// As text, if there is any: for attributes that may be left out, but not be
  /// empty.
  void IfGiven(const DcmTagKey& tag, const std::string& value);

  /// A new item at the end of a sequence, which is made if it does not exist.
  Attributes Item(const DcmTagKey& sequence);
  /// A new item with a coded concept (PS3.3, 8.8).
  void Code(const DcmTagKey& sequence, const char* value, const char* scheme, const char* meaning);
  /// A sequence without items.
  void EmptySequence(const DcmTagKey& sequence);

 private:
  DcmItem* item_;
  absl::Status* status_;
};

}  // namespace isocenter::dicom
