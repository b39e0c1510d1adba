// Messages of an association, written byte by byte. Source: DICOM PS3.8, 9.3; PS3.7, annex E.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/proto/dicom/data_set_bytes.h"

namespace isocenter::dicom {

inline std::string BigEndian(uint32_t number, int bytes) {
  const std::string little = Bytes(number, bytes);
  return {little.rbegin(), little.rend()};
}

inline std::string Pdu(int type, const std::string& body) {
  return Bytes(type, 2) + BigEndian(static_cast<uint32_t>(body.size()), 4) + body;
}

/// An item of a PDU.
inline std::string PduItem(int type, const std::string& content) {
  return Bytes(type, 2) + BigEndian(static_cast<uint32_t>(content.size()), 2) + content;
}

/// What a PDU that requests or accepts an association begins with.
inline std::string AssociateBegin() {
  return BigEndian(1, 2) + Bytes(0, 2) + "ISOCENTER       " + "RAW             " +
         std::string(32, '\0') + PduItem(0x10, "1.2.840.10008.3.1.1.1");
}

inline std::string UserInformation(const std::string& more = "") {
  return PduItem(0x50, PduItem(0x51, BigEndian(16384, 4)) + PduItem(0x52, "1.2.3") + more);
}

/// One presentation context, number 1.
inline std::string AssociateRequest(const std::string& sop_class,
                                    const std::string& transfer_syntax) {
  return Pdu(1, AssociateBegin() +
                    PduItem(0x20, Bytes(1, 4) + PduItem(0x30, sop_class) +
                                      PduItem(0x40, transfer_syntax)) +
                    UserInformation());
}

inline std::string AssociateAccept(const std::string& transfer_syntax) {
  return Pdu(2, AssociateBegin() + PduItem(0x21, Bytes(1, 4) + PduItem(0x40, transfer_syntax)) +
                    UserInformation());
}

/// A PDU of one PDV.
inline std::string DataPdu(bool is_command, bool is_last, const std::string& bytes,
                           int context = 1) {
  return Pdu(4, BigEndian(static_cast<uint32_t>(bytes.size() + 2), 4) + Bytes(context, 1) +
                    Bytes((is_command ? 1 : 0) | (is_last ? 2 : 0), 1) + bytes);
}

/// As many PDUs as the other side may want it in.
inline std::string DataSet(const std::string& bytes, size_t most = 16000) {
  std::string pdus;
  for (size_t at = 0; at < bytes.size(); at += most) {
    pdus += DataPdu(false, at + most >= bytes.size(), bytes.substr(at, most));
  }
  return pdus;
}

inline std::string UidValue(std::string uid) {
  if (uid.size() % 2 != 0) uid += '\0';
  return uid;
}

/// A command with `fields` behind the usual ones: SOP class, command, message id, data set.
inline std::string Command(const std::string& sop_class, int command, bool has_data_set,
                           const std::vector<std::pair<int, std::string>>& fields = {},
                           bool answers = false) {
  std::vector<std::pair<int, std::string>> all = {
      {0x0002, UidValue(sop_class)},
      {0x0100, Bytes(command, 2)},
      {answers ? 0x0120 : 0x0110, Bytes(1, 2)},
      {0x0800, Bytes(has_data_set ? 0x0000 : 0x0101, 2)}};
  all.insert(all.end(), fields.begin(), fields.end());
  std::sort(all.begin(), all.end());
  std::string bytes;
  for (const auto& [element, value] : all) bytes += Implicit(static_cast<uint32_t>(element), value);
  return Implicit(0, Bytes(static_cast<uint32_t>(bytes.size()), 4)) + bytes;
}

}  // namespace isocenter::dicom
