#include "client/formats/dicom/file_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/formats/dicom/deidentify.h"
#include "client/formats/dicom/xa_run.h"
#include "client/formats/dicom_series.h"
#include "tests/client/test_files.h"
#include "tests/proto/dicom/data_set_bytes.h"

namespace isocenter::formats {
namespace {

using client_test::TemporaryDirectory;
using client_test::WriteBytes;
using dicom::Explicit;
using dicom::NestedSequences;
using ::testing::HasSubstr;

constexpr char kExplicitSyntax[] = "1.2.840.10008.1.2.1", kImplicitSyntax[] = "1.2.840.10008.1.2";
constexpr int kDeep = 200'000;

std::string File(const std::string& meta, const std::string& data_set) {
  std::string bytes(128, '\0');
  bytes += "DICM";
  bytes += Explicit(0x00020000, "UL", dicom::Bytes(static_cast<uint32_t>(meta.size()), 4));
  return bytes.append(meta).append(data_set);
}

std::string Meta(std::string transfer_syntax) {
  if (transfer_syntax.size() % 2 != 0) transfer_syntax += '\0';
  return Explicit(0x00020002, "UI", std::string("1.2.840.10008.5.1.4.1.1.2\0", 26)) +
         Explicit(0x00020010, "UI", transfer_syntax);
}

std::string Refusal(const std::string& bytes) {
  return std::string(CheckDicomFile(std::as_bytes(std::span(bytes))).message());
}

TEST(DicomFileBounds, LegalFiles) {
  const std::string text = Explicit(0x00100010, "PN", "Doe^Jane");
  EXPECT_EQ(Refusal(File(Meta(kExplicitSyntax), text + NestedSequences(16, false))), "");
  EXPECT_EQ(Refusal(File(Meta(kImplicitSyntax), NestedSequences(16, true))), "");
  EXPECT_EQ(Refusal(File(Meta(kExplicitSyntax), "")), "");
  // Pixels are passed over; what follows them is not.
  const std::string pixels = Explicit(0x7fe00010, "OW", std::string(100'000, '\xfe'));
  EXPECT_EQ(Refusal(File(Meta(kExplicitSyntax), pixels + NestedSequences(16, false))), "");
  EXPECT_THAT(Refusal(File(Meta(kExplicitSyntax), pixels + NestedSequences(17, false))),
              HasSubstr("nested deeper; legal is up to 16 levels"));
}

TEST(DicomFileBounds, WhatIsNoFileIsNamed) {
  const std::string data = Explicit(0x00100010, "PN", "Doe^Jane");
  EXPECT_THAT(Refusal("short"), HasSubstr("it has 5 bytes; legal is 144 and more"));
  EXPECT_THAT(Refusal(std::string(500, 'x')), HasSubstr("preamble"));
  EXPECT_THAT(Refusal(File(Meta("1.2.840.10008.1.2.1.99"), data)),
              HasSubstr("transfer syntax is '1.2.840.10008.1.2.1.99'; legal"));
  EXPECT_THAT(Refusal(File(Meta("1.2.3"), data)), HasSubstr("transfer syntax is '1.2.3'"));
  EXPECT_THAT(Refusal(File("", data)), HasSubstr("transfer syntax is ''"));
  EXPECT_THAT(Refusal(File(Meta(kExplicitSyntax) + data, data)),
              HasSubstr("(0010,0010) of 8 bytes follows (0002,0010)"));
  EXPECT_THAT(Refusal(File(Meta(kExplicitSyntax) + Meta(kImplicitSyntax), data)),
              HasSubstr("ascending order"));
  EXPECT_THAT(Refusal(File(Meta(kExplicitSyntax), data.substr(0, 12))),
              HasSubstr("truncated: it ends inside of an element, after"));
  EXPECT_THAT(Refusal(""), HasSubstr("truncated: it is empty, 0 bytes"));
  EXPECT_THAT(Refusal(File(Meta(kExplicitSyntax), data).substr(0, 180)),
              HasSubstr("truncated: group 0002 has 62 bytes, of which there are 36"));
  EXPECT_THAT(Refusal(File(Meta(kExplicitSyntax), data + Explicit(0x00100020, "LO", "ID"))
                          .substr(0, 144 + 62 + 16 + 9)),
              HasSubstr("truncated"));
  std::string claims = File(Meta(kExplicitSyntax), data);
  claims.replace(140, 4, "\xff\xff\xff\x7f");
  EXPECT_THAT(Refusal(claims), HasSubstr("group 0002 has 2147483647 bytes"));
}

// Readers of files that would overflow the stack of DCMTK's parser.
TEST(DicomFileBounds, DeepFilesAreRefused) {
  const TemporaryDirectory directory;
  const std::string deep = File(Meta(kExplicitSyntax), NestedSequences(kDeep, false));
  WriteBytes(directory / "deep.dcm", deep);
  const auto refused = HasSubstr("legal is up to 16 levels");
  EXPECT_THAT(ReadDicomSeries(directory.path()).status().ToString(), refused);
  EXPECT_THAT(ReadDicomSeries(directory.path()).status().ToString(), HasSubstr("deep.dcm"));
  const auto run = OpenXaRun(directory / "deep.dcm", "", std::nullopt);
  EXPECT_THAT(run.status().ToString(), refused);
  EXPECT_THAT(run.status().ToString(), HasSubstr("deep.dcm"));
  const auto deidentifier = Deidentifier::Create(std::string(32, 'k'), {});
  ASSERT_TRUE(deidentifier.ok());
  EXPECT_THAT(deidentifier->Clean(std::as_bytes(std::span(deep))).status().ToString(), refused);
}

}  // namespace
}  // namespace isocenter::formats
