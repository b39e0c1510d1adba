#include "server/dicom/net/message_guard.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dicom/net/associate_check.h"
#include "server/dicom/net/command_check.h"
#include "tests/server/dicom/raw_messages.h"

namespace isocenter::dicom {
namespace {

using ::testing::HasSubstr;

constexpr char kClass[] = "1.2.840.10008.5.1.4.1.2.2.1";
constexpr int kFind = 0x0020, kEcho = 0x0030;

/// Why bytes are refused, whole and in pieces; "" where they are not. Context 1 is explicit, 3
/// implicit.
std::string Refusal(const std::string& bytes) {
  std::string reasons;
  for (const size_t piece : {bytes.size(), size_t{1}, size_t{7}}) {
    MessageGuard guard;
    guard.set_contexts([](uint8_t context) -> std::optional<DataSetEncoding> {
      if (context != 1 && context != 3) return std::nullopt;
      return DataSetEncoding{.implicit_vr = context == 3};
    });
    bool taken = true;
    for (size_t at = 0; at < bytes.size() && taken; at += piece) {
      const std::string next = bytes.substr(at, piece);
      taken = guard.Take(std::as_bytes(std::span(next)));
    }
    EXPECT_EQ(taken, guard.status().ok());
    const std::string reason(guard.status().message());
    if (piece == bytes.size()) reasons = reason;
    EXPECT_EQ(reason, reasons) << "in pieces of " << piece;
  }
  return reasons;
}

std::string Find(bool has_data_set = true) {
  return DataPdu(true, true, Command(kClass, kFind, has_data_set));
}

TEST(MessageGuard, LegalMessages) {
  const std::string keys = Explicit(0x00080052, "CS", "STUDY ");
  EXPECT_EQ(Refusal(AssociateRequest(kClass, "1.2.840.10008.1.2")), "");
  EXPECT_EQ(Refusal(AssociateAccept("1.2.840.10008.1.2")), "");
  EXPECT_EQ(Refusal(Find() + DataSet(keys, 5) + Find() + DataSet(keys) + Find(false) + Find(false)),
            "");
  // Command and data set in one PDU, fragments of no bytes, and a release.
  const std::string command = Command(kClass, kFind, true);
  const auto pdv = [](int control, const std::string& bytes) {
    return BigEndian(static_cast<uint32_t>(bytes.size() + 2), 4) + Bytes(1, 1) + Bytes(control, 1) +
           bytes;
  };
  EXPECT_EQ(Refusal(Pdu(4, pdv(1, command) + pdv(3, "") + pdv(0, keys) + pdv(2, "")) +
                    Pdu(5, Bytes(0, 4))),
            "");
  // An echo has no data set, whatever it says.
  EXPECT_EQ(Refusal(DataPdu(true, true, Command(kClass, kEcho, true)) + Find()), "");
}

TEST(MessageGuard, WhoSpeaksNoDicomIsNamed) {
  for (const std::string web : {"HTTP/1.1 400 Bad Request\r\n", "GET / HTTP/1.1\r\n\r\n"}) {
    EXPECT_THAT(Refusal(web), HasSubstr("speaks HTTP, as web servers and browsers do")) << web;
  }
  for (const std::string& grpc :
       {std::string("PRI * HTTP/2.0\r\n"), Bytes(0, 3) + Bytes(4, 1) + Bytes(0, 5)}) {
    EXPECT_THAT(Refusal(grpc), HasSubstr("speaks HTTP/2, as gRPC does")) << grpc;
  }
  // A greeting, and an alert.
  for (const std::string tls : {"\x16\x03\x01\x02\x05\x01", "\x15\x03\x03\x01\x02\x02"}) {
    EXPECT_THAT(Refusal(tls),
                HasSubstr("speaks TLS, and this connection has none; check the port"));
  }
}

TEST(MessageGuard, Frames) {
  EXPECT_THAT(Refusal(Pdu(9, "abcd")), HasSubstr("type 9; legal is 1 to 7"));
  EXPECT_THAT(Refusal(Pdu(7, "abcde")), HasSubstr("5 bytes; legal is 4 to 4"));
  EXPECT_THAT(Refusal(Bytes(4, 2) + BigEndian(0xfffffff0, 4)), HasSubstr("legal is 6 to 1048576"));
  EXPECT_THAT(Refusal(Bytes(1, 2) + BigEndian(0xfffffff0, 4)), HasSubstr("legal is 6 to 262144"));
  EXPECT_THAT(Refusal(Pdu(4, BigEndian(1, 4) + "\x01\x03")), HasSubstr("1 bytes; legal is 2 to 2"));
  EXPECT_THAT(Refusal(Pdu(4, BigEndian(9, 4) + "\x01\x03")), HasSubstr("9 bytes; legal is 2 to 2"));
  EXPECT_THAT(Refusal(Pdu(4, BigEndian(2, 4) + "\x01\x03rest")), HasSubstr("inside of a PDV"));
}

TEST(MessageGuard, CommandsAndDataSetsTakeTurns) {
  const std::string keys = Explicit(0x00080052, "CS", "STUDY ");
  EXPECT_THAT(Refusal(DataSet(keys)), HasSubstr("that no command announces"));
  EXPECT_THAT(Refusal(Find(false) + DataSet(keys)), HasSubstr("that no command announces"));
  EXPECT_THAT(Refusal(Find() + DataSet(keys) + DataSet(keys)), HasSubstr("no command announces"));
  EXPECT_THAT(Refusal(DataPdu(true, true, Command(kClass, kEcho, true)) + DataSet(keys)),
              HasSubstr("no command announces"));
  EXPECT_THAT(Refusal(Find() + Find()), HasSubstr("where a data set is announced"));
  EXPECT_THAT(Refusal(DataPdu(true, false, "") + DataSet(keys)), HasSubstr("inside of one"));
  EXPECT_THAT(Refusal(Find() + DataPdu(false, true, keys, 3)),
              HasSubstr("context 3; legal is that of the command"));
  EXPECT_THAT(Refusal(DataPdu(true, true, Command(kClass, kFind, true), 5)),
              HasSubstr("context 5; legal is one that was accepted"));
}

TEST(MessageGuard, DataSetsAreBounded) {
  EXPECT_THAT(Refusal(Find() + DataSet(NestedSequences(17, false))), HasSubstr("up to 16 levels"));
  EXPECT_THAT(Refusal(Find() + DataSet(Header(0x00080000, "UT", 1 << 20))),
              HasSubstr("a length is 1048576; legal is up to 1048564"));
  std::string many;
  for (int i = 0; i < 16385; ++i) many += Explicit(0x00080000, "CS", "");
  EXPECT_THAT(Refusal(Find() + DataSet(many)), HasSubstr("more elements; legal is up to 16384"));
  EXPECT_THAT(Refusal(Find() + DataSet("incomplete")), HasSubstr("VR"));
}

std::string CommandRefusal(const std::string& bytes) {
  return std::string(CheckCommand(std::as_bytes(std::span(bytes))).status().message());
}

TEST(CommandCheck, HoldsNoSequences) {
  EXPECT_EQ(CommandRefusal(Command(kClass, kFind, true)), "");
  EXPECT_THAT(CommandRefusal(NestedSequences(1, true)), HasSubstr("elements of group 0000"));
  EXPECT_THAT(CommandRefusal(Header(0x00000901, kUndefinedLength)),
              HasSubstr("(0000,0901) has length 4294967295; legal is up to 16384"));
  EXPECT_THAT(CommandRefusal(Implicit(0x100, "ab") + Implicit(0x100, "ab")),
              HasSubstr("ascending order"));
  const auto facts = [](const std::string& bytes) {
    return *CheckCommand(std::as_bytes(std::span(bytes)));
  };
  const std::string find = Command(kClass, kFind, true);
  EXPECT_TRUE(facts(find).announces_data_set);
  EXPECT_FALSE(facts(Command(kClass, kFind, false)).announces_data_set);
  EXPECT_FALSE(facts(Command(kClass, kEcho, true)).announces_data_set);
  EXPECT_TRUE(facts(find).is_whole);
  EXPECT_FALSE(facts(find.substr(0, find.size() - 1)).is_whole);
  EXPECT_THAT(Refusal(DataPdu(true, true, find.substr(0, 30))), HasSubstr("ends inside"));
  std::string longest;
  for (int i = 1; i < 2100; ++i) longest += Implicit(static_cast<uint32_t>(i), "");
  EXPECT_THAT(Refusal(DataPdu(true, true, longest)), HasSubstr("up to 16384 bytes"));
}

TEST(AssociateCheck, MalformedRequestsAreRefused) {
  const auto refusal = [](const std::string& items, bool is_request = true) {
    const std::string body = AssociateBegin() + items;
    return std::string(CheckAssociate(std::as_bytes(std::span(body)), is_request).message());
  };
  const auto context = [](const std::string& items) { return PduItem(0x20, Bytes(1, 4) + items); };
  const std::string abstract = PduItem(0x30, "1.2.3"), transfer = PduItem(0x40, "1.2.4");
  EXPECT_EQ(refusal(context(abstract + transfer + transfer) + UserInformation()), "");
  EXPECT_EQ(refusal(PduItem(0x77, "unknown") + context(abstract + transfer)), "");
  EXPECT_THAT(refusal(context(transfer)), HasSubstr("30H comes 0 times; legal is 1 to 1"));
  EXPECT_THAT(refusal(context(abstract)), HasSubstr("40H comes 0 times"));
  EXPECT_THAT(refusal(context(abstract + PduItem(0x40, std::string(65, '1')))),
              HasSubstr("40H has 65 bytes; legal is 0 to 64"));
  EXPECT_THAT(refusal(context(abstract + transfer +
                              std::string("\x40\0\0\x09"
                                          "1.2",
                                          7))),
              HasSubstr("40H has 9 bytes; legal is up to 3"));
  EXPECT_THAT(refusal(PduItem(0x20, "abc")), HasSubstr("20H has 3 bytes; legal is 4 to"));
  EXPECT_THAT(refusal("\x20"), HasSubstr("ends inside"));
  EXPECT_THAT(refusal(UserInformation() + UserInformation()), HasSubstr("50H comes 2 times"));
  EXPECT_THAT(refusal(PduItem(0x21, Bytes(1, 4) + transfer)), HasSubstr("21H comes 1 times"));
  std::string many;
  for (int i = 0; i < 129; ++i) many += context(abstract + transfer);
  EXPECT_THAT(refusal(many), HasSubstr("129 times; legal is 0 to 128"));

  const auto user = [&](int type, const std::string& content) {
    return refusal(UserInformation(PduItem(type, content)));
  };
  EXPECT_EQ(user(0x54, BigEndian(5, 2) + "1.2.3" + Bytes(0, 2)), "");
  EXPECT_THAT(user(0x54, BigEndian(6, 2) + "1.2.3" + Bytes(0, 2)), HasSubstr("legal is 0 to 5"));
  EXPECT_THAT(user(0x54, BigEndian(70, 2) + std::string(72, '1')), HasSubstr("legal is 0 to 64"));
  EXPECT_EQ(user(0x56, BigEndian(5, 2) + "1.2.3more"), "");
  EXPECT_THAT(user(0x56, "1"), HasSubstr("legal is 2 to"));
  EXPECT_THAT(user(0x51, "abc"), HasSubstr("51H has 3 bytes; legal is 4 to 4"));
  const std::string identity = Bytes(1, 2) + BigEndian(3, 2) + "joe" + BigEndian(0, 2);
  EXPECT_EQ(user(0x58, identity), "");
  EXPECT_THAT(user(0x58, identity + "x"), HasSubstr("58H has 0 bytes; legal is 1 to 1"));
  EXPECT_THAT(user(0x59, BigEndian(0, 2)), HasSubstr("58H comes 2 times"));
  EXPECT_THAT(refusal(UserInformation(PduItem(0x58, identity) + PduItem(0x58, identity))),
              HasSubstr("58H comes 2 times; legal is 0 to 1"));
  // What a refused context holds has no meaning.
  EXPECT_EQ(refusal(PduItem(0x21, Bytes(1, 2) + Bytes(3, 2)), /*is_request=*/false), "");
  EXPECT_THAT(refusal(PduItem(0x21, Bytes(1, 4)), /*is_request=*/false), HasSubstr("0 times"));
  const std::string other_version = BigEndian(2, 2) + AssociateBegin().substr(2);
  EXPECT_THAT(std::string(CheckAssociate(std::as_bytes(std::span(other_version)), true).message()),
              HasSubstr("protocol version 0002H"));
}

}  // namespace
}  // namespace isocenter::dicom
