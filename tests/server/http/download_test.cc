// Volumes as files: what is downloaded is what is stored, in formats whose readers are others'.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/http/stored_files.h"
#include "tests/server/http/web_fixture.h"

namespace isocenter::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class DownloadTest : public WebTest {
 protected:
  std::string PathOf(const std::string& id, const std::string& format) {
    return absl::StrCat("/api/v1/jobs/", id, "/download?format=", format);
  }
  /// The fake archive names files, and has none.
  void WriteDicom(const std::string& id) {
    const auto files = *service_.results.DicomFiles(id);
    contents_ = {std::string(700, 'a'), std::string(1'300'000, 'b')};  // longer than two pieces
    for (size_t i = 0; i < files.size(); ++i) {
      std::ofstream(files[i], std::ios::binary) << contents_[i];
    }
  }
  static HttpClient::Headers Bearer(const char* token) {
    return {{"Authorization", absl::StrCat("Bearer ", token)}};
  }
  std::vector<std::string> contents_;
};

TEST_F(DownloadTest, VoxelsAreThoseThatAreStored) {
  Start();
  const std::string id = Complete();
  const std::vector<float> stored = service_.results.volume(id);
  const size_t voxel_bytes = stored.size() * sizeof(float);
  for (const char* format : {"mha", "nii"}) {
    const HttpAnswer answer = client().Get(PathOf(id, format));
    ASSERT_EQ(answer.status, 200) << answer.body.substr(0, 200);
    EXPECT_EQ(answer.header("content-length"), absl::StrCat(answer.body.size()));
    EXPECT_EQ(answer.header("content-disposition"),
              absl::StrCat("attachment; filename=\"", id, ".", format, "\""));
    EXPECT_EQ(answer.header("x-content-type-options"), "nosniff");
    ASSERT_GT(answer.body.size(), voxel_bytes);
    EXPECT_EQ(std::memcmp(answer.body.data() + answer.body.size() - voxel_bytes, stored.data(),
                          voxel_bytes),
              0)
        << format;
  }
  const std::string text = client().Get(PathOf(id, "mha")).body.substr(0, 400);
  EXPECT_THAT(text, HasSubstr("DimSize = 32 32 32\n"));
  EXPECT_THAT(text, HasSubstr("ElementSpacing = 4 4 4\n"));
  const std::string nifti = client().Get(PathOf(id, "nii")).body;
  EXPECT_EQ(nifti.size(), 352 + voxel_bytes);
  EXPECT_EQ(nifti.substr(344, 3), "n+1");
}

TEST_F(DownloadTest, DicomFilesAreInATarFile) {
  Start();
  const std::string id = Complete();
  WriteDicom(id);
  const HttpAnswer answer = client().Get(PathOf(id, "dicom"));
  ASSERT_EQ(answer.status, 200) << answer.body.substr(0, 200);
  EXPECT_EQ(answer.header("content-type"), "application/x-tar");
  EXPECT_EQ(answer.header("content-length"), absl::StrCat(answer.body.size()));
  // As tar(1) reads it.
  const std::filesystem::path folder = files_.path() / "unpacked";
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "all.tar", std::ios::binary) << answer.body;
  ASSERT_EQ(
      std::system(
          absl::StrCat("tar -C ", folder.string(), " -xf ", folder.string(), "/all.tar").c_str()),
      0);
  for (int i = 0; i < 2; ++i) {
    std::ifstream file(folder / id / absl::StrCat(id, "-", i, ".dcm"), std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(content, contents_[i]) << i;
  }
}

TEST_F(DownloadTest, AFileThatIsGoneEndsTheConnectionBeforeItsBytes) {
  Start();
  const std::string id = Complete();
  WriteDicom(id);
  // Longer than what the system keeps of an answer that nobody takes.
  const auto files = *service_.results.DicomFiles(id);
  std::filesystem::resize_file(files[0], int64_t{64} << 20);
  RawConnection connection(client().port());
  ASSERT_TRUE(connection.Send(absl::StrCat("GET ", PathOf(id, "dicom"),
                                           " HTTP/1.1\r\nHost: 127.0.0.1:", client().port(),
                                           "\r\nConnection: close\r\n\r\n")));
  std::string text;
  ASSERT_TRUE(connection.Receive(text));
  std::filesystem::remove(files[1]);
  while (connection.Receive(text)) {
  }
  const HttpAnswer answer = ParseAnswer(text);
  EXPECT_EQ(answer.status, 200);
  int64_t promised = 0;
  ASSERT_TRUE(absl::SimpleAtoi(answer.header("content-length"), &promised));
  EXPECT_LT(static_cast<int64_t>(answer.body.size()), promised);
  EXPECT_GE(answer.body.size(), size_t{64} << 20);
}

TEST_F(DownloadTest, WhoMayAndWhatIsRefused) {
  StartWithTokens();
  const std::string id = Complete();
  const std::string active = Accept("ROOM-2");
  EXPECT_EQ(client().Get(PathOf(id, "mha")).status, 401);
  EXPECT_EQ(client().Get(PathOf(id, "mha"), Bearer(kViewerToken)).status, 403);
  const size_t before = audit_.Of(audit::Action::kDownload).size();
  EXPECT_EQ(client().Get(PathOf(id, "mha"), Bearer(kConsoleToken)).status, 200);
  const auto events = audit_.Of(audit::Action::kDownload);
  ASSERT_THAT(events, SizeIs(before + 1));
  EXPECT_EQ(events.back().actor.name, "the console");
  EXPECT_THAT(events.back().job_ids, ElementsAre(id));
  EXPECT_THAT(events.back().patient_ids, ElementsAre("PID-4711"));

  const HttpAnswer png = client().Get(PathOf(id, "png"), Bearer(kConsoleToken));
  EXPECT_EQ(png.status, 400);
  EXPECT_THAT(png.body, HasSubstr("format is 'png'; legal are dicom, mha and nii"));
  EXPECT_EQ(client().Get(PathOf("none", "mha"), Bearer(kConsoleToken)).status, 404);
  EXPECT_EQ(client().Get(PathOf(active, "mha"), Bearer(kConsoleToken)).status, 409);
  EXPECT_EQ(
      client().Post(PathOf(id, "mha"), nlohmann::json::object(), Bearer(kConsoleToken)).status,
      405);
  const HttpAnswer head = client().Send("HEAD", PathOf(id, "mha"), Bearer(kConsoleToken));
  EXPECT_EQ(head.status, 200);
  EXPECT_TRUE(head.body.empty());
}

TEST_F(DownloadTest, ADownloadGoesOnWhereItBrokeOff) {
  Start();
  const std::string id = Complete();
  WriteDicom(id);
  for (const char* format : {"mha", "dicom"}) {
    const HttpAnswer all = client().Get(PathOf(id, format));
    ASSERT_EQ(all.status, 200);
    EXPECT_EQ(all.header("accept-ranges"), "bytes");
    const std::string etag = all.header("etag");
    const auto bytes = static_cast<int64_t>(all.body.size());
    // Within what stands before the file, across its begin and end, and to the end of all.
    for (const auto& [first, last] : std::vector<std::pair<int64_t, int64_t>>{
             {0, 0}, {10, 600}, {500, bytes - 3}, {1'000, 1'001}, {bytes - 1, bytes - 1}}) {
      const HttpAnswer part =
          client().Get(PathOf(id, format),
                       {{"Range", absl::StrCat("bytes=", first, "-", last)}, {"If-Range", etag}});
      ASSERT_EQ(part.status, 206) << first;
      EXPECT_EQ(part.header("content-range"), absl::StrCat("bytes ", first, "-", last, "/", bytes));
      EXPECT_EQ(part.header("content-length"), absl::StrCat(last - first + 1));
      EXPECT_TRUE(part.body == all.body.substr(first, last - first + 1)) << format << first;
    }
    const HttpAnswer rest =
        client().Get(PathOf(id, format), {{"Range", absl::StrCat("bytes=", bytes / 2, "-")}});
    EXPECT_TRUE(rest.body == all.body.substr(bytes / 2));
    const HttpAnswer end = client().Get(PathOf(id, format), {{"Range", "bytes=-100"}});
    EXPECT_TRUE(end.body == all.body.substr(bytes - 100));
    const HttpAnswer beyond =
        client().Get(PathOf(id, format), {{"Range", absl::StrCat("bytes=", bytes, "-")}});
    EXPECT_EQ(beyond.status, 416);
    EXPECT_EQ(beyond.header("content-range"), absl::StrCat("bytes */", bytes));
    EXPECT_THAT(beyond.body, HasSubstr("legal are bytes 0 to"));
    // What is no single range, or one of another volume, is answered with all.
    for (const HttpClient::Headers& headers :
         {HttpClient::Headers{{"Range", "bytes=0-1,5-6"}},
          HttpClient::Headers{{"Range", "lines=1-2"}}, HttpClient::Headers{{"Range", "bytes=9-2"}},
          HttpClient::Headers{{"Range", "bytes=0-9"}, {"If-Range", "\"another\""}}}) {
      EXPECT_EQ(client().Get(PathOf(id, format), headers).status, 200);
    }
  }
}

TEST_F(DownloadTest, AskingForTheHeaderAloneIsNoDownload) {
  StartWithTokens();
  const std::string id = Complete();
  const size_t before = audit_.Of(audit::Action::kDownload).size();
  const HttpAnswer head = client().Send("HEAD", PathOf(id, "mha"), Bearer(kConsoleToken));
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("accept-ranges"), "bytes");
  EXPECT_THAT(audit_.Of(audit::Action::kDownload), SizeIs(before));
}

TEST_F(DownloadTest, AMetaImageTellsWhereItsNumbersComeFrom) {
  Start();
  const std::string text = client().Get(PathOf(Complete(), "mha")).body.substr(0, 600);
  EXPECT_THAT(text, HasSubstr("IsocenterUnit = HU\nIsocenterProtocol = "));
  EXPECT_THAT(text, HasSubstr("IsocenterCalibration = none\nElementDataFile = LOCAL\n"));
}

TEST_F(DownloadTest, PlacesAreBoundedAndGivenBack) {
  Start();
  const std::string id = Complete();
  WriteDicom(id);
  std::filesystem::resize_file((*service_.results.DicomFiles(id))[0], int64_t{64} << 20);
  std::vector<std::unique_ptr<RawConnection>> held;
  for (int i = 0; i < 8; ++i) {
    held.push_back(std::make_unique<RawConnection>(client().port()));
    ASSERT_TRUE(held.back()->Send(absl::StrCat("GET ", PathOf(id, "dicom"),
                                               " HTTP/1.1\r\nHost: 127.0.0.1:", client().port(),
                                               "\r\n\r\n")));
    std::string text;
    ASSERT_TRUE(held.back()->Receive(text));
    EXPECT_TRUE(absl::StartsWith(text, "HTTP/1.1 200")) << text.substr(0, 300);
  }
  const HttpAnswer refused = client().Get(PathOf(id, "mha"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("all 8 places of downloads are taken"));
  EXPECT_EQ(client().Get("/api/v1/status").status, 200) << "no thread is held by who takes nothing";
  held.clear();
  EXPECT_TRUE(Eventually([&] { return client().Get(PathOf(id, "mha")).status == 200; }));
}

}  // namespace
}  // namespace isocenter::testing
