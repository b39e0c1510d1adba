#include <deque>

#include "absl/time/clock.h"
#include "tests/attack/attacks.h"
#include "tests/fault/raw_connection.h"
#include "tests/server/dicom/raw_messages.h"

namespace isocenter::testing {
namespace {

constexpr char kStudyRootFind[] = "1.2.840.10008.5.1.4.1.2.2.1";
constexpr char kImplicitLittleEndian[] = "1.2.840.10008.1.2";
constexpr int kFindRequest = 0x0020;

std::string Request() { return dicom::AssociateRequest(kStudyRootFind, kImplicitLittleEndian); }

void SilentAssociations(const Target& target, Chance& chance) {
  std::deque<RawConnection> held;
  for (int i = 0; i < 60; ++i) {
    held.emplace_back(target.dicom_port(), kAttacker);
    if (chance.OneIn(2)) held.back().Send(Request());
  }
  absl::SleepFor(absl::Seconds(kHoldSeconds));
}

void NestedSequences(const Target& target, Chance& chance) {
  for (int i = 0; i < 20; ++i) {
    RawConnection connection(target.dicom_port(), kAttacker);
    connection.Send(Request());
    connection.Read();
    connection.Send(dicom::DataPdu(true, true, dicom::Command(kStudyRootFind, kFindRequest, true)));
    connection.Send(
        dicom::DataSet(dicom::NestedSequences(static_cast<int>(chance.Integer(1, 40000)), true)));
    connection.Read();
  }
}

// Whole PDUs in which some bytes are others, one after the other or cut off.
void MutatedPdus(const Target& target, Chance& chance) {
  const std::string valid =
      Request() + dicom::DataPdu(true, true, dicom::Command(kStudyRootFind, kFindRequest, true)) +
      dicom::DataSet(dicom::Implicit(0x00080052, "STUDY ") + dicom::Implicit(0x00100020, ""));
  for (int i = 0; i < 60; ++i) {
    std::string bytes = valid;
    for (int64_t change = chance.Integer(1, 8); change > 0; --change) {
      bytes[chance.Integer(0, bytes.size() - 1)] = static_cast<char>(chance.Integer(0, 255));
    }
    if (chance.OneIn(3)) bytes.resize(chance.Integer(0, bytes.size()));
    RawConnection connection(target.dicom_port(), kAttacker);
    connection.Send(bytes);
    connection.Read();
  }
}

void ClaimsOfLength(const Target& target, Chance& chance) {
  std::deque<RawConnection> held;
  for (int i = 0; i < 20; ++i) {
    held.emplace_back(target.dicom_port(), kAttacker);
    held.back().Send(dicom::Bytes(static_cast<uint32_t>(chance.Integer(1, 7)), 2) +
                     std::string("\xff\xff\xff\xf0") + RandomBytes(chance, 100000));
  }
  absl::SleepFor(absl::Seconds(kHoldSeconds));
}

}  // namespace

std::vector<Attack> DicomAttacks() {
  return {{"silent associations", SilentAssociations},
          {"nested sequences", NestedSequences},
          {"mutated PDUs", MutatedPdus},
          {"claims of length", ClaimsOfLength}};
}

}  // namespace isocenter::testing
