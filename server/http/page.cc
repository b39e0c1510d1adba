#include "server/http/page.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "server/crypto/digests.h"
#include "server/http/transport/answers.h"
#include "server/http/transport/other_doors.h"

namespace isocenter::http {
namespace {

constexpr char kIndex[] = "/index.html";
// tools/dev/docs_html.py writes it. It may be shown at any path, and a proxy may serve all below
// one of its own: so its links begin with kWayUp, which only the path of a request makes a way.
constexpr char kNotFound[] = "/docs/not-found.html";
constexpr char kWayUp[] = "WAY-UP/";
// Of folders in a path that is answered with it, which has hundreds of links.
constexpr int kMostFolders = 16;
constexpr char kNotBuilt[] =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Isocenter</title>"
    "<h1>Isocenter</h1><p>The server runs; its operator page was not built. "
    "Build it with <code>./dev page</code>, or install the package.</p>"
    "<p><a href=\"/api/v1/status\">/api/v1/status</a> says how the server is.</p></html>\n";

std::string TypeOf(const std::string& path) {
  static constexpr std::pair<const char*, const char*> kTypes[] = {
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".json", "application/json"},
      {".map", "application/json"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".ico", "image/x-icon"},
      {".webmanifest", "application/manifest+json"},
      {".woff2", "font/woff2"},
      {".txt", "text/plain; charset=utf-8"},
      {".wasm", "application/wasm"}};
  for (const auto& [suffix, type] : kTypes) {
    if (absl::EndsWith(path, suffix)) return type;
  }
  return "application/octet-stream";
}

bool HasExtension(const std::string& path) {
  return absl::StrContains(absl::string_view(path).substr(path.rfind('/')), ".");
}

}  // namespace

absl::StatusOr<Page> Page::Load(const std::filesystem::path& directory) {
  Page page;
  std::map<std::string, std::string> contents;
  std::error_code error;
  size_t bytes = 0;
  if (!directory.empty() && std::filesystem::is_regular_file(directory / "index.html", error)) {
    for (auto entry = std::filesystem::recursive_directory_iterator(directory, error);
         !error && entry != std::filesystem::recursive_directory_iterator();
         entry.increment(error)) {
      // A link could lead anywhere.
      if (entry->is_symlink() || !entry->is_regular_file()) continue;
      std::ifstream file(entry->path(), std::ios::binary);
      std::string content{std::istreambuf_iterator<char>(file), {}};
      if (!file) {
        return absl::InternalError(
            absl::StrCat("the page's file ", entry->path().string(), " cannot be read"));
      }
      bytes += content.size();
      if (bytes > kMostBytes) {
        return absl::ResourceExhaustedError(absl::StrCat("the page in ", directory.string(),
                                                         " is larger than ", kMostBytes, " bytes"));
      }
      contents[absl::StrCat("/", entry->path().lexically_relative(directory).generic_string())] =
          std::move(content);
    }
    if (error) {
      return absl::InternalError(
          absl::StrCat("the page in ", directory.string(), " cannot be read"));
    }
  }
  for (auto& [path, content] : contents) {
    if (absl::EndsWith(path, ".gz") &&
        contents.contains(std::string(absl::StripSuffix(path, ".gz")))) {
      continue;
    }
    const auto packed = contents.find(path + ".gz");
    page.files_[path] = {.content = content,
                         .packed = packed == contents.end() ? "" : packed->second,
                         .type = TypeOf(path),
                         .tag = crypto::Sha256Hex(content).substr(0, 32),
                         .immutable = absl::StartsWith(path, "/assets/")};
  }
  if (const auto found = page.files_.extract(kNotFound)) page.not_found_ = found.mapped().content;
  if (!page.files_.contains(kIndex)) {
    page.files_[kIndex] = {.content = kNotBuilt,
                           .type = TypeOf(kIndex),
                           .tag = crypto::Sha256Hex(kNotBuilt).substr(0, 32)};
  }
  return page;
}

Response Page::Answer(const Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    return ErrorAnswer(405, absl::InvalidArgumentError(
                                absl::StrCat("the method is ", request.method, "; legal is GET",
                                             OtherDoor(request.method, request.path))))
        .Set("Allow", "GET");
  }
  auto found = files_.find(request.path);
  if (found == files_.end()) {
    // A folder is its index. Links in it are relative, so it has a slash at its end; a relative
    // Location also holds behind a proxy that serves this below a path of its own.
    const bool slash = absl::EndsWith(request.path, "/");
    found = files_.find(absl::StrCat(request.path, slash ? "" : "/", "index.html"));
    if (found != files_.end() && !slash) {
      Response response{.status = 302};
      return response
          .Set("Location", absl::StrCat(request.path.substr(request.path.rfind('/') + 1), "/"))
          .Set("Cache-Control", "no-cache");
    }
  }
  // Whoever types a path finds the page; deeper ones would not find its relative assets.
  if (found == files_.end() && !HasExtension(request.path) && request.path.rfind('/') == 0 &&
      !IsForPrograms(request.path)) {
    found = files_.find(kIndex);
  }
  if (found == files_.end()) {
    return NotFound(request);
  }
  const File& file = found->second;
  const bool packed = !file.packed.empty() && request.AcceptsGzip();
  const std::string tag = absl::StrCat("\"", file.tag, packed ? "-gzip" : "", "\"");
  Response response;
  response.Set("ETag", tag)
      .Set("Cache-Control", file.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  if (!file.packed.empty()) response.Set("Vary", "Accept-Encoding");
  if (Matches(request.Header("if-none-match"), tag)) {
    response.status = 304;
    return response;
  }
  response.Set("Content-Type", file.type);
  if (packed) response.Set("Content-Encoding", "gzip");
  response.body = packed ? file.packed : file.content;
  return response;
}

Response Page::NotFound(const Request& request) const {
  const auto folders = std::count(request.path.begin() + 1, request.path.end(), '/');
  // Programs and pictures of pages say that they take anything, or something else.
  const bool to_be_read = absl::StrContains(request.Header("accept"), "text/html");
  if (not_found_.empty() || !to_be_read || folders > kMostFolders) {
    return ErrorAnswer(absl::NotFoundError(
        absl::StrCat("there is no ", request.path, OtherDoor(request.method, request.path))));
  }
  std::string way;
  for (int i = 0; i < folders; ++i) way += "../";
  Response response{.status = 404};
  response.Set("Content-Type", TypeOf(kNotFound)).Set("Vary", "Accept");
  response.body = absl::StrReplaceAll(not_found_, {{kWayUp, absl::StrCat(way, "docs/")}});
  return response;
}

}  // namespace isocenter::http
