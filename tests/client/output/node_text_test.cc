// How a node's access is told.
#include "client/cli/output/node_text.h"

#include <gtest/gtest.h>

namespace isocenter::cli {
namespace {

TEST(AccessText, NamesEachProof) {
  v1::NodeAccess access;
  EXPECT_EQ(AccessText(access),
            "access: NO TLS, no roles: whoever reaches it may do all that gRPC offers\n");
  access.set_tls(true);
  access.set_client_certificates(true);
  EXPECT_EQ(AccessText(access),
            "access: TLS, certificates of a known authority, no roles: whoever reaches it may do "
            "all that gRPC offers\n");
  access.set_named_certificates(3);
  access.set_tokens(true);
  access.set_tokens_file_ok(true);
  access.set_openid_issuer("https://id.example.org");
  EXPECT_EQ(AccessText(access),
            "access: TLS, certificates of a known authority, 3 of them with a role, tokens of a "
            "file, tokens of https://id.example.org\n");
  access.set_tokens_file_ok(false);
  EXPECT_NE(AccessText(access).find("tokens of a file, which is NOT RIGHT"), std::string::npos);
}

}  // namespace
}  // namespace isocenter::cli
