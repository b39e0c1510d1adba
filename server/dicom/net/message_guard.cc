#include "server/dicom/net/message_guard.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/net/associate_check.h"
#include "server/dicom/net/command_check.h"
#include "server/dicom/net/stranger.h"

namespace isocenter::dicom {
namespace {

// Types of PDUs. Source: PS3.8, 9.3.
constexpr uint8_t kAssociateRequest = 1, kAssociateAccept = 2, kData = 4, kLastType = 7;
constexpr int64_t kOtherBytes = 4;  // of a PDU that rejects, releases or aborts
constexpr uint8_t kCommandBit = 1, kLastBit = 2;

uint32_t Length(std::span<const std::byte> bytes) {
  uint32_t length = 0;
  for (size_t i = 0; i < 4; ++i) length = length << 8 | std::to_integer<uint32_t>(bytes[i]);
  return length;
}

bool IsAssociate(uint8_t type) { return type == kAssociateRequest || type == kAssociateAccept; }

absl::Status Refuse(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("DICOM message: ", what));
}

}  // namespace

bool MessageGuard::Take(std::span<const std::byte> bytes) {
  while (status_.ok() && !bytes.empty()) status_ = TakeSome(bytes);
  return status_.ok();
}

absl::Status MessageGuard::TakeSome(std::span<const std::byte>& bytes) {
  const bool needs_header = pdu_left_ == 0 || (pdu_type_ == kData && !in_pdv_);
  if (needs_header) {
    const size_t taken = std::min(header_.size() - header_size_, bytes.size());
    std::copy_n(bytes.begin(), taken, header_.begin() + header_size_);
    bytes = bytes.subspan(taken);
    header_size_ += taken;
    if (header_size_ < header_.size()) return absl::OkStatus();
    header_size_ = 0;
    return pdu_left_ == 0 ? OnPduHeader() : OnPdvHeader();
  }
  const int64_t left = in_pdv_ ? pdv_left_ : pdu_left_;
  const auto taken = bytes.first(std::min<size_t>(left, bytes.size()));
  bytes = bytes.subspan(taken.size());
  pdu_left_ -= taken.size();
  if (!in_pdv_) {
    body_.insert(body_.end(), taken.begin(), taken.end());
    return pdu_left_ == 0 ? OnBody() : absl::OkStatus();
  }
  pdv_left_ -= taken.size();
  ISO_RETURN_IF_ERROR(OnFragment(taken));
  return pdv_left_ == 0 ? OnEndOfPdv() : absl::OkStatus();
}

absl::Status MessageGuard::OnPduHeader() {
  pdu_type_ = std::to_integer<uint8_t>(header_[0]);
  const int64_t length = Length(std::span(header_).subspan(2));
  if (pdu_type_ < kAssociateRequest || pdu_type_ > kLastType) {
    const absl::string_view stranger = knows_dicom_ ? "" : StrangerOf(header_);
    if (!stranger.empty()) return absl::InvalidArgumentError(stranger);
    return Refuse(absl::StrCat("a PDU has type ", pdu_type_, "; legal is 1 to 7"));
  }
  const bool has_fixed_length = pdu_type_ != kData && !IsAssociate(pdu_type_);
  const int64_t least = has_fixed_length ? kOtherBytes : header_.size();
  const int64_t most = has_fixed_length         ? kOtherBytes
                       : IsAssociate(pdu_type_) ? kAssociateBytes
                                                : kPduBytes;
  if (length < least || length > most) {
    return Refuse(absl::StrCat("a PDU of type ", pdu_type_, " has ", length, " bytes; legal is ",
                               least, " to ", most));
  }
  knows_dicom_ = true;
  pdu_left_ = length;
  body_.clear();
  return absl::OkStatus();
}

absl::Status MessageGuard::OnBody() const {
  if (!IsAssociate(pdu_type_)) return absl::OkStatus();
  return CheckAssociate(body_, pdu_type_ == kAssociateRequest);
}

absl::Status MessageGuard::OnPdvHeader() {
  const int64_t length = Length(header_);
  const int64_t most = pdu_left_ - 4;
  if (length < 2 || length > most) {
    return Refuse(
        absl::StrCat("a PDV has ", length, " bytes; legal is 2 to ", most, ", the end of its PDU"));
  }
  pdu_left_ -= header_.size();
  pdv_left_ = length - 2;
  if (pdu_left_ - pdv_left_ > 0 && pdu_left_ - pdv_left_ < int64_t(header_.size())) {
    return Refuse("a PDU ends inside of a PDV");
  }
  const uint8_t context = std::to_integer<uint8_t>(header_[4]);
  const uint8_t control = std::to_integer<uint8_t>(header_[5]);
  const bool is_command = (control & kCommandBit) != 0;
  if (!in_message_) {
    ISO_RETURN_IF_ERROR(BeginMessage(context, is_command));
  } else if (is_command != is_command_ || context != context_) {
    return Refuse("another message begins inside of one");
  }
  in_pdv_ = true;
  is_last_ = (control & kLastBit) != 0;
  return pdv_left_ == 0 ? OnEndOfPdv() : absl::OkStatus();
}

absl::Status MessageGuard::BeginMessage(uint8_t context, bool is_command) {
  if (is_command == expects_data_set_) {
    return Refuse(is_command ? "a command comes where a data set is announced"
                             : "a data set comes that no command announces");
  }
  const std::optional<DataSetEncoding> encoding = contexts_(context);
  if (!encoding || (!is_command && context != context_)) {
    return Refuse(absl::StrCat("presentation context ", context, "; legal is ",
                               is_command ? "one that was accepted" : "that of the command"));
  }
  in_message_ = true;
  is_command_ = is_command;
  context_ = context;
  command_.clear();
  data_set_.emplace(*encoding, kDataSet);
  return absl::OkStatus();
}

absl::Status MessageGuard::OnFragment(std::span<const std::byte> bytes) {
  if (!is_command_) return data_set_->Take(bytes);
  if (command_.size() + bytes.size() > kCommandBytes) {
    return Refuse(absl::StrCat("a command is longer; legal is up to ", kCommandBytes, " bytes"));
  }
  command_.insert(command_.end(), bytes.begin(), bytes.end());
  return CheckCommand(command_).status();
}

absl::Status MessageGuard::OnEndOfPdv() {
  in_pdv_ = false;
  in_message_ = !is_last_;
  if (!is_last_) return absl::OkStatus();
  if (!is_command_) {
    expects_data_set_ = false;
    return data_set_->End();
  }
  ISO_ASSIGN_OR_RETURN(const CommandFacts command, CheckCommand(command_));
  if (!command.is_whole) return Refuse("a command ends inside of an element");
  expects_data_set_ = command.announces_data_set;
  return absl::OkStatus();
}

}  // namespace isocenter::dicom
