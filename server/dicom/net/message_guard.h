// What comes from the other side of an association, checked before DCMTK reads it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "proto/dicom/data_set_scanner.h"

namespace isocenter::dicom {

/// Follows what the other side sends: PDUs, messages, their commands and data sets. Requests of
/// associations are whole, commands hold no sequences, data sets are bounded (DataSetScanner), and
/// a data set comes where a command has announced it, so that DCMTK never takes one for the other.
/// Source: DICOM PS3.8, 9.3 and annex E; PS3.7, 6.3 and annex E.
///
/// Used by the association's thread only.
class MessageGuard {
 public:
  static constexpr int64_t kPduBytes = 1 << 20;
  static constexpr int64_t kAssociateBytes = 256 << 10;  // of a PDU that requests an association
  static constexpr int64_t kCommandBytes = 16 << 10;
  static constexpr DataSetLimits kDataSet = {.depth = 16, .elements = 16384, .bytes = 1 << 20};

  /// How data sets are written in an accepted presentation context; nothing: it is none.
  using Contexts = std::function<std::optional<DataSetEncoding>(uint8_t context)>;
  void set_contexts(Contexts contexts) { contexts_ = std::move(contexts); }

  /// The next bytes. False when they are not legal: the association is to be broken off.
  bool Take(std::span<const std::byte> bytes);
  /// INVALID_ARGUMENT: what was not legal.
  const absl::Status& status() const { return status_; }
  /// What was not legal came in place of the first PDU.
  bool is_of_stranger() const { return !status_.ok() && !knows_dicom_; }

 private:
  absl::Status TakeSome(std::span<const std::byte>& bytes);
  absl::Status OnPduHeader();
  absl::Status OnBody() const;
  absl::Status OnPdvHeader();
  absl::Status BeginMessage(uint8_t context, bool is_command);
  absl::Status OnFragment(std::span<const std::byte> bytes);
  absl::Status OnEndOfPdv();

  Contexts contexts_ = [](uint8_t) { return std::nullopt; };
  absl::Status status_;
  std::array<std::byte, 6> header_{};  // of a PDU, or of a PDV in it
  size_t header_size_ = 0;
  uint8_t pdu_type_ = 0;
  bool knows_dicom_ = false;  // a PDU has begun as one does
  bool in_pdv_ = false;
  int64_t pdu_left_ = 0, pdv_left_ = 0;
  std::vector<std::byte> body_;  // of a PDU without PDVs
  // The message of which PDVs come: a command, or the data set that belongs to one.
  bool in_message_ = false, is_command_ = false, is_last_ = false, expects_data_set_ = false;
  uint8_t context_ = 0;
  std::vector<std::byte> command_;
  std::optional<DataSetScanner> data_set_;
};

}  // namespace isocenter::dicom
