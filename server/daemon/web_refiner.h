// Refinements that are asked for on the web, as those that are asked for on gRPC.
#pragma once

#include <vector>

#include "server/config/protocol_book.h"
#include "server/http/refiner.h"
#include "server/jobs/job_table.h"
#include "server/pipeline/engine.h"

namespace isocenter::daemon {

/// Thread-safe.
class WebRefiner : public http::Refiner {
 public:
  /// All must outlive this.
  WebRefiner(const config::ProtocolBook& protocols, const jobs::JobTable& table,
             pipeline::Engine& engine)
      : protocols_(protocols), table_(table), engine_(engine) {}

  std::vector<http::RefinementOffer> Offers() const override;
  void Refine(const http::RefinementWish& wish, Done done) override;

 private:
  const config::ProtocolBook& protocols_;
  const jobs::JobTable& table_;
  pipeline::Engine& engine_;
};

}  // namespace isocenter::daemon
