// The routes of DICOMweb over an archive with stored volumes, without a network: requests are
// bytes, read as the server reads them.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/crypto/digests.h"
#include "server/dicomweb/routes.h"
#include "server/http/access.h"
#include "server/http/router.h"
#include "server/http/transport/request_reader.h"
#include "server/jobs/job_table.h"
#include "server/roles/roster.h"
#include "tests/server/dicom/stored_job_fixture.h"
#include "tests/server/fakes/kept_events.h"

namespace isocenter::dicomweb {

inline constexpr char kViewer[] = "viewer-token-5a1c";
inline constexpr char kConsole[] = "console-token-77e0";
inline constexpr char kAnyDicom[] = "multipart/related; type=\"application/dicom\"";

struct Answer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool broken = false;  // its body ended before its end

  std::string header(const std::string& name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return "";
  }
  nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
};

/// The part's headers and its bytes.
struct Part {
  std::string head, body;
};

/// The parts of a multipart answer, whose boundary is that of its Content-Type.
inline std::vector<Part> PartsOf(const Answer& answer) {
  const std::string type = answer.header("Content-Type");
  const std::string boundary = type.substr(type.find("boundary=") + 9);
  std::vector<Part> parts;
  const std::vector<std::string> pieces =
      absl::StrSplit("\r\n" + answer.body, absl::StrCat("\r\n--", boundary));
  EXPECT_EQ(pieces.front(), "");
  EXPECT_EQ(pieces.back(), "--\r\n");
  for (size_t i = 1; i + 1 < pieces.size(); ++i) {
    const size_t end = pieces[i].find("\r\n\r\n");
    parts.push_back({pieces[i].substr(2, end - 2), pieces[i].substr(end + 4)});
  }
  return parts;
}

inline std::string Contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class DicomWebTest : public dicom::StoredJobTest {
 protected:
  void SetUp() override {
    StoredJobTest::SetUp();
    table_ = std::make_unique<jobs::JobTable>(*archive_, nullptr);
    Serve(http::Role::kViewer);
  }
  void Serve(http::Role least) {
    const std::filesystem::path tokens = directory_.path() / "tokens";
    std::ofstream(tokens) << "viewer " << crypto::Sha256Hex(kViewer) << " the viewer\nconsole "
                          << crypto::Sha256Hex(kConsole) << " the console\n";
    std::filesystem::permissions(tokens, std::filesystem::perms(0640));
    router_.reset();
    access_.reset();
    roster_ = std::make_unique<roles::Roster>(*roles::TokenBook::Open(tokens.string()),
                                              std::vector<roles::CertificateHolder>());
    access_ = std::make_unique<http::Access>(*roster_, absl::Now, &audit_);
    router_ = std::make_unique<http::Router>(*access_, *table_, &audit_);
    catalog_ = std::make_unique<archive::OwnCatalog>(*archive_);
    AddRoutes({*catalog_, least}, *router_);
  }

  /// GET of /dicomweb and `target`, as the viewer unless `token` says somebody else.
  Answer Get(const std::string& target, const std::string& accept = "",
             const std::string& token = kViewer) {
    std::string bytes =
        absl::StrCat("GET /dicomweb", target, " HTTP/1.1\r\nHost: node.example:8443\r\n");
    if (!accept.empty()) absl::StrAppend(&bytes, "Accept: ", accept, "\r\n");
    if (!token.empty()) absl::StrAppend(&bytes, "Authorization: Bearer ", token, "\r\n");
    bytes += "\r\n";
    http::RequestReader reader(1024);
    http::Response response;
    if (reader.Read(bytes) == http::RequestReader::State::kComplete) {
      http::Request request = reader.TakeRequest();
      request.remote_address = "192.0.2.7";
      response = router_->Answer(request);
    } else {
      response = reader.TakeRefusal();
    }
    return Taken(std::move(response));
  }

  /// With all pieces of its body.
  static Answer Taken(http::Response response) {
    Answer answer{response.status, std::move(response.headers), std::move(response.body)};
    if (response.long_body == nullptr) return answer;
    const std::optional<int64_t> promised = response.long_body->bytes();
    while (!promised || static_cast<int64_t>(answer.body.size()) < *promised) {
      const auto piece = response.long_body->Next();
      answer.broken = !piece.ok();
      if (!piece.ok() || piece->empty()) break;
      answer.body += *piece;
    }
    return answer;
  }

  /// "/studies/1.2/series/3.4/instances/5.6" of each stored instance, by series and slice.
  std::vector<std::string> InstancePaths() {
    std::vector<std::string> paths;
    for (const auto& object : Get("/instances?limit=1000").json()) {
      const std::string url = object["00081190"]["Value"][0];
      paths.push_back(url.substr(url.find("/studies/")));
    }
    return paths;
  }
  static std::string SeriesOf(const std::string& instance) {
    return instance.substr(0, instance.find("/instances/"));
  }
  static std::string StudyOf(const std::string& instance) {
    return instance.substr(0, instance.find("/series/"));
  }

  testing::KeptEvents audit_;
  std::unique_ptr<jobs::JobTable> table_;
  std::unique_ptr<archive::Catalog> catalog_;
  std::unique_ptr<roles::Roster> roster_;
  std::unique_ptr<http::Access> access_;
  std::unique_ptr<http::Router> router_;
};

}  // namespace isocenter::dicomweb
