// Volumes by HTTP, held against what was stored.
#include <zlib.h>

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/viewer/plane.h"
#include "tests/server/http/web_fixture.h"

namespace isocenter::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::SizeIs;

std::vector<int16_t> PixelsOf(const std::string& body) {
  std::vector<int16_t> pixels(body.size() / 2);
  std::memcpy(pixels.data(), body.data(), pixels.size() * 2);
  return pixels;
}

std::string Unpacked(const std::string& packed, size_t bytes) {
  std::string plain(bytes, '\0');
  z_stream stream{};
  inflateInit2(&stream, 15 + 16);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_out = static_cast<uInt>(plain.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  inflateEnd(&stream);
  return plain;
}

class VolumeTest : public WebTest {
 protected:
  void SetUp() override {
    Start();
    id_ = Complete();
    base_ = absl::StrCat("/api/v1/jobs/", id_);
  }
  void AwaitPrepared() {
    ASSERT_TRUE(
        Eventually([&] { return client().Get(base_ + "/volume").json()["prepared"] == true; }));
  }
  /// As it was stored: 32 along each axis.
  int16_t Stored(int x, int y, int z) {
    if (volume_.empty()) volume_ = service_.results.volume(id_);
    return viewer::ToInt16(volume_[(size_t{1} * z * 32 + y) * 32 + x]);
  }

  std::string id_, base_;
  std::vector<float> volume_;
};

TEST_F(VolumeTest, SaysWhatThereIs) {
  AwaitPrepared();
  const json volume = client().Get(base_ + "/volume").json();
  ASSERT_THAT(volume["levels"], SizeIs(1));
  EXPECT_EQ(volume["levels"][0]["nx"], 32);
  EXPECT_EQ(volume["levels"][0]["spacing_mm"], json({4, 4, 4}));
  EXPECT_EQ(volume["grid"]["nz"], 32);
  const auto stored = service_.results.volume(id_);
  EXPECT_EQ(volume["hu_min"], viewer::ToInt16(*std::ranges::min_element(stored)));
  EXPECT_EQ(volume["hu_max"], viewer::ToInt16(*std::ranges::max_element(stored)));
}

TEST_F(VolumeTest, PlanesAreThoseOfTheVolume) {
  AwaitPrepared();
  for (const char* axis : {"axial", "coronal", "sagittal"}) {
    const HttpAnswer answer = client().Get(absl::StrCat(base_, "/slices/", axis, "/5"));
    ASSERT_EQ(answer.status, 200) << axis << answer.body;
    EXPECT_EQ(answer.header("x-isocenter-columns"), "32");
    EXPECT_EQ(answer.header("x-isocenter-rows"), "32");
    const std::vector<int16_t> pixels = PixelsOf(answer.body);
    ASSERT_THAT(pixels, SizeIs(32 * 32));
    for (int row = 0; row < 32; ++row) {
      for (int column = 0; column < 32; ++column) {
        const int16_t expected = axis[0] == 'a'   ? Stored(column, row, 5)
                                 : axis[0] == 'c' ? Stored(column, 5, row)
                                                  : Stored(5, column, row);
        ASSERT_EQ(pixels[size_t{1} * row * 32 + column], expected)
            << axis << " " << column << " " << row;
      }
    }
  }
}

TEST_F(VolumeTest, PlanesArePackedForThoseWhoTakeIt) {
  const HttpAnswer plain = client().Get(base_ + "/slices/axial/16");
  const HttpAnswer packed = client().Get(base_ + "/slices/axial/16", {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(packed.header("content-encoding"), "gzip");
  EXPECT_EQ(Unpacked(packed.body, plain.body.size()), plain.body);
  EXPECT_NE(packed.header("etag"), plain.header("etag"));
}

TEST_F(VolumeTest, BrowsersKeepPlanesAndAsk) {
  const HttpAnswer first = client().Get(base_ + "/slices/coronal/3");
  EXPECT_EQ(first.header("cache-control"), "private, no-cache");
  const HttpAnswer again =
      client().Get(base_ + "/slices/coronal/3", {{"If-None-Match", first.header("etag")}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(
      client().Get(base_ + "/slices/coronal/4", {{"If-None-Match", first.header("etag")}}).status,
      200);
}

TEST_F(VolumeTest, WhatIsNotThereIsRefused) {
  for (const char* target :
       {"/slices/axial/32", "/slices/axial/-1", "/slices/axial/x", "/slices/oblique/0",
        "/slices/axial/0?level=1", "/slices/axial/0?level=x", "/slices/axial/2147483648",
        "/slices/axial/99999999999999999999", "/slices/coronal/32", "/slices/sagittal/32",
        "/slices/sagittal/-2147483648", "/slices/axial/0?level=-1",
        "/slices/axial/0?level=99999999999", "/slices/axial/1e3", "/slices/axial/0x1"}) {
    EXPECT_EQ(client().Get(base_ + target).status, 400) << target;
  }
  EXPECT_EQ(client().Get("/api/v1/jobs/none/slices/axial/0").status, 404);
  const std::string active = Accept();
  EXPECT_EQ(client().Get("/api/v1/jobs/" + active + "/volume").status, 409);
}

TEST_F(VolumeTest, ALevelIsGivenAsAWhole) {
  AwaitPrepared();
  const HttpAnswer answer = client().Get(base_ + "/levels/0", {{"Accept-Encoding", "gzip"}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("content-length"), absl::StrCat(2 * 32 * 32 * 32));
  EXPECT_EQ(answer.header("x-isocenter-columns"), "32");
  EXPECT_EQ(answer.header("x-isocenter-rows"), "32");
  EXPECT_EQ(answer.header("x-isocenter-slices"), "32");
  const std::vector<int16_t> voxels = PixelsOf(answer.body);
  ASSERT_THAT(voxels, SizeIs(32 * 32 * 32));
  for (int z = 0; z < 32; ++z) {
    for (int y = 0; y < 32; ++y) {
      for (int x = 0; x < 32; ++x) {
        ASSERT_EQ(voxels[(size_t{1} * z * 32 + y) * 32 + x], Stored(x, y, z));
      }
    }
  }
  EXPECT_EQ(answer.header("cache-control"), "private, no-cache");
  const HttpAnswer again =
      client().Get(base_ + "/levels/0", {{"If-None-Match", answer.header("etag")}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(audit_.Of(audit::Action::kView).back().outcome, audit::Outcome::kSuccess);
}

TEST_F(VolumeTest, ALevelThatIsNotThereIsRefused) {
  for (const char* level : {"1", "-1", "x", "0x0", "1e0", "2147483648", "99999999999999999999"}) {
    const HttpAnswer answer = client().Get(absl::StrCat(base_, "/levels/", level));
    EXPECT_EQ(answer.status, 400) << level;
    EXPECT_EQ(answer.json()["error"]["message"],
              absl::StrCat("level is '", level, "'; legal is 0 to 0"));
  }
  EXPECT_EQ(client().Get("/api/v1/jobs/none/levels/0").status, 404);
  const std::string active = Accept();
  EXPECT_EQ(client().Get("/api/v1/jobs/" + active + "/levels/0").status, 409);
}

/// Larger than what is given as a whole, along one axis.
class LongVolumeTest : public WebTest {};

TEST_F(LongVolumeTest, OnlySmallLevelsAreGivenAsAWhole) {
  Start();
  const std::string id = Accept("ROOM-1", [](pipeline::AcquisitionRequest& request) {
    request.grid = CenteredGrid(5, 3, 600, {4, 4, 0.2});
  });
  const auto console = *Console::Attach(jobs_.at(id));
  ASSERT_TRUE(console->Send(0, 40).ok());
  ASSERT_TRUE(console->Finish().ok());
  ASSERT_TRUE(Eventually([&] { return jobs::HasEnded((*service_.table->Get(id))->state); }));
  const std::string base = absl::StrCat("/api/v1/jobs/", id);
  ASSERT_TRUE(
      Eventually([&] { return client().Get(base + "/volume").json()["prepared"] == true; }));
  for (const char* level : {"0", "1", "4"}) {
    EXPECT_EQ(client().Get(absl::StrCat(base, "/levels/", level)).json()["error"]["message"],
              absl::StrCat("level is '", level, "'; legal is 2 to 3"));
  }
  const HttpAnswer whole = client().Get(base + "/levels/2");
  EXPECT_EQ(whole.header("x-isocenter-slices"), "150");
  const std::vector<int16_t> voxels = PixelsOf(whole.body);
  ASSERT_THAT(voxels, SizeIs(2 * 1 * 150));
  const HttpAnswer plane = client().Get(base + "/slices/axial/77?level=2");
  EXPECT_EQ(PixelsOf(plane.body), std::vector<int16_t>(voxels.begin() + 154, voxels.begin() + 156));
}

TEST_F(VolumeTest, ADamagedFileIsNotShown) {
  const auto file = service_.results.RawFile(id_);
  std::filesystem::resize_file(*file, 100);
  const HttpAnswer answer = client().Get(base_ + "/slices/axial/0");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.json()["error"]["code"], "DATA_LOSS");
}

}  // namespace
}  // namespace isocenter::testing
