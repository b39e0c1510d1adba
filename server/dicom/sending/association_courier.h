// By C-STORE, one instance after the other on one association.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/dicom/net/association.h"
#include "server/dicom/sending/courier.h"

namespace isocenter::dicom {

class AssociationCourier : public Courier {
 public:
  /// All must outlive the courier.
  AssociationCourier(const Peer& peer, const NodeOptions& node, Interruptor& interruptor)
      : peer_(peer), node_(node), interruptor_(interruptor) {}
  std::string service() const override { return "dicom"; }
  int claimed_at_once() const override { return 16; }
  absl::Status Open(const std::vector<std::string>& sop_classes) override;
  std::vector<StoreAnswer> Carry(std::span<const archive::Outgoing> batch) override;
  void Close(bool in_order) override;

 private:
  const Peer& peer_;
  const NodeOptions& node_;
  Interruptor& interruptor_;
  std::optional<Association> association_;
};

}  // namespace isocenter::dicom
