// Roles: every method of every service asks for one.
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/match.h"
#include "google/protobuf/descriptor.h"
#include "grpcpp/generic/generic_stub.h"
#include "isocenter/v1/node.grpc.pb.h"
#include "server/crypto/digests.h"
#include "server/roles/attempt_limiter.h"
#include "tests/contract/captured_log.h"
#include "tests/contract/contract_fixture.h"
#include "tests/contract/generic_call.h"
#include "tests/contract/services.h"
#include "tests/server/fakes/identity_provider.h"
#include "tests/server/test_certificates.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;
using roles::Role;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// docs/security.md has the same table for people.
const std::map<std::string, Role> kLeast = {
    {"isocenter.v1.AcquisitionService.Acquire", Role::kConsole},
    {"isocenter.v1.AcquisitionService.QuoteAcquisition", Role::kConsole},
    {"isocenter.v1.AcquisitionService.ListNodes", Role::kViewer},
    {"isocenter.v1.CalibrationService.AddCalibration", Role::kOperator},
    {"isocenter.v1.CalibrationService.GetCalibration", Role::kConsole},
    {"isocenter.v1.CalibrationService.ListCalibrations", Role::kViewer},
    {"isocenter.v1.CalibrationService.WithdrawCalibration", Role::kOperator},
    {"isocenter.v1.JobService.ListJobs", Role::kViewer},
    {"isocenter.v1.JobService.GetJob", Role::kViewer},
    {"isocenter.v1.JobService.WatchJob", Role::kViewer},
    {"isocenter.v1.JobService.CancelJob", Role::kConsole},
    {"isocenter.v1.JobService.RefineJob", Role::kConsole},
    {"isocenter.v1.JobService.DeleteJob", Role::kAdministrator},
    {"isocenter.v1.JobService.GetJobTrace", Role::kViewer},
    {"isocenter.v1.JobService.DownloadResult", Role::kConsole},
    {"isocenter.v1.NodeService.GetNodeStatus", Role::kViewer},
    {"isocenter.v1.NodeService.DrainNode", Role::kOperator},
    {"isocenter.v1.NodeService.ResumeNode", Role::kOperator},
    {"isocenter.v1.ProcedureStepService.DropProcedureStep", Role::kOperator},
    {"isocenter.v1.ProcedureStepService.ListProcedureSteps", Role::kViewer},
    {"isocenter.v1.ProcedureStepService.RetryProcedureStep", Role::kOperator},
    {"isocenter.v1.ProtocolService.ListProtocols", Role::kViewer},
    {"isocenter.v1.ProtocolService.GetProtocol", Role::kViewer},
    {"isocenter.v1.QualityService.ListQuality", Role::kViewer},
    {"isocenter.v1.QualityService.RecordQuality", Role::kOperator},
    {"isocenter.v1.QualityService.SetQualityBaseline", Role::kOperator},
    {"isocenter.v1.TransferService.ListTransfers", Role::kViewer},
    {"isocenter.v1.TransferService.SendJob", Role::kOperator},
    {"isocenter.v1.TransferService.SendJobs", Role::kOperator},
    {"isocenter.v1.TransferService.RetryTransfers", Role::kOperator},
    {"isocenter.v1.DestinationService.ListDestinations", Role::kViewer},
    {"isocenter.v1.WorklistService.ListScheduledSteps", Role::kConsole},
};

/// The lines of the contract's file above a method.
std::string CommentOf(const google::protobuf::MethodDescriptor& method) {
  std::ifstream file(absl::StrCat(ISOCENTER_SOURCE_DIR "/proto/", method.file()->name()));
  std::string comment;
  for (std::string line; std::getline(file, line);) {
    if (absl::StrContains(line, absl::StrCat("rpc ", method.name(), "("))) return comment;
    comment = absl::StrContains(line, "//") ? comment + line : "";
  }
  return "";
}

bool IsRefused(const grpc::Status& status) {
  return status.error_code() == StatusCode::UNAUTHENTICATED ||
         status.error_code() == StatusCode::PERMISSION_DENIED;
}

class RolesTest : public ContractTest {
 protected:
  void SetUp() override {}

  std::string File(const std::string& name) const {
    return (service_.directory.path() / name).string();
  }
  /// A token for each role, "ROLE-token".
  std::unique_ptr<roles::TokenBook> Tokens() {
    std::ofstream file(File("tokens"));
    for (const Role role : roles::kAllRoles) {
      file << Name(role) << " " << crypto::Sha256Hex(TokenOf(role)) << " the " << Name(role)
           << "\n";
    }
    file.close();
    std::filesystem::permissions(File("tokens"), std::filesystem::perms(0640));
    return *roles::TokenBook::Open(File("tokens"));
  }
  static std::string TokenOf(Role role) { return absl::StrCat(Name(role), "-token"); }
  void StartWithTokens() {
    roster_ = std::make_unique<roles::Roster>(Tokens(), std::vector<roles::CertificateHolder>());
    StartServer();
  }

  /// What becomes of a call. `authorization`: empty: none is sent.
  grpc::Status Call(const google::protobuf::MethodDescriptor& method,
                    const std::string& authorization, const std::string& message = "") {
    grpc::ClientContext context;
    SetDeadline(context);
    if (!authorization.empty()) context.AddMetadata("authorization", authorization);
    return CallWithBytes(channel_, context, method, message);
  }
  grpc::Status Call(const std::string& service, const std::string& method,
                    const std::string& authorization = "", const std::string& message = "") {
    return Call(*google::protobuf::DescriptorPool::generated_pool()
                     ->FindServiceByName(absl::StrCat("isocenter.v1.", service))
                     ->FindMethodByName(method),
                authorization, message);
  }
};

TEST_F(RolesTest, EveryMethodAsksForOne) {
  StartWithTokens();
  const auto methods = ContractMethods();
  EXPECT_EQ(methods.size(), kLeast.size());
  for (const auto* method : methods) {
    SCOPED_TRACE(method->full_name());
    const auto least = kLeast.find(method->full_name());
    ASSERT_NE(least, kLeast.end()) << "which role may?";
    EXPECT_EQ(Call(*method, "").error_code(), StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(Call(*method, "Bearer wrong").error_code(), StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(Call(*method, "Basic " + TokenOf(Role::kAdministrator)).error_code(),
              StatusCode::UNAUTHENTICATED);
    for (const Role role : roles::kAllRoles) {
      const grpc::Status status = Call(*method, "Bearer " + TokenOf(role));
      if (role < least->second) {
        EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED) << Name(role);
        EXPECT_THAT(status.error_message(), HasSubstr(std::string(Name(least->second))));
      } else {
        EXPECT_FALSE(IsRefused(status)) << Name(role) << ": " << status.error_message();
      }
    }
  }
}

TEST(Roles, TheContractSaysWhichRoleAMethodNeeds) {
  for (const auto* method : ContractMethods()) {
    EXPECT_THAT(CommentOf(*method),
                EndsWith(absl::StrCat("Role: ", Name(kLeast.at(method->full_name())), ".")))
        << method->full_name();
  }
}

TEST_F(RolesTest, WithoutARosterWhoeverReachesTheServerMay) {
  StartServer();
  for (const auto* method : ContractMethods()) {
    EXPECT_FALSE(IsRefused(Call(*method, ""))) << method->full_name();
  }
}

TEST_F(RolesTest, ATokenThatIsTakenBackOpensNothing) {
  StartWithTokens();
  const std::string token = "Bearer " + TokenOf(Role::kOperator);
  EXPECT_TRUE(Call("NodeService", "GetNodeStatus", token).ok());
  std::ofstream(File("tokens")) << "# nobody any more\n";
  EXPECT_EQ(Call("NodeService", "GetNodeStatus", token).error_code(), StatusCode::UNAUTHENTICATED);
}

TEST_F(RolesTest, TheHolderOfTheTokenIsWhoDrains) {
  StartWithTokens();
  ASSERT_TRUE(Call("NodeService", "DrainNode", "Bearer " + TokenOf(Role::kOperator)).ok());
  EXPECT_EQ(node_->drained()->by, "the operator");
}

TEST_F(RolesTest, TokensOfTheIdentityProviderHaveTheRoleOfTheirGroup) {
  const IdentityProvider provider;
  roster_ = provider.Roster();
  StartServer();
  const auto drain = [&](const std::string& token) {
    return Call("NodeService", "DrainNode", "Bearer " + token);
  };
  EXPECT_EQ(drain(provider.Token("jane", "consoles")).error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(drain(provider.Token("jane", "gardeners")).error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(drain(provider.Token("jane", "operators")).ok());
  EXPECT_EQ(node_->drained()->by, "jane");

  nlohmann::json claims = IdentityProvider::Claims("jane", "administrators");
  claims["exp"] = 1000;
  const grpc::Status expired = drain(provider.Sign(claims)), guess = drain("guess");
  EXPECT_EQ(expired.error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(expired.error_message(), guess.error_message()) << "a stranger learns nothing";
  claims = IdentityProvider::Claims("jane", "administrators");
  claims["aud"] = "another service";
  EXPECT_EQ(drain(provider.Sign(claims)).error_code(), StatusCode::UNAUTHENTICATED);
  // Unsigned, and with all the metadata that a token may have.
  const nlohmann::json unsigned_header = {{"alg", "none"}};
  EXPECT_EQ(drain(TokenSigner::P256("x").Sign(unsigned_header, claims.dump())).error_code(),
            StatusCode::UNAUTHENTICATED);
  claims = IdentityProvider::Claims("jane", "operators");
  claims["padding"] = std::string(5600, 'x');
  const std::string longest = provider.Sign(claims);
  EXPECT_GT(longest.size(), 8000);
  EXPECT_LE(longest.size(), 8192);
  EXPECT_TRUE(drain(longest).ok());
  claims["padding"] = std::string(6500, 'x');
  EXPECT_EQ(drain(provider.Sign(claims)).error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(provider.refused(), ::testing::ElementsAre("no_role", "expired", "unknown_token",
                                                         "audience", "algorithm", "too_long"));
}

TEST_F(RolesTest, AScanIsItsPersonsWhateverHisName) {
  const IdentityProvider provider;
  roster_ = provider.Roster();
  nlohmann::json claims = IdentityProvider::Claims("jane", "consoles");
  const auto check = [&] {
    return *roster_->CheckToken(provider.Sign(claims), absl::Now()).holder;
  };
  EXPECT_EQ(check().identity(), "openid id-of-jane");
  claims["sub"] = "somebody else";
  EXPECT_EQ(check().name, "jane");
  EXPECT_EQ(check().identity(), "openid somebody else");
}

TEST_F(RolesTest, TheLogNamesWhoAsked) {
  StartWithTokens();
  jobs::Job job;
  job.id = "job-1";
  job.state = jobs::JobState::kCompleted;
  job.create_time = absl::Now();
  ASSERT_TRUE(service_.table->Insert(job).ok());
  v1::DeleteJobRequest request;
  request.set_job_id(job.id);
  const CapturedLog log;
  ASSERT_TRUE(Call("JobService", "DeleteJob", "Bearer " + TokenOf(Role::kAdministrator),
                   request.SerializeAsString())
                  .ok());
  ASSERT_TRUE(Call("NodeService", "DrainNode", "Bearer " + TokenOf(Role::kOperator)).ok());
  EXPECT_THAT(log.text(),
              HasSubstr("event=job_deleted job=job-1 force=false by=\"the administrator\""));
  EXPECT_THAT(log.text(), HasSubstr("event=node_drained by=\"the operator\""));
}

TEST_F(RolesTest, WrongTokensOfOneCallerLeaveTheOthersAlone) {
  // Behind a proxy they have one address, and a room must not wait because of another's mistake.
  StartWithTokens();
  for (int i = 0; i < 2 * roles::AttemptLimiter::kFailures; ++i) {
    EXPECT_EQ(Call("NodeService", "GetNodeStatus", "Bearer wrong").error_code(),
              StatusCode::UNAUTHENTICATED);
  }
  EXPECT_TRUE(Call("NodeService", "GetNodeStatus", "Bearer " + TokenOf(Role::kViewer)).ok());
}

TEST_F(RolesTest, CertificatesHaveTheirRoleAndElseAConsoles) {
  const TestCertificates certificates(service_.directory.path() / "certificates");
  certificates.MakeAuthority("authority");
  for (const char* name : {"server", "room", "admin"}) certificates.Make(name, "authority");
  roster_ = std::make_unique<roles::Roster>(
      Tokens(),
      std::vector<roles::CertificateHolder>{{"CN=admin,O=Hospital", Role::kAdministrator}});
  StartServer([&](v1::ServerConfig& config) {
    config.mutable_grpc_tls()->set_certificate_file(certificates.Pem("server"));
    config.mutable_grpc_tls()->set_private_key_file(certificates.Key("server"));
    config.mutable_grpc_tls()->set_client_ca_file(certificates.Pem("authority"));
  });
  const auto text = [](const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  const auto connect = [&](const std::string& name) {
    Connect(grpc::SslCredentials({.pem_root_certs = text(certificates.Pem("authority")),
                                  .pem_private_key = text(certificates.Key(name)),
                                  .pem_cert_chain = text(certificates.Pem(name))}));
  };
  connect("room");
  EXPECT_FALSE(IsRefused(Call("AcquisitionService", "Acquire")));
  EXPECT_FALSE(IsRefused(Call("JobService", "DownloadResult")));
  EXPECT_EQ(Call("NodeService", "DrainNode").error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Call("JobService", "DeleteJob").error_code(), StatusCode::PERMISSION_DENIED);
  // The token counts before the certificate, also where it gives less.
  EXPECT_FALSE(
      IsRefused(Call("JobService", "DeleteJob", "Bearer " + TokenOf(Role::kAdministrator))));
  EXPECT_EQ(Call("AcquisitionService", "Acquire", "Bearer " + TokenOf(Role::kViewer)).error_code(),
            StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Call("AcquisitionService", "Acquire", "Bearer wrong").error_code(),
            StatusCode::UNAUTHENTICATED);
  connect("admin");
  EXPECT_FALSE(IsRefused(Call("JobService", "DeleteJob")));
  EXPECT_TRUE(Call("NodeService", "DrainNode").ok());
  EXPECT_EQ(node_->drained()->by, "admin");
}

}  // namespace
}  // namespace isocenter::testing
