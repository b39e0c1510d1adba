// WADO-RS over stored volumes: what comes is what is stored, byte for byte.
#include <png.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/dicomweb/window.h"
#include "tests/server/dicomweb/dicomweb_fixture.h"

namespace isocenter::dicomweb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Json = nlohmann::json;

constexpr int kColumns = 12, kRows = 10, kSlices = 5;
constexpr size_t kFrameBytes = size_t{2} * kColumns * kRows;

class RetrievalTest : public DicomWebTest {
 protected:
  void SetUp() override {
    DicomWebTest::SetUp();
    job_ = dicom::TestJobInBothForms("stored", kColumns, kRows, kSlices);
    Store(job_);
    files_ = Files(job_);
    paths_ = InstancePaths();
    ASSERT_THAT(paths_, SizeIs(kSlices + 1));
  }
  std::string Pixels(size_t file, size_t frames) const {
    const std::string all = Contents(files_[file]);
    return all.substr(all.size() - frames * kFrameBytes);
  }
  const std::string& ct() const { return paths_[0]; }
  const std::string& volume() const { return paths_[kSlices]; }

  jobs::Job job_;
  std::vector<std::filesystem::path> files_;
  std::vector<std::string> paths_;  // of the instances, in the order of the files
};

TEST_F(RetrievalTest, InstancesAreTheirFiles) {
  for (size_t i = 0; i < paths_.size(); ++i) {
    const Answer answer = Get(paths_[i], kAnyDicom);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_TRUE(absl::StartsWith(answer.header("Content-Type"),
                                 "multipart/related; type=\"application/dicom\"; boundary="));
    const std::vector<Part> parts = PartsOf(answer);
    ASSERT_THAT(parts, SizeIs(1));
    EXPECT_THAT(parts[0].head,
                HasSubstr("Content-Type: application/dicom; transfer-syntax=1.2.840.10008.1.2.1"));
    EXPECT_THAT(parts[0].head,
                HasSubstr("Content-Location: http://node.example:8443/dicomweb" + paths_[i]));
    EXPECT_EQ(parts[0].body, Contents(files_[i]));
    const Answer single = Get(paths_[i], "application/dicom");
    EXPECT_EQ(single.header("Content-Type"),
              "application/dicom; transfer-syntax=1.2.840.10008.1.2.1");
    EXPECT_EQ(single.body, Contents(files_[i]));
  }
}

TEST_F(RetrievalTest, SeriesAndStudiesAreAllTheirFiles) {
  const std::vector<Part> series = PartsOf(Get(SeriesOf(ct()), kAnyDicom));
  ASSERT_THAT(series, SizeIs(kSlices));
  for (size_t i = 0; i < series.size(); ++i) EXPECT_EQ(series[i].body, Contents(files_[i]));
  const std::vector<Part> study = PartsOf(Get(StudyOf(ct())));
  ASSERT_THAT(study, SizeIs(kSlices + 1));
  for (size_t i = 0; i < study.size(); ++i) EXPECT_EQ(study[i].body, Contents(files_[i]));
}

TEST_F(RetrievalTest, WhatIsNotThere) {
  EXPECT_EQ(Get("/studies/1.2.3").status, 404);
  EXPECT_EQ(Get(StudyOf(ct()) + "/series/1.2.3").status, 404);
  EXPECT_EQ(Get(SeriesOf(ct()) + "/instances/1.2.3").status, 404);
  // An instance of another series than the path says.
  const std::string instance = ct().substr(ct().find("/instances/"));
  EXPECT_EQ(Get(SeriesOf(volume()) + instance).status, 404);
  EXPECT_EQ(Get("/studies/1.2.3/series/4.5" + instance).status, 404);
  EXPECT_EQ(Get("/studies/..").status, 400);
  EXPECT_EQ(Get("/studies/1.2.3%2Fseries%2F4").status, 404);
  EXPECT_EQ(Get("/studies/" + std::string(65, '1')).status, 400);
  std::filesystem::remove(files_[0]);
  EXPECT_EQ(Get(ct()).status, 404);
  EXPECT_EQ(Get(ct() + "/frames/1").status, 404);
  EXPECT_EQ(Get(ct() + "/metadata").status, 404);
  EXPECT_EQ(Get(SeriesOf(ct())).status, 404);
}

TEST_F(RetrievalTest, FormsThatThereAreNot) {
  const struct {
    std::string target, accept, legal;
  } cases[] = {
      {ct(), "application/dicom; transfer-syntax=1.2.840.10008.1.2.4.80",
       "type=\\\"application/dicom\\\"; transfer-syntax=1.2.840.10008.1.2.1, application/dicom"},
      {SeriesOf(ct()), "application/dicom", "multipart/related"},
      {ct() + "/metadata", "application/dicom+xml", "application/dicom+json"},
      {ct() + "/frames/1", "multipart/related; type=\"image/jls\"", "application/octet-stream"},
      {ct() + "/rendered", "image/jpeg", "image/png"}};
  for (const auto& [target, accept, legal] : cases) {
    const Answer answer = Get(target, accept);
    EXPECT_EQ(answer.status, 406) << target;
    EXPECT_THAT(answer.body, HasSubstr(legal)) << target;
  }
  EXPECT_THAT(audit_.Of(audit::Action::kRetrieve), IsEmpty());
  EXPECT_EQ(Get(ct() + "?quality=90").status, 400);
}

TEST_F(RetrievalTest, MetadataReferToThePixels) {
  const Answer answer = Get(SeriesOf(ct()) + "/metadata", "application/dicom+json");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("Content-Type"), "application/dicom+json");
  const Json all = answer.json();
  ASSERT_THAT(all, SizeIs(kSlices));
  for (size_t i = 0; i < all.size(); ++i) {
    const Json& object = all[i];
    EXPECT_EQ(object["00200013"]["Value"][0], i + 1);
    EXPECT_EQ(object["00280010"], Json({{"vr", "US"}, {"Value", {kRows}}}));
    EXPECT_EQ(object["00280030"], Json({{"vr", "DS"}, {"Value", {0.5, 0.4}}}));
    EXPECT_EQ(object["00100010"]["Value"][0]["Ideographic"], "山田^太郎");
    EXPECT_EQ(object["7FE00010"],
              Json({{"vr", "OW"},
                    {"BulkDataURI", absl::StrCat("http://node.example:8443/dicomweb", paths_[i],
                                                 "/bulkdata/7FE00010")}}));
  }
  const Json volume_data = Get(volume() + "/metadata").json();
  ASSERT_THAT(volume_data, SizeIs(1));
  EXPECT_EQ(volume_data[0]["00280008"]["Value"][0], kSlices);
  EXPECT_THAT(volume_data[0]["52009230"]["Value"], SizeIs(kSlices));
  EXPECT_THAT(Get(StudyOf(ct()) + "/metadata").json(), SizeIs(kSlices + 1));
}

TEST_F(RetrievalTest, MetadataOfManyInstancesAreOneArray) {
  Store(dicom::TestJobInBothForms("long", 4, 4, 200));
  const std::string path = Get("/series?PatientID=PAT-long&Modality=CT")
                               .json()[0]["00081190"]["Value"][0]
                               .get<std::string>();
  const Answer answer = Get(path.substr(path.find("/studies/")) + "/metadata");
  ASSERT_GT(answer.body.size(), size_t{512} << 10) << "several pieces";
  EXPECT_FALSE(answer.broken);
  const Json all = answer.json();
  ASSERT_THAT(all, SizeIs(200));
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]["00200013"]["Value"][0], i + 1);
}

TEST_F(RetrievalTest, FramesAreThePixelsThatAreStored) {
  const std::vector<Part> only = PartsOf(Get(ct() + "/frames/1"));
  ASSERT_THAT(only, SizeIs(1));
  EXPECT_EQ(only[0].body, Pixels(0, 1));
  EXPECT_THAT(only[0].head, HasSubstr("Content-Type: application/octet-stream; transfer-syntax="
                                      "1.2.840.10008.1.2.1"));
  EXPECT_EQ(Get(ct() + "/frames/1", "application/octet-stream").body, Pixels(0, 1));

  const std::string all = Pixels(kSlices, kSlices);
  const std::vector<Part> some = PartsOf(Get(volume() + "/frames/5,1,2"));
  ASSERT_THAT(some, SizeIs(3));
  EXPECT_EQ(some[0].body, all.substr(4 * kFrameBytes));
  EXPECT_EQ(some[1].body, all.substr(0, kFrameBytes));
  EXPECT_EQ(some[2].body, all.substr(kFrameBytes, kFrameBytes));
  // Both forms are the same volume.
  for (int k = 0; k < kSlices; ++k) {
    EXPECT_EQ(Get(absl::StrCat(volume(), "/frames/", k + 1), "application/octet-stream").body,
              Pixels(k, 1));
  }
  EXPECT_EQ(Get(volume() + "/frames/6").status, 404);
  EXPECT_EQ(Get(volume() + "/frames/0").status, 404);
  EXPECT_EQ(Get(volume() + "/frames/1,1").status, 400);
  EXPECT_EQ(Get(volume() + "/frames/x").status, 400);
  EXPECT_EQ(Get(volume() + "/frames/1,2", "application/octet-stream").status, 406);
}

TEST_F(RetrievalTest, BulkDataAreAllFrames) {
  const std::vector<Part> parts = PartsOf(Get(volume() + "/bulkdata/7FE00010"));
  ASSERT_THAT(parts, SizeIs(1));
  EXPECT_EQ(parts[0].body, Pixels(kSlices, kSlices));
  EXPECT_EQ(Get(volume() + "/bulkdata/7FE00010", "application/octet-stream").body, parts[0].body);
  EXPECT_EQ(Get(volume() + "/bulkdata/00100010").status, 404);
}

TEST_F(RetrievalTest, FilesThatAreCutAreNotTaken) {
  std::filesystem::resize_file(files_[0], std::filesystem::file_size(files_[0]) - 2);
  EXPECT_EQ(Get(ct() + "/frames/1").status, 500);
  EXPECT_EQ(Get(ct() + "/rendered").status, 500);
  std::filesystem::resize_file(files_[1], 10);
  EXPECT_EQ(Get(paths_[1] + "/frames/1").status, 500);
}

/// The shades of a PNG.
std::vector<uint8_t> Shades(const std::string& file) {
  png_image png;
  std::memset(&png, 0, sizeof(png));
  png.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_memory(&png, file.data(), file.size()));
  EXPECT_EQ(png.width, uint32_t{kColumns});
  EXPECT_EQ(png.height, uint32_t{kRows});
  png.format = PNG_FORMAT_GRAY;
  std::vector<uint8_t> shades(PNG_IMAGE_SIZE(png));
  EXPECT_TRUE(png_image_finish_read(&png, nullptr, shades.data(), 0, nullptr));
  return shades;
}

TEST_F(RetrievalTest, PicturesAreTheFramesInTheirWindow) {
  const auto expected = [&](int slice, const Window& window) {
    std::vector<int16_t> values(size_t{kColumns} * kRows);
    std::memcpy(values.data(), Pixels(slice, 1).data(), kFrameBytes);
    std::vector<uint8_t> shades;
    for (const int16_t value : values) shades.push_back(ShadeOf(window, value));
    return shades;
  };
  const Answer usual = Get(ct() + "/rendered", "image/*");
  ASSERT_EQ(usual.status, 200) << usual.body;
  EXPECT_EQ(usual.header("Content-Type"), "image/png");
  EXPECT_EQ(Shades(usual.body), expected(0, {.center = 40, .width = 400}));
  // The first slice has values from -1000 on.
  const Window wide{.center = -950, .width = 120};
  EXPECT_EQ(Shades(Get(ct() + "/rendered?window=-950,120,linear").body), expected(0, wide));
  EXPECT_NE(expected(0, wide), expected(1, wide));
  EXPECT_EQ(Shades(Get(volume() + "/frames/2/rendered?window=-950,120,linear").body),
            expected(1, wide));
  EXPECT_EQ(Shades(Get(volume() + "/frames/1/rendered").body),
            expected(0, {.center = 40, .width = 400}));
  EXPECT_EQ(Get(ct() + "/rendered?accept=image/png").status, 200);

  EXPECT_EQ(Get(ct() + "/rendered?window=40").status, 400);
  EXPECT_THAT(Get(ct() + "/rendered?viewport=10,10").body,
              HasSubstr("parameter 'viewport' is not known here; legal are window, accept"));
  EXPECT_THAT(Get(volume() + "/rendered").body, HasSubstr("the instance has 5 frames"));
  EXPECT_EQ(Get(volume() + "/frames/1,2/rendered").status, 400);
}

TEST_F(RetrievalTest, TheAuditTrailHasWhoseTheyAre) {
  Get(SeriesOf(ct()), kAnyDicom);
  const auto events = audit_.Of(audit::Action::kRetrieve);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].actor.name, "the viewer");
  EXPECT_EQ(events[0].instances, kSlices);
  EXPECT_THAT(events[0].patient_ids, ElementsAre("PAT-stored"));
  EXPECT_THAT(events[0].study_uids, ElementsAre(StudyOf(ct()).substr(9)));
  EXPECT_THAT(events[0].job_ids, IsEmpty());
  // Viewers fetch a series frame by frame: the trail counts what is looked at again.
  Get(ct() + "/frames/1");
  Get(ct() + "/rendered");
  Get(ct() + "/metadata");
  EXPECT_THAT(audit_.Of(audit::Action::kRetrieve), SizeIs(1));
  ASSERT_THAT(audit_.Of(audit::Action::kView), SizeIs(3));
  EXPECT_THAT(audit_.Of(audit::Action::kView)[0].study_uids, ElementsAre(StudyOf(ct()).substr(9)));
}

}  // namespace
}  // namespace isocenter::dicomweb
