#include "server/dicomweb/media_types.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace isocenter::dicomweb {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const std::vector<Form> kObject = {
    {.type = "application/dicom", .multipart = true, .transfer_syntax = "1.2.840.10008.1.2.1"},
    {.type = "application/dicom", .transfer_syntax = "1.2.840.10008.1.2.1"}};

/// What the header is answered with; "none" or "illegal" where it is not.
std::string Chosen(const std::string& accept, const std::vector<Form>& forms = kObject) {
  const auto ranges = ParseAccept(accept);
  if (!ranges.ok()) return "illegal";
  const auto form = Choose(*ranges, forms);
  return form ? form->Text() : "none";
}

TEST(MediaTypesTest, PartsOfARange) {
  const auto ranges = ParseAccept(
      "Multipart/Related; Type=\"application/dicom\" ; transfer-syntax=*;q=0.5, image/png "
      ",*/*;q=0");
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  ASSERT_EQ(ranges->size(), 3u);
  EXPECT_EQ((*ranges)[0].type, "multipart/related");
  EXPECT_THAT((*ranges)[0].parameters, UnorderedElementsAre(Pair("type", "application/dicom"),
                                                            Pair("transfer-syntax", "*")));
  EXPECT_EQ((*ranges)[0].quality, 0.5);
  EXPECT_EQ((*ranges)[1].type, "image/png");
  EXPECT_EQ((*ranges)[2].quality, 0);
}

TEST(MediaTypesTest, QuotesHoldCommasAndBackslashes) {
  const auto ranges = ParseAccept(R"(a/b; x="1, 2; \"3\"" , c/d)");
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  ASSERT_EQ(ranges->size(), 2u);
  EXPECT_EQ(ranges->front().parameters.at("x"), "1, 2; \"3\"");
}

TEST(MediaTypesTest, WhatIsChosen) {
  const std::string multipart =
      "multipart/related; type=\"application/dicom\"; transfer-syntax=1.2.840.10008.1.2.1";
  const std::string single = "application/dicom; transfer-syntax=1.2.840.10008.1.2.1";
  EXPECT_EQ(Chosen(""), multipart);
  EXPECT_EQ(Chosen("*/*"), multipart);
  EXPECT_EQ(Chosen("multipart/related"), multipart);
  EXPECT_EQ(Chosen("multipart/related; type=application/dicom"), multipart);
  EXPECT_EQ(Chosen("multipart/related; type=\"application/dicom\"; transfer-syntax=*"), multipart);
  EXPECT_EQ(Chosen("application/dicom"), single);
  EXPECT_EQ(Chosen("application/*"), single);
  EXPECT_EQ(Chosen("application/dicom; transfer-syntax=1.2.840.10008.1.2.1"), single);
  EXPECT_EQ(Chosen("multipart/related; type=\"application/dicom\"; q=0.1, application/dicom"),
            single);
  EXPECT_EQ(Chosen("image/png, application/dicom;q=0.2"), single);
}

TEST(MediaTypesTest, WhatIsNotAcceptable) {
  for (const char* accept : {"application/dicom; transfer-syntax=1.2.840.10008.1.2.4.70",
                             "multipart/related; type=\"image/jpeg\"", "application/dicom+json",
                             "text/*", "*/*;q=0", "multipart/mixed; type=\"application/dicom\""}) {
    EXPECT_EQ(Chosen(accept), "none") << accept;
  }
}

TEST(MediaTypesTest, WhatIsNoAcceptHeader) {
  for (const char* accept : {"dicom", "a/b; x", "a/b; =1", "a/b; x=\"1", "a/b; x=\"1\\", "/b", "a/",
                             "a/b;q=2", "a/b;q=-1", "a/b;q=nan", "a b/c", "a/b; x=\"1\" y"}) {
    EXPECT_EQ(Chosen(accept), "illegal") << accept;
  }
}

TEST(MediaTypesTest, ManyRangesAreRefused) {
  std::string accept = "a/b";
  for (int i = 0; i < 100'000; ++i) accept += ",a/b";
  const auto ranges = ParseAccept(accept);
  EXPECT_TRUE(absl::IsInvalidArgument(ranges.status())) << ranges.status();
  EXPECT_TRUE(ParseAccept(std::string(100'000, ',')).ok());
}

}  // namespace
}  // namespace isocenter::dicomweb
