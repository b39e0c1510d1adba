// What a connection of the HTTP server receives, in two pieces.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/http/transport/request_reader.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using State = http::RequestReader::State;
  constexpr size_t kMostBody = 64;
  fuzz::Input input(data, size);
  const size_t cut = input.TakeNumber<uint8_t>();
  http::RequestReader reader(kMostBody);
  for (std::string bytes; const absl::string_view piece : {input.Take(cut), input.TakeRest()}) {
    absl::StrAppend(&bytes, piece);
    State state = reader.Read(bytes);
    for (; state == State::kComplete; state = reader.Read(bytes)) {
      const http::Request request = reader.TakeRequest();
      fuzz::Require(request.path.front() == '/', "a path begins with /");
      fuzz::Require(request.path.find('\0') == std::string::npos, "a path has no NUL");
      fuzz::Require(request.body.size() <= kMostBody, "a body is bounded");
    }
    if (state == State::kRefused) {
      fuzz::Require(reader.TakeRefusal().status >= 400, "a refusal is one");
      return 0;
    }
    fuzz::Require(bytes.size() <= http::RequestReader::kMostHeaderBytes, "what waits is bounded");
  }
  return 0;
}
