// Requests out of the bytes of a connection. The only file pair that includes Boost.Beast.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "server/http/transport/http.h"

namespace isocenter::http {

/// Takes one request after another out of what a connection receives, whatever that is. Not
/// thread-safe.
class RequestReader {
 public:
  static constexpr size_t kMostHeaderBytes = 16 << 10;

  enum class State {
    kHeader,    // more of the header is needed
    kBody,      // more of the body is needed
    kComplete,  // a request is there
    kRefused    // it is no legal request, and no other one can follow
  };

  explicit RequestReader(size_t most_body_bytes);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  /// Takes what belongs to the request away from the front of `bytes`, behind whose rest comes what
  /// is received next.
  State Read(std::string& bytes);
  /// kComplete, once: the request, without who sent it. Read goes on with the next one.
  Request TakeRequest();
  /// Whether the client may send another one after the last that was complete.
  bool keeps_alive() const { return keeps_alive_; }
  /// Whether the client of the last that was complete takes an answer in chunks.
  bool takes_chunks() const { return takes_chunks_; }
  /// kRefused, once: what is wrong, as an answer.
  Response TakeRefusal();

 private:
  struct Parser;
  State Refuse(int status, const std::string& message);
  State Complete();

  const size_t most_body_bytes_;
  std::unique_ptr<Parser> parser_;
  Request request_;
  bool keeps_alive_ = false, takes_chunks_ = false;
  Response refusal_;
};

}  // namespace isocenter::http
