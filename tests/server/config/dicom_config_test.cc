// Every field of dicom_node, with values that are legal and values that are not.
#include "server/config/dicom_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/config/protocol_book.h"
#include "server/config/server_config.h"

namespace isocenter::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What fields that name a peer or a certificate need beside them.
constexpr char kPeer[] = "peer { ae_title: 'PACS' host: 'pacs' port: 104 } ";
constexpr char kTls[] =
    "tls { certificate_file: 'c.pem' private_key_file: 'k.pem' ca_file: 'ca.pem' } ";

/// What a node with these fields is told.
absl::Status Check(const std::string& fields) {
  auto config = ParseServerConfig(absl::StrCat("dicom_node { ", fields, " }"), "test");
  if (!config.ok()) return config.status();
  ApplyDefaults(*config);
  return ValidateServerConfig(*config);
}

TEST(DicomConfig, LegalValues) {
  for (const std::string& fields : {
           std::string(),
           std::string("ae_title: 'A'"),
           std::string("ae_title: 'SIXTEEN-LETTERS!'"),
           std::string("ae_title: 'CATH LAB 2'"),
           std::string("address: '127.0.0.2' port: 1"),
           std::string("port: 65535"),
           std::string("disabled: true"),
           std::string("max_associations: 1"),
           std::string("max_associations: 256 max_associations_per_caller: 256"),
           std::string("max_associations_per_caller: 1"),
           std::string("max_pdu_bytes: 4096"),
           std::string("max_pdu_bytes: 131072"),
           std::string("idle_seconds: 1"),
           std::string("idle_seconds: 86400"),
           std::string("max_find_matches: 1"),
           std::string("max_find_matches: 1000000"),
           std::string("check_called_ae_title: true"),
           std::string("allowed_caller { ae_title: 'A' } allowed_caller { address: '10.0.0.0/8' }"),
           // The two ports collide only where both are opened.
           std::string("port: 2762"),
           absl::StrCat(kTls, "tls_only: true port: 2762"),
           absl::StrCat(kTls, "tls_port: 65535"),
           std::string(
               "tls { certificate_file: 'c' private_key_file: 'k' anonymous_callers: true }"),
           std::string("tls { profile: DICOM_TLS_PROFILE_BCP195_EXTENDED }"),
           std::string(kPeer),
           std::string("peer { ae_title: 'STORE SCP' host: '::1' port: 65535 "
                       "compression: DICOM_COMPRESSION_JPEG_LS }"),
           absl::StrCat(kPeer,
                        "peer { ae_title: 'VNA' host: 'pacs' port: 104 "
                        "compression: DICOM_COMPRESSION_RLE }"),
           std::string("peer { ae_title: 'A' host: 'h' port: 1 tls: true tls_ca_file: 'ca.pem' "
                       "tls_check_host: true }"),
           absl::StrCat(kTls,
                        "peer { ae_title: 'A' host: 'h' port: 1 tls: true "
                        "tls_certificate_sha256: 'ab' }"),
           absl::StrCat(kPeer,
                        "worklist { peer: 'PACS' timeout_seconds: 1 } mpps { peer: 'PACS' }"),
           absl::StrCat(kPeer, "worklist { peer: 'PACS' timeout_seconds: 60 }"),
           absl::StrCat(kPeer,
                        "destination { ae_title: 'PACS' max_associations: 16 "
                        "first_retry_seconds: 0.05 longest_retry_seconds: 0.05 "
                        "commitment_seconds: 604800 role: RESULT_ROLE_REFINEMENT }"),
       }) {
    EXPECT_TRUE(Check(fields).ok()) << fields << "\n" << Check(fields);
  }
}

TEST(DicomConfig, IsReachedFromBeyondThisMachineOnlyWithTlsOrWhereThatIsMeant) {
  const std::string beyond = "address: '10.0.0.1' ";
  const std::string anonymous =
      "tls { certificate_file: 'c' private_key_file: 'k' anonymous_callers: true } tls_only: true ";
  const std::string caller = "allowed_caller { ae_title: 'PACS' } ";
  for (const std::string& open :
       {beyond, beyond + caller, beyond + kTls, beyond + anonymous, std::string("address: 'ct'")}) {
    const absl::Status status = Check(open);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << open;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("dicom_node.address is '"), HasSubstr("dicom_node.tls_only"),
                      HasSubstr("unprotected_listener: LISTENER_DICOM")));
    // The message ends here, another field follows.
    EXPECT_TRUE(Check(open + " } unprotected_listener: LISTENER_DICOM audit {").ok()) << open;
    EXPECT_FALSE(Check(open + " } unprotected_listener: LISTENER_GRPC audit {").ok()) << open;
  }
  for (const std::string& closed :
       {beyond + kTls + "tls_only: true", beyond + anonymous + caller, beyond + "disabled: true",
        std::string("address: 'localhost'"), std::string("address: '127.0.0.2'")}) {
    EXPECT_TRUE(Check(closed).ok()) << closed << Check(closed);
  }
}

TEST(DicomConfig, IllegalValuesAreNamed) {
  struct Case {
    std::string fields;
    const char* complaint;  // field and value
    const char* legal;
  };
  for (const Case& c : {
           Case{"ae_title: 'SEVENTEEN-LETTERS'", "dicom_node.ae_title is 'SEVENTEEN-LETTERS'",
                "1 to 16"},
           Case{"ae_title: ' A'", "dicom_node.ae_title is ' A'", "1 to 16"},
           Case{"ae_title: 'A '", "dicom_node.ae_title is 'A '", "1 to 16"},
           Case{"ae_title: ' '", "dicom_node.ae_title is ' '", "1 to 16"},
           Case{"ae_title: 'A\\\\B'", "dicom_node.ae_title is", "backslash"},
           Case{"ae_title: 'A\\tB'", "dicom_node.ae_title is", "printable"},
           Case{"ae_title: 'R\\303\\266NTGEN'", "dicom_node.ae_title is", "printable"},
           Case{"port: 65536", "dicom_node.port is 65536", "0 to 65535"},
           Case{"max_associations: 257", "dicom_node.max_associations is 257", "1 to 256"},
           Case{"max_associations_per_address: 257",
                "dicom_node.max_associations_per_address is 257", "1 to 256"},
           Case{"max_associations_per_caller: 257", "dicom_node.max_associations_per_caller is 257",
                "1 to 256"},
           Case{"max_pdu_bytes: 4095", "dicom_node.max_pdu_bytes is 4095", "4096 to 131072"},
           Case{"max_pdu_bytes: 131073", "dicom_node.max_pdu_bytes is 131073", "4096 to 131072"},
           Case{"idle_seconds: 0.5", "dicom_node.idle_seconds is 0.5", "1 to 86400"},
           Case{"idle_seconds: 86401", "dicom_node.idle_seconds is 86401", "1 to 86400"},
           Case{"idle_seconds: nan", "dicom_node.idle_seconds is nan", "1 to 86400"},
           Case{"max_find_matches: 1000001", "dicom_node.max_find_matches is", "1 to 1000000"},
           Case{"tls_port: 65536", "dicom_node.tls_port is 65536", "1 to 65535"},
           Case{"tls_only: true", "dicom_node.tls_only is true", "certificate_file"},
           Case{absl::StrCat(kTls, "port: 2762"), "dicom_node.tls_port is 2762", "another port"},
           Case{"tls { certificate_file: 'c' }", "dicom_node.tls.private_key_file is ''",
                "a PEM file"},
           Case{"tls { private_key_file: 'k' }", "dicom_node.tls.certificate_file is ''",
                "a PEM file"},
           Case{"tls { certificate_file: 'c' private_key_file: 'k' }",
                "dicom_node.tls.ca_file is ''", "anonymous_callers"},
           Case{"tls { profile: 99 }", "dicom_node.tls.profile is 99", "of this version"},
           Case{"peer { host: 'h' port: 1 }", "dicom_node.peer[0].ae_title is ''", "1 to 16"},
           Case{"peer { ae_title: 'A' port: 1 }", "dicom_node.peer[0].host is ''", "a host name"},
           Case{absl::StrCat("peer { ae_title: 'A' port: 1 host: '", std::string(58, 'h'), "' }"),
                "dicom_node.peer[0].host is 'hhh", "at most 57 characters"},
           Case{"peer { ae_title: 'A' host: 'h' }", "dicom_node.peer[0].port is 0", "1 to 65535"},
           Case{absl::StrCat(kPeer, kPeer), "dicom_node.peer[1].ae_title is 'PACS'",
                "no other peer"},
           Case{"peer { ae_title: 'A' host: 'h' port: 1 compression: 9 }",
                "dicom_node.peer[0].compression is 9", "of this version"},
           Case{"peer { ae_title: 'A' host: 'h' port: 1 tls: true }",
                "dicom_node.peer[0].tls_ca_file is ''", "a PEM file"},
           Case{"peer { ae_title: 'A' host: 'h' port: 1 tls_check_host: true }",
                "dicom_node.peer[0].tls is false", "true"},
           Case{"peer { ae_title: 'A' host: 'h' port: 1 tls_certificate_sha256: 'ab' }",
                "dicom_node.peer[0].tls is false", "true"},
           Case{absl::StrCat(kPeer, "worklist { peer: 'RIS' }"),
                "dicom_node.worklist.peer is 'RIS'", "a dicom_node.peer"},
           Case{absl::StrCat(kPeer, "worklist { peer: 'PACS' timeout_seconds: 61 }"),
                "dicom_node.worklist.timeout_seconds is 61", "1 to 60"},
           Case{absl::StrCat(kPeer, "mpps { }"), "dicom_node.mpps.peer is ''", "a dicom_node.peer"},
           Case{"destination { ae_title: 'PACS' }", "dicom_node.destination[0].ae_title is 'PACS'",
                "a dicom_node.peer"},
           Case{"port: 11999 peer { ae_title: 'SELF' host: 'localhost' port: 11999 } "
                "destination { ae_title: 'SELF' }",
                "dicom_node.destination[0].ae_title is 'SELF'", "a peer elsewhere"},
           Case{absl::StrCat(kPeer, "destination { ae_title: 'PACS' role: 0 }"),
                "dicom_node.destination[0].role is 0", "a ResultRole"},
           Case{absl::StrCat(kPeer, "destination { ae_title: 'PACS' commitment_seconds: 604801 }"),
                "dicom_node.destination[0].commitment_seconds is 604801", "1 to 604800"},
       }) {
    const absl::Status status = Check(c.fields);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.fields;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(c.complaint), HasSubstr(c.legal)))
        << c.fields;
  }
}

// A destination with these fields of its web server, and further ones.
std::string Web(const std::string& fields, const std::string& further = "") {
  return absl::StrCat("destination { dicomweb { ", fields, " } ", further, " } ");
}
constexpr char kCloud[] = "name: 'CLOUD' url: 'https://pacs.example:8443/dicom-web/studies' ";

TEST(DicomConfig, WebServersAreDestinations) {
  for (const std::string& fields : {
           Web(kCloud),
           Web(kCloud,
               "protocol: 'fdk' form: DICOM_FORM_CT_SERIES on_request_only: true "
               "max_associations: 16 first_retry_seconds: 1 longest_retry_seconds: 1"),
           Web(absl::StrCat(kCloud,
                            "bearer_token_file: 't' ca_file: 'ca.pem' "
                            "certificate_file: 'c.pem' private_key_file: 'k.pem'")),
           Web("name: 'A B' url: 'http://127.0.0.1:8042/studies' bearer_token_file: 't'"),
           Web("name: 'A' url: 'http://[::1]:8042/studies'"),
           Web("name: 'A' url: 'http://pacs/dicom-web/studies' unprotected: true"),
           // A peer of that name is another thing: nobody is sent anything there.
           absl::StrCat(kPeer, Web("name: 'PACS' url: 'https://pacs/studies'")),
           absl::StrCat(kPeer, "destination { ae_title: 'PACS' } ", Web(kCloud)),
       }) {
    EXPECT_TRUE(Check(fields).ok()) << fields << "\n" << Check(fields);
  }
  auto config = ParseServerConfig(absl::StrCat("dicom_node { ", Web(kCloud), " }"), "test");
  ASSERT_TRUE(config.ok()) << config.status();
  ApplyDefaults(*config);
  const v1::DicomDestination& cloud = config->dicom_node().destination(0);
  EXPECT_EQ(DestinationName(cloud), "CLOUD");
  EXPECT_EQ(cloud.max_associations(), 1u);
  EXPECT_EQ(cloud.first_retry_seconds(), 5);
  EXPECT_EQ(cloud.longest_retry_seconds(), 300);
  EXPECT_EQ(cloud.commitment_seconds(), 0) << "there is none";
}

TEST(DicomConfig, MistakesAboutWebServersAreNamed) {
  struct Case {
    std::string fields;
    const char* complaint;
    const char* legal;
  };
  const std::string plain = "name: 'A' url: 'http://pacs/studies' ";
  for (const Case& c : {
           Case{absl::StrCat(kPeer, Web(kCloud, "ae_title: 'PACS'")), ".ae_title is 'PACS'",
                "empty with dicomweb"},
           Case{Web(kCloud, "storage_commitment: true"), ".storage_commitment is true",
                "false with dicomweb"},
           Case{Web(kCloud, "commitment_seconds: 60"), ".commitment_seconds is 60",
                "0 with dicomweb"},
           Case{Web(kCloud, "max_associations: 17"), ".max_associations is 17", "1 to 16"},
           Case{Web("url: 'https://pacs/studies'"), ".dicomweb.name is ''", "1 to 16 printable"},
           Case{Web("name: 'SEVENTEEN-LETTERS' url: 'https://pacs/studies'"),
                ".dicomweb.name is 'SEVENTEEN-LETTERS'", "1 to 16 printable"},
           Case{absl::StrCat(kPeer, "destination { ae_title: 'pacs' }"),
                "destination[0].ae_title is 'pacs'", "there is PACS; did you mean PACS?"},
           Case{"destination { ae_title: 'PACS' }", "destination[0].ae_title is 'PACS'",
                "the ae_title of a dicom_node.peer; there are none"},
           Case{absl::StrCat(Web(kCloud), Web(kCloud)), "destination[1].dicomweb.name is 'CLOUD'",
                "no other destination"},
           Case{absl::StrCat(kPeer, "destination { ae_title: 'PACS' } ",
                             Web("name: 'PACS' url: 'https://pacs/studies'")),
                "destination[1].dicomweb.name is 'PACS'", "no other destination"},
           Case{Web("name: 'A'"), ".dicomweb.url is ''", "https://HOST[:PORT]/PATH/studies"},
           Case{Web("name: 'A' url: 'ftp://pacs/studies'"), ".dicomweb.url is 'ftp://", "https://"},
           Case{Web("name: 'A' url: 'https:///studies'"), ".dicomweb.url is", "HOST"},
           Case{Web("name: 'A' url: 'https://pacs/dicom-web'"), ".dicomweb.url is", "/studies"},
           Case{Web("name: 'A' url: 'https://pacs/x?y=/studies'"), ".dicomweb.url is", "/studies"},
           Case{Web("name: 'A' url: 'https://u:p@pacs/studies'"), ".dicomweb.url is",
                "without a user name"},
           Case{Web("name: 'A' url: 'https://pacs/a b/studies'"), ".dicomweb.url is", "https://"},
           Case{Web(absl::StrCat("name: 'A' url: 'https://pacs/", std::string(1024, 'a'),
                                 "/studies'")),
                ".dicomweb.url is", "at most 1024"},
           Case{Web(plain), ".dicomweb.url is 'http://pacs/studies'", "`unprotected: true`"},
           Case{Web(absl::StrCat(plain, "unprotected: true bearer_token_file: '/t'")),
                ".dicomweb.bearer_token_file is '/t'", "a token is a secret"},
           Case{Web(absl::StrCat(kCloud, "unprotected: true")), ".dicomweb.unprotected is true",
                "false with"},
           Case{Web(absl::StrCat(kCloud, "certificate_file: 'c'")),
                ".dicomweb.private_key_file is ''", "a PEM file"},
           Case{Web(absl::StrCat(kCloud, "private_key_file: 'k'")),
                ".dicomweb.certificate_file is ''", "a PEM file"},
           Case{Web("name: 'A' url: 'http://localhost/studies' ca_file: 'ca'"),
                ".dicomweb.ca_file is 'ca'", "only with a url that is https"},
           Case{Web("name: 'A' url: 'http://localhost/studies' certificate_file: 'c' "
                    "private_key_file: 'k'"),
                ".dicomweb.certificate_file is 'c'", "only with a url that is https"},
       }) {
    const absl::Status status = Check(c.fields);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.fields;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(c.complaint), HasSubstr(c.legal)))
        << c.fields;
  }
}

TEST(DicomConfig, DefaultsAreThoseOfTheReference) {
  auto config = ParseServerConfig(
      absl::StrCat("dicom_node { max_associations: 7 ", kPeer, "worklist { peer: 'PACS' } }"),
      "test");
  ASSERT_TRUE(config.ok()) << config.status();
  ApplyDefaults(*config);
  const v1::DicomNodeConfig& node = config->dicom_node();
  EXPECT_EQ(node.ae_title(), "ISOCENTER");
  EXPECT_EQ(node.address(), "127.0.0.1");
  EXPECT_EQ(node.port(), 11112u);
  EXPECT_EQ(node.tls_port(), 2762u);
  EXPECT_EQ(node.max_associations_per_caller(), 7u);
  EXPECT_EQ(node.max_associations_per_address(), 3u);
  EXPECT_EQ(node.max_pdu_bytes(), 131072u);
  EXPECT_EQ(node.idle_seconds(), 60);
  EXPECT_EQ(node.max_find_matches(), 100000u);
  EXPECT_EQ(node.worklist().timeout_seconds(), 10);
}

TEST(DicomConfig, CallersByTitleAloneAreWarnedOf) {
  const auto warnings = [](const std::string& fields) {
    const auto config = ParseServerConfig(absl::StrCat("dicom_node { ", kPeer, fields, " }"), "");
    return DicomWarnings(config->dicom_node());
  };
  EXPECT_THAT(warnings("allowed_caller { ae_title: 'PACS' } allowed_caller { ae_title: 'A' }"),
              ElementsAre(HasSubstr("dicom_node.allowed_caller[1] is 'A' at any address")));
  EXPECT_THAT(warnings("allowed_caller { ae_title: 'A' address: '10.0.0.1' }"), IsEmpty());
  EXPECT_THAT(warnings("allowed_caller { address: '10.0.0.1' }"), IsEmpty());
  EXPECT_THAT(warnings("disabled: true allowed_caller { ae_title: 'A' }"), IsEmpty());
}

/// In which forms the protocol "p" with these fields is stored.
absl::StatusOr<jobs::DicomForms> FormsOf(const std::string& fields) {
  auto config = ParseServerConfig(absl::StrCat("protocol { name: 'p' ", fields, " }"), "test");
  if (!config.ok()) return config.status();
  ApplyDefaults(*config);
  const auto book = ProtocolBook::Make(*config);
  if (!book.ok()) return book.status();
  return (*book->Find("p"))->dicom_forms;
}

TEST(DicomForms, AreThoseThatAProtocolNames) {
  const jobs::DicomForms ct{.ct_series = true, .xray_3d = false},
      xray{.ct_series = false, .xray_3d = true}, both{.ct_series = true, .xray_3d = true};
  EXPECT_EQ(*FormsOf(""), both);
  EXPECT_EQ(*FormsOf("dicom_forms: DICOM_FORM_CT_SERIES"), ct);
  EXPECT_EQ(*FormsOf("dicom_forms: DICOM_FORM_XRAY_3D"), xray);
  EXPECT_EQ(*FormsOf("dicom_forms: [DICOM_FORM_XRAY_3D, DICOM_FORM_CT_SERIES]"), both);
}

TEST(DicomForms, IllegalOnesAreNamed) {
  struct Case {
    const char *fields, *complaint;
  };
  for (const Case& c :
       {Case{"dicom_forms: DICOM_FORM_UNSPECIFIED", "dicom_forms has 0"},
        Case{"dicom_forms: 9", "dicom_forms has 9"},
        Case{"dicom_forms: [DICOM_FORM_XRAY_3D, DICOM_FORM_XRAY_3D]", "dicom_forms has 2 twice"}}) {
    const absl::Status status = FormsOf(c.fields).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.fields;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(c.complaint), HasSubstr("legal are DICOM_FORM_CT_SERIES")));
  }
}

TEST(DicomForms, AreSaidOfEveryProtocol) {
  auto config = ParseServerConfig("", "test");
  ApplyDefaults(*config);
  const auto book = ProtocolBook::Make(*config);
  ASSERT_TRUE(book.ok()) << book.status();
  for (const auto& [name, protocol] : book->all()) {
    EXPECT_EQ(protocol.description.dicom_forms_size(), 2) << name;
  }
}

}  // namespace
}  // namespace isocenter::config
