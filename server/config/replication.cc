#include "server/config/replication.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/config/addresses.h"
#include "server/config/cluster.h"
#include "server/config/fields.h"
#include "server/config/openid_config.h"

namespace isocenter::config {
namespace {

constexpr char kField[] = "cluster.replication";

std::string Quoted(const std::string& text) { return absl::StrCat("'", text, "'"); }

void CheckKeeper(const v1::ServerConfig& config, Mistakes& mistakes) {
  const v1::ReplicaKeeperConfig& keeper = config.cluster().replication().keeper();
  const std::string field = absl::StrCat(kField, ".keeper");
  mistakes.Add(CheckOtherNode(absl::StrCat(field, ".node"), keeper.node(), config.cluster()));
  const absl::Status address =
      CheckAddress(absl::StrCat(field, ".address"), keeper.address(), AddressFamily::kAny);
  mistakes.Add(address);
  const int files = !keeper.ca_file().empty() + !keeper.certificate_file().empty() +
                    !keeper.private_key_file().empty();
  if (files != 0 && files != 3) {
    mistakes.Add(Illegal(absl::StrCat(field, ".ca_file"), Quoted(keeper.ca_file()),
                         "all of ca_file, certificate_file and private_key_file, or none"));
  } else if (address.ok() && files == 0 && !IsLoopback(keeper.address())) {
    mistakes.Add(Illegal(absl::StrCat(field, ".ca_file"), "''",
                         "ca_file, certificate_file and private_key_file: frames and patients' "
                         "names would cross the network in plain text"));
  }
  mistakes.Add(
      CheckRange(absl::StrCat(field, ".patience_seconds"), keeper.patience_seconds(), 0.1, 60));
}

void CheckOrigins(const v1::ServerConfig& config, Mistakes& mistakes) {
  const v1::ReplicationConfig& replication = config.cluster().replication();
  const bool asks_for_certificates = !config.grpc_tls().client_ca_file().empty();
  const bool has_roles = !config.web().tokens_file().empty() || HasOpenId(config.web()) ||
                         config.web().certificate_size() > 0;
  std::set<std::string> names;
  for (int i = 0; i < replication.origin_size(); ++i) {
    const v1::ReplicaOriginConfig& origin = replication.origin(i);
    const std::string field = absl::StrCat(kField, ".origin[", i, "]");
    mistakes.Add(CheckOtherNode(absl::StrCat(field, ".node"), origin.node(), config.cluster()));
    if (!names.insert(origin.node()).second) {
      mistakes.Add(Illegal(absl::StrCat(field, ".node"), Quoted(origin.node()), "each node once"));
    }
    const std::string& subject = origin.certificate_subject();
    if (asks_for_certificates && !absl::StrContains(subject, '=')) {
      mistakes.Add(Illegal(absl::StrCat(field, ".certificate_subject"), Quoted(subject),
                           "the subject of that node's certificate, e.g. \"CN=recon1\": every "
                           "console has a certificate, too"));
    } else if (!asks_for_certificates && (has_roles || !subject.empty())) {
      mistakes.Add(Illegal(absl::StrCat(field, ".certificate_subject"), Quoted(subject),
                           "a subject, and grpc_tls.client_ca_file, by which it is checked"));
    }
  }
}

}  // namespace

void ApplyReplicationDefaults(v1::ReplicationConfig& replication) {
  using Replication = v1::ReplicationConfig;
  Default(replication, &Replication::take_over_seconds, &Replication::set_take_over_seconds, 30.0);
  Default(replication, &Replication::keep_seconds, &Replication::set_keep_seconds, 604800.0);
  if (!replication.has_keeper()) return;
  using Keeper = v1::ReplicaKeeperConfig;
  Default(*replication.mutable_keeper(), &Keeper::patience_seconds, &Keeper::set_patience_seconds,
          2.0);
}

void CheckReplication(const v1::ServerConfig& config, Mistakes& mistakes) {
  const v1::ReplicationConfig& replication = config.cluster().replication();
  const bool is_wanted = config.spool().sync() == v1::SYNC_POLICY_REPLICATED;
  if (is_wanted != replication.has_keeper()) {
    mistakes.Add(Illegal(
        "spool.sync", v1::SyncPolicy_Name(config.spool().sync()),
        is_wanted ? "another one, or cluster.replication.keeper, which says where the copies go"
                  : "SYNC_POLICY_REPLICATED, as cluster.replication.keeper is set"));
  }
  if (replication.has_keeper()) CheckKeeper(config, mistakes);
  if (!config.cluster().has_replication()) return;
  CheckOrigins(config, mistakes);
  if (replication.capacity_bytes() != 0) {
    mistakes.Add(CheckRange(absl::StrCat(kField, ".capacity_bytes"),
                            static_cast<double>(replication.capacity_bytes()), 1 << 20,
                            static_cast<double>(int64_t{1} << 50)));
  }
  mistakes.Add(CheckRange(absl::StrCat(kField, ".take_over_seconds"),
                          replication.take_over_seconds(), 3, 86400));
  mistakes.Add(
      CheckRange(absl::StrCat(kField, ".keep_seconds"), replication.keep_seconds(), 60, 31536000));
}

}  // namespace isocenter::config
