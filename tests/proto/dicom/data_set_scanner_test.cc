#include "proto/dicom/data_set_scanner.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/proto/dicom/data_set_bytes.h"

namespace isocenter::dicom {
namespace {

using ::testing::HasSubstr;

constexpr DataSetEncoding kExplicit, kImplicit{.implicit_vr = true};
constexpr uint32_t kSequence = 0x00081115, kText = 0x00100010, kPixelData = 0x7fe00010;

absl::Status Scan(const std::string& bytes, const DataSetEncoding& encoding,
                  DataSetLimits limits = {}, size_t piece = 1 << 30) {
  DataSetScanner scanner(encoding, limits);
  auto rest = std::as_bytes(std::span(bytes));
  while (!rest.empty()) {
    const auto next = rest.first(std::min(piece, rest.size()));
    if (absl::Status taken = scanner.Take(next); !taken.ok()) return taken;
    rest = rest.subspan(next.size());
  }
  return scanner.End();
}

/// Why it is refused, whole and in pieces; "" where it is not.
std::string Refusal(const std::string& bytes, const DataSetEncoding& encoding,
                    DataSetLimits limits = {}) {
  const absl::Status whole = Scan(bytes, encoding, limits);
  for (const size_t piece : {1, 3, 8}) {
    EXPECT_EQ(Scan(bytes, encoding, limits, piece), whole) << "in pieces of " << piece;
  }
  return std::string(whole.message());
}

TEST(DataSetScanner, LegalDataSets) {
  const std::string text = Explicit(kText, "PN", "Doe^Jane");
  const std::string item = Header(0xfffee000, kUndefinedLength) + text + EndOfItem();
  EXPECT_EQ(Refusal("", kExplicit), "");
  EXPECT_EQ(Refusal(text, kExplicit), "");
  EXPECT_EQ(Refusal(Explicit(kSequence, "SQ", ""), kExplicit), "");
  EXPECT_EQ(Refusal(Explicit(kSequence, "SQ", Item(text) + Item("") + item) + text, kExplicit), "");
  EXPECT_EQ(Refusal(Header(kSequence, "SQ", kUndefinedLength) + item + Item(text) +
                        EndOfSequence() + text,
                    kExplicit),
            "");
  // Of unknown VR and length: implicit VR from there on (PS3.5, 6.2.2 note 2).
  EXPECT_EQ(Refusal(Header(0x00091001, "UN", kUndefinedLength) + Item(Implicit(kText, "Doe^Jane")) +
                        EndOfSequence() + text,
                    kExplicit),
            "");
  EXPECT_EQ(Refusal(Implicit(kText, "Doe^Jane") + Implicit(kSequence, Item(Implicit(kText, ""))) +
                        Implicit(kText, "ab"),
                    kImplicit),
            "");
  EXPECT_EQ(Refusal(NestedSequences(16, true) + NestedSequences(16, true), kImplicit), "");
  EXPECT_EQ(Refusal(NestedSequences(16, false), kExplicit), "");
  // One byte of padding at the end.
  EXPECT_EQ(Refusal(text + std::string(1, '\0'), kExplicit), "");
}

TEST(DataSetScanner, PixelData) {
  // What begins like an item in pixels is none.
  const std::string like_item("\xfe\xff\x00\xe0\xff\xff\xff\xff", 8);
  EXPECT_EQ(Refusal(Implicit(kPixelData, like_item), kImplicit), "");
  EXPECT_EQ(Refusal(Explicit(kPixelData, "OW", like_item), kExplicit), "");
  const std::string fragments = Header(kPixelData, "OB", kUndefinedLength) + Item("") +
                                Item(std::string(100, '\xfe')) + EndOfSequence();
  EXPECT_EQ(Refusal(fragments, kExplicit), "");
  EXPECT_THAT(Refusal(Header(kPixelData, "OB", kUndefinedLength) +
                          Header(0xfffee000, kUndefinedLength) + EndOfItem() + EndOfSequence(),
                      kExplicit),
              HasSubstr("fragment"));
  EXPECT_THAT(Refusal(Header(kPixelData, kUndefinedLength) + Item("") + EndOfSequence(), kImplicit),
              HasSubstr("implicit VR"));
}

TEST(DataSetScanner, DepthIsBounded) {
  for (const bool implicit_vr : {false, true}) {
    const std::string refusal =
        Refusal(NestedSequences(17, implicit_vr), {.implicit_vr = implicit_vr});
    EXPECT_THAT(refusal, HasSubstr("nested deeper; legal is up to 16 levels"));
    EXPECT_THAT(refusal, HasSubstr(absl::StrCat("byte ", 16 * (implicit_vr ? 16 : 20))));
  }
  EXPECT_THAT(Refusal(NestedSequences(5625, false, /*delimited=*/false), kExplicit),
              HasSubstr("nested deeper"));
  // With lengths.
  std::string defined;
  for (int i = 0; i < 17; ++i) defined = Implicit(kSequence, Item(defined));
  EXPECT_THAT(Refusal(defined, kImplicit), HasSubstr("nested deeper"));
  // Implicit VR in what has no known VR.
  EXPECT_THAT(Refusal(Header(0x00091001, "UN", kUndefinedLength) +
                          Header(0xfffee000, kUndefinedLength) + NestedSequences(16, true),
                      kExplicit),
              HasSubstr("nested deeper"));
  EXPECT_EQ(Scan(NestedSequences(3, true), kImplicit, {.depth = 2}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(DataSetScanner, ElementsAreCounted) {
  std::string text;
  for (int i = 0; i < 10; ++i) text += Implicit(kText, "");
  EXPECT_EQ(Refusal(text, kImplicit, {.elements = 10}), "");
  EXPECT_THAT(Refusal(text, kImplicit, {.elements = 9}), HasSubstr("legal is up to 9"));
}

TEST(DataSetScanner, LengthsLieInWhatTheyAreIn) {
  const std::string text = Implicit(kText, "Doe^Jane");
  EXPECT_EQ(Refusal(text, kImplicit, {.bytes = 16}), "");
  EXPECT_THAT(Refusal(text, kImplicit, {.bytes = 15}),
              HasSubstr("a length is 8; legal is up to 7"));
  EXPECT_THAT(Refusal(Header(kText, 9) + "Doe^Jane", kImplicit), HasSubstr("ends inside"));
  // An item that is longer than its sequence, an element that is longer than its item, and one
  // whose header is cut.
  EXPECT_THAT(Refusal(Header(kSequence, 16) + Header(0xfffee000, 24) + text + text, kImplicit),
              HasSubstr("legal is up to 8"));
  EXPECT_THAT(
      Refusal(Implicit(kSequence, Header(0xfffee000, 16) + Header(kText, 16) + text), kImplicit),
      HasSubstr("legal is up to 8"));
  EXPECT_THAT(Refusal(Header(kSequence, 12) + Header(0xfffee000, 4) + text, kImplicit),
              HasSubstr("inside of an element"));
  EXPECT_THAT(Refusal(Header(kSequence, 4) + Header(0xfffee000, 0) + text, kImplicit),
              HasSubstr("begins like an item"));
  EXPECT_THAT(Refusal(Explicit(kSequence, "SQ", "abcd") + Explicit(kText, "PN", "x"), kExplicit),
              HasSubstr("inside of an element"));
  // Without its delimiter at the end of what it is in.
  EXPECT_THAT(
      Refusal(Implicit(kSequence, Header(0xfffee000, kUndefinedLength) + text) + text, kImplicit),
      HasSubstr("has no delimiter"));
}

TEST(DataSetScanner, WhatReadersUnderstandDifferentlyIsRefused) {
  const std::string text = Implicit(kText, "Doe^Jane");
  // A delimiter ends a sequence early for some.
  EXPECT_THAT(Refusal(Implicit(kSequence, EndOfSequence() + NestedSequences(17, true)), kImplicit),
              HasSubstr("begins like an item and is none"));
  EXPECT_THAT(Refusal(Explicit(kSequence, "SQ", EndOfSequence()), kExplicit),
              HasSubstr("a delimiter where"));
  EXPECT_THAT(Refusal(Implicit(kSequence, Item(text) + EndOfItem()), kImplicit),
              HasSubstr("(fffe,e00d) in a sequence"));
  EXPECT_THAT(Refusal(Implicit(kSequence, Item(text + EndOfItem())), kImplicit),
              HasSubstr("a delimiter where"));
  EXPECT_THAT(Refusal(EndOfItem(), kImplicit), HasSubstr("a delimiter where"));
  EXPECT_THAT(Refusal(Item(text), kExplicit), HasSubstr("(fffe,e000) between elements"));
  EXPECT_THAT(Refusal(Header(kSequence, kUndefinedLength) + text, kImplicit),
              HasSubstr("(0010,0010) in a sequence; legal are items"));
  EXPECT_THAT(
      Refusal(Header(kSequence, kUndefinedLength) + Header(0xfffee0dd, 8) + text, kImplicit),
      HasSubstr("a delimiter has length 8; legal is 0"));
  // A value that is too short for a tag, and what follows makes it one.
  EXPECT_EQ(Refusal(Implicit(kText, "\xfe\xff") + text, kImplicit), "");
  EXPECT_THAT(Refusal(Implicit(kSequence, "\xfe\xff") + std::string("\x00\xe0\xff\xff\xff\xff", 6) +
                          NestedSequences(17, true),
                      kImplicit),
              HasSubstr("an item begins inside of a value"));
  EXPECT_THAT(Refusal(Explicit(kText, "XX", "ab"), kExplicit),
              HasSubstr("(0010,0010) has VR 'XX'"));
  EXPECT_THAT(Refusal(Header(kText, "UT", kUndefinedLength), kExplicit), HasSubstr("no length"));
}

TEST(DataSetScanner, BigEndian) {
  const std::string text(
      "\x00\x10\x00\x10PN\x00\x02"
      "ab",
      10);
  EXPECT_EQ(Refusal(text, {.big_endian = true}), "");
  EXPECT_THAT(Refusal(text, kExplicit), HasSubstr("ends inside"));
  std::string nested;
  for (int i = 0; i < 17; ++i) {
    nested += std::string("\x00\x08\x11\x15SQ\x00\x00\xff\xff\xff\xff", 12) +
              std::string("\xff\xfe\xe0\x00\xff\xff\xff\xff", 8);
  }
  EXPECT_THAT(Refusal(nested, {.big_endian = true}), HasSubstr("nested deeper"));
}

TEST(DataSetScanner, ValuesCanBeSkipped) {
  DataSetScanner scanner(kExplicit, {});
  const std::string header = Header(kPixelData, "OW", 1 << 30);
  ASSERT_TRUE(scanner.Take(std::as_bytes(std::span(header))).ok());
  EXPECT_EQ(scanner.skippable(), 1 << 30);
  EXPECT_FALSE(scanner.End().ok());
  scanner.Skip(1 << 29);
  EXPECT_EQ(scanner.skippable(), 1 << 29);
  scanner.Skip(1 << 29);
  EXPECT_TRUE(scanner.End().ok());
  const std::string text = Explicit(kText, "PN", "ab");
  EXPECT_TRUE(scanner.Take(std::as_bytes(std::span(text))).ok());
  EXPECT_TRUE(scanner.End().ok());
}

}  // namespace
}  // namespace isocenter::dicom
