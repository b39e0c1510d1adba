#include "server/config/server_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/config/places.h"
#include "tests/server/archive/temporary_directory.h"
#include "tests/server/config/changed_config.h"

namespace isocenter::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

TEST(ServerConfig, AnEmptyFileIsLegal) {
  auto config = ParseServerConfig("", "empty");
  ASSERT_TRUE(config.ok());
  ApplyDefaults(*config);
  EXPECT_TRUE(ValidateServerConfig(*config).ok()) << ValidateServerConfig(*config);
  EXPECT_EQ(config->grpc_address(), "127.0.0.1:50051");
  EXPECT_EQ(config->metrics_address(), "127.0.0.1:9464");
  EXPECT_EQ(config->archive_directory(), "isocenter-archive");
  EXPECT_EQ(config->default_protocol(), "fdk");
  EXPECT_EQ(config->drain_seconds(), 60);
  EXPECT_EQ(config->dicom_node().ae_title(), "ISOCENTER");
  EXPECT_EQ(config->dicom_node().port(), 11112u);
  EXPECT_EQ(config->limits().max_message_bytes(), 68u << 20);
  EXPECT_EQ(config->limits().max_active_jobs(), 16u);
  EXPECT_GT(config->limits().memory_bytes(), 0u);
  EXPECT_EQ(config->limits().reconnect_seconds(), 120);
  EXPECT_EQ(config->limits().calls_per_caller(), 256u);
  EXPECT_EQ(config->limits().calls_per_second_per_caller(), 2000u);
  EXPECT_EQ(config->limits().downloads_per_caller(), 16u);
  EXPECT_EQ(config->limits().streams_per_caller(), 24u) << "three quarters of all";
  EXPECT_EQ(config->limits().batch_jobs_per_caller(), 8u);
  EXPECT_EQ(config->spool().sync(), v1::SYNC_POLICY_INTERVAL);
  EXPECT_EQ(config->spool().sync_interval_seconds(), 0.2);
  EXPECT_EQ(config->spool().capacity_bytes(), 0u);
  EXPECT_EQ(config->spool().retain_seconds(), 86400);
}

TEST(ServerConfig, PathsForAShellAreRefused) {
  const auto refused = [](const std::string& text) {
    auto config = ParseServerConfig(text, "site.txt");
    EXPECT_TRUE(config.ok()) << config.status();
    ApplyDefaults(*config);
    return MessageOf(ValidateServerConfig(*config));
  };
  setenv("HOME", "/home/op", /*overwrite=*/1);
  EXPECT_THAT(refused("archive_directory: '~/archive'"),
              AllOf(HasSubstr("archive_directory is '~/archive'; legal is a path without ~ and $"),
                    HasSubstr("did you mean /home/op/archive?")));
  EXPECT_THAT(refused("audit { file: '$HOME/audit.jsonl' }"),
              HasSubstr("audit.file is '$HOME/audit.jsonl'"));
  EXPECT_THAT(refused("spool { directory: '/data/${NODE}' }"),
              AllOf(HasSubstr("spool.directory"), Not(HasSubstr("did you mean"))));
  // A destination's files are within repeated messages.
  EXPECT_THAT(refused("dicom_node { destination { dicomweb { name: 'C' url: 'https://a/studies' "
                      "ca_file: '~ca.pem' } } }"),
              HasSubstr("dicom_node.destination[0].dicomweb.ca_file is '~ca.pem'"));
  for (const char* legal : {"archive_directory: '/data/a~b'", "archive_directory: '/data/US$'",
                            "archive_directory: 'price$5'"}) {
    EXPECT_EQ(refused(legal), "") << legal;
  }
}

TEST(ServerConfig, TextsAreUtf8) {
  // Latin-1, as it is written by an editor, and as an escape.
  for (const char* text : {"cluster { node_name: 'Spital Z\xfcrich' }",
                           "cluster { node_name: 'Spital Z\\374rich' }"}) {
    EXPECT_THAT(MessageOf(ParseServerConfig(text, "site.txt").status()),
                AllOf(HasSubstr("site.txt: cluster.node_name is 'Spital Z\\xfcrich', "
                                "which is not UTF-8: byte 0xFC at offset 8"),
                      HasSubstr("save the file in that encoding")));
  }
  EXPECT_TRUE(ParseServerConfig("# Z\xfcrich\n", "site.txt").ok()) << "comments are nobody's text";
}

/// What is refused of a text, with flags that change what was read.
std::string Placed(const std::string& text,
                   const std::function<void(v1::ServerConfig&)>& flags = nullptr) {
  auto config = ParseServerConfig(text, "site.txt");
  EXPECT_TRUE(config.ok()) << config.status();
  ApplyDefaults(*config);
  if (flags) flags(*config);
  return MessageOf(WithPlaces(ValidateServerConfig(*config), text, "site.txt", *config));
}

TEST(ServerConfig, EveryMistakeHasItsLine) {
  const std::string text =
      "# of the site\n"
      "drain_seconds: -1\n"
      "limits {\n"
      "  gpus: 99\n"
      "  idle_stream_seconds: 0.5\n"
      "}\n"
      "grpc_tls {\n"
      "  certificate_file: \"c.pem\"\n"
      "}\n";
  EXPECT_THAT(Placed(text),
              AllOf(HasSubstr("site.txt:2: drain_seconds is -1; legal is 0 to 3600\n"),
                    HasSubstr("site.txt:4: limits.gpus is 99; legal is 0 to 64\n"),
                    HasSubstr("site.txt:5: limits.idle_stream_seconds is 0.5"),
                    HasSubstr("site.txt:7: grpc_tls.private_key_file is ''")));
  // What a flag says is not in the file.
  EXPECT_EQ(Placed("limits { gpus: 1 }", [](auto& c) { c.mutable_limits()->set_gpus(65); }),
            "limits.gpus is 65; legal is 0 to 64");
  EXPECT_EQ(Placed("limits { }", [](auto& c) { c.mutable_limits()->set_gpus(65); }),
            "limits.gpus is 65; legal is 0 to 64");
  EXPECT_THAT(Placed("dicom_node {\n peer { ae_title: \"A\" host: \"a\" port: 104 }\n"
                     " peer {\n  ae_title: \"B\" host: \"b\"\n  port: 70000 }\n}\n"),
              HasSubstr("site.txt:5: dicom_node.peer[1].port is 70000"));
}

TEST(ServerConfig, NumbersThatAreNoneAreToldTheirRange) {
  const auto complaint = [](const char* text) {
    return MessageOf(ParseServerConfig(text, "f").status());
  };
  EXPECT_THAT(complaint("audit { max_files: -1 }"),
              HasSubstr("audit.max_files is -1; legal is a whole number from 1 to 10000"));
  EXPECT_THAT(complaint("limits { gpus: 1.5 }"),
              HasSubstr("limits.gpus is 1.5; legal is a whole number from 0 to 64"));
  EXPECT_THAT(complaint("drain_seconds: soon"),
              HasSubstr("drain_seconds is soon, which is no number; legal is a number from 0 to "
                        "3600"));
  EXPECT_THAT(complaint("dicom_node { peer { port: 99999999999 } }"),
              HasSubstr("legal is a whole number from 1 to 65535"));
  EXPECT_THAT(complaint("limits { memory_bytes: 8GiB }"),
              HasSubstr("legal is a number of bytes from 1048576 to 1125899906842624, without"));
}

TEST(ServerConfig, SecretsGoToNoCollectorInPlainText) {
  const auto complaint = [](const std::string& endpoint) {
    return Complaint([&](v1::ServerConfig& config) {
      config.mutable_traces()->set_endpoint(endpoint);
      config.mutable_traces()->set_headers_file("/etc/isocenter/headers");
    });
  };
  for (const char* endpoint : {"http://collector:4318/v1/traces", "https://user:word@collector"}) {
    EXPECT_THAT(complaint(endpoint),
                AllOf(HasSubstr(absl::StrCat("traces.endpoint is '", endpoint, "'")),
                      HasSubstr("legal is https://"), HasSubstr("traces.headers_file")));
  }
  for (const char* endpoint : {"http://127.0.0.1:4318/v1/traces", "https://collector/v1/traces"}) {
    v1::ServerConfig config;
    ApplyDefaults(config);
    config.mutable_traces()->set_endpoint(endpoint);
    config.mutable_traces()->set_headers_file("/etc/isocenter/headers");
    EXPECT_TRUE(ValidateServerConfig(config).ok()) << endpoint;
  }
  v1::ServerConfig config;
  ApplyDefaults(config);
  config.mutable_traces()->set_endpoint("http://collector:4318/v1/traces");
  EXPECT_TRUE(ValidateServerConfig(config).ok()) << "without secrets";
}

TEST(ServerConfig, WhatIsSetStays) {
  auto config = ParseServerConfig(
      "grpc_address: \"0.0.0.0:7\" limits { max_active_jobs: 3 } dicom_node { port: 104 }", "f");
  ASSERT_TRUE(config.ok());
  ApplyDefaults(*config);
  EXPECT_EQ(config->grpc_address(), "0.0.0.0:7");
  EXPECT_EQ(config->limits().max_active_jobs(), 3u);
  EXPECT_EQ(config->dicom_node().port(), 104u);
}

TEST(ServerConfig, DestinationsArePeersWithDefaults) {
  auto config = ParseServerConfig(
      "dicom_node { peer { ae_title: 'PACS' host: 'h' port: 104 } peer { ae_title: 'VNA' host: 'h' "
      "port: 105 } destination { ae_title: 'PACS' } destination { ae_title: 'VNA' "
      "first_retry_seconds: 600 max_associations: 4 role: RESULT_ROLE_MASK } }",
      "f");
  ASSERT_TRUE(config.ok()) << config.status();
  ApplyDefaults(*config);
  ASSERT_TRUE(ValidateServerConfig(*config).ok()) << ValidateServerConfig(*config);
  const v1::DicomDestination& pacs = config->dicom_node().destination(0);
  EXPECT_EQ(pacs.max_associations(), 1u);
  EXPECT_EQ(pacs.first_retry_seconds(), 5);
  EXPECT_EQ(pacs.longest_retry_seconds(), 300);
  EXPECT_EQ(pacs.commitment_seconds(), 3600);
  EXPECT_EQ(config->dicom_node().destination(1).longest_retry_seconds(), 600);
}

TEST(ServerConfig, DestinationsAreChecked) {
  const auto complaint = [](const std::function<void(v1::DicomNodeConfig&)>& spoil) {
    return Complaint([&](v1::ServerConfig& config) {
      v1::DicomNodeConfig& node = *config.mutable_dicom_node();
      v1::DicomPeer& peer = *node.add_peer();
      peer.set_ae_title("PACS");
      peer.set_host("h");
      peer.set_port(104);
      node.add_destination()->set_ae_title("PACS");
      ApplyDefaults(config);
      spoil(node);
    });
  };
  const auto first = [](v1::DicomNodeConfig& node) { return node.mutable_destination(0); };
  EXPECT_THAT(
      complaint([&](auto& node) { first(node)->set_ae_title("NOBODY"); }),
      AllOf(HasSubstr("destination[0].ae_title is 'NOBODY'"), HasSubstr("dicom_node.peer")));
  EXPECT_THAT(complaint([&](auto& node) { *node.add_destination() = node.destination(0); }),
              HasSubstr("destination[1].ae_title is 'PACS'"));
  EXPECT_THAT(complaint([&](auto& node) { first(node)->set_max_associations(17); }),
              AllOf(HasSubstr("max_associations is 17"), HasSubstr("1 to 16")));
  EXPECT_THAT(complaint([&](auto& node) { first(node)->set_first_retry_seconds(0.01); }),
              HasSubstr("first_retry_seconds is 0.01"));
  EXPECT_THAT(complaint([&](auto& node) { first(node)->set_longest_retry_seconds(1); }),
              AllOf(HasSubstr("longest_retry_seconds is 1"), HasSubstr("5 to 86400")));
  EXPECT_THAT(complaint([&](auto& node) { first(node)->set_commitment_seconds(0.5); }),
              HasSubstr("commitment_seconds is 0.5"));
  EXPECT_THAT(
      complaint([&](auto& node) { first(node)->add_role(static_cast<v1::ResultRole>(99)); }),
      HasSubstr("role is 99"));
}

TEST(ServerConfig, DestinationsGetSomethingOfEveryProtocolThatIsSentThere) {
  const auto complaint = [](const std::string& fields) {
    auto config = ParseServerConfig(
        "protocol { name: 'volumes' dicom_forms: DICOM_FORM_XRAY_3D } "
        "dicom_node { peer { ae_title: 'PACS' host: 'h' port: 104 } "
        "destination { ae_title: 'PACS' " +
            fields + " } }",
        "f");
    EXPECT_TRUE(config.ok()) << config.status();
    ApplyDefaults(*config);
    return std::string(ValidateServerConfig(*config).message());
  };
  EXPECT_EQ(complaint(""), "");
  EXPECT_EQ(complaint("form: DICOM_FORM_XRAY_3D"), "");
  EXPECT_EQ(complaint("form: DICOM_FORM_CT_SERIES protocol: 'fdk'"), "");
  EXPECT_EQ(complaint("form: DICOM_FORM_CT_SERIES on_request_only: true"), "");
  EXPECT_THAT(complaint("form: DICOM_FORM_CT_SERIES"),
              AllOf(HasSubstr("destination[0].form"), HasSubstr("protocol 'volumes'")));
  EXPECT_THAT(complaint("form: DICOM_FORM_CT_SERIES form: DICOM_FORM_CT_SERIES"),
              HasSubstr("each at most once"));
  EXPECT_THAT(complaint("form: DICOM_FORM_UNSPECIFIED"), HasSubstr("destination[0].form is 0"));
}

TEST(ServerConfig, TheSpoolIsInTheArchiveUnlessItHasAPlaceOfItsOwn) {
  v1::ServerConfig config;
  ApplyDefaults(config);
  config.set_archive_directory("/data/archive");  // by a flag, after the defaults
  EXPECT_EQ(SpoolDirectory(config), "/data/archive/spool");
  config.mutable_spool()->set_directory("/fast");
  EXPECT_EQ(SpoolDirectory(config), "/fast");
}

TEST(ServerConfig, AFileShowsAllItsMistakesInOurWords) {
  const std::string said = MessageOf(ParseServerConfig(R"(grcp_address: "x"
limits { memory_byte: 3 gpus: -1 }
spool { sync: SYNC_POLICY_ALWAY sync_policy: SYNC_POLICY_ALWAYS }
memory_bytes: 3
drain_seconds: "soon" drain_seconds: 4
dicom_node { port 7 disabled: maybe peer { ae_title: 7 } tls { port: 2762 } } }
web: 3
grpc_address { }
protocol { name: "a" )",
                                                       "f")
                                         .status());
  for (const char* told :
       {"f:1:1: there is no field 'grcp_address'; did you mean grpc_address?",
        "f:2:10: limits has no field 'memory_byte'; did you mean memory_bytes?",
        "f:2:31: limits.gpus is -1; legal is a whole number from 0 to 64",
        "f:3:15: spool.sync is SYNC_POLICY_ALWAY;", "did you mean SYNC_POLICY_ALWAYS?",
        "f:3:33: spool has no field 'sync_policy'; did you mean sync?",
        "f:4:1: there is no field 'memory_bytes'; did you mean limits.memory_bytes?",
        "f:5:16: drain_seconds is \"soon\"; legal is a number from 0 to 3600",
        "f:5:23: drain_seconds is written twice", "dicom_node.port lacks its colon",
        "dicom_node.disabled is maybe; legal is true or false",
        "dicom_node.peer.ae_title is 7; legal is a text in quotes", "a } too many",
        "dicom_node.tls has no field 'port'; did you mean dicom_node.tls_port?",
        "web is 3; legal is a block: web { ... }",
        "grpc_address is a block; legal is a text in quotes",
        "the block of protocol lacks its }"}) {
    EXPECT_THAT(said, HasSubstr(told));
  }
  for (const char* of_others : {"Message type", "isocenter.v1", "Expected", "Unknown", "identifier",
                                "Non-repeated", "Integer out of range"}) {
    EXPECT_THAT(said, Not(HasSubstr(of_others)));
  }
}

TEST(ServerConfig, AMistakeHasNoEchoes) {
  const auto said = [](absl::string_view text) {
    return MessageOf(ParseServerConfig(text, "f").status());
  };
  EXPECT_EQ(said("grpc_address: 0.0.0.0:50051\ndrain_seconds: soon\n"),
            "f:1:15: grpc_address is 0.0.0.0:50051; legal is a text in quotes\n"
            "f:2:16: drain_seconds is soon, which is no number; legal is a number from 0 to 3600");
  EXPECT_EQ(said("grpc_address = \"x:1\"\n"),
            "f:1:14: grpc_address lacks its colon; legal is grpc_address: VALUE");
  EXPECT_THAT(said("{\"grpc_address\": \"x:1\"}"),
              AllOf(HasSubstr("f:1:1: '{' where the name of a field is expected; legal is FIELD: "
                              "VALUE or FIELD { ... }"),
                    Not(HasSubstr("1:2:"))));
  EXPECT_THAT(said("limits { memory_bytes: \"16GiB\" }"),
              HasSubstr("limits.memory_bytes is \"16GiB\"; legal is a number of bytes from "
                        "1048576 to 1125899906842624, without "
                        "quotes or a unit, e.g. 17179869184 for 16 GiB"));
  EXPECT_THAT(said("protocol { name: \"x\" refinement { algorithm: \"os_satr\" } }"),
              HasSubstr("did you mean REFINEMENT_ALGORITHM_OS_SART?"));
  EXPECT_EQ(said("limits { memory_bytes: 16GiB gpus: 2 }\ndrain_seconds: 60s\ndrain_secnds: 1"),
            "f:1:24: limits.memory_bytes is 16GiB; legal is a number of bytes from 1048576 to "
            "1125899906842624, without quotes or a "
            "unit, e.g. 17179869184 for 16 GiB\n"
            "f:2:16: drain_seconds is 60s; legal is a number from 0 to 3600\n"
            "f:3:1: there is no field 'drain_secnds'; did you mean drain_seconds?");
  // What stands behind a text that does not end is read wrongly.
  EXPECT_EQ(said("drain_seconds: 1\ngrpc_address: \"127.0.0.1:50051\nweb { address: \"x\" }\n"),
            "f:2:15: this text in quotes does not end on its line; legal is \"TEXT\"");
  EXPECT_EQ(said("grpc { }"),
            "f:1:1: there is no field 'grpc'; did you mean grpc_address, grpc_tls or grpc_proxy?");
  // A byte order mark is none.
  EXPECT_TRUE(ParseServerConfig("\xEF\xBB\xBF"
                                "drain_seconds: 4",
                                "f")
                  .ok());
}

TEST(ServerConfig, AMillionMistakesAreNotAllShown) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "x: 1\n";
  EXPECT_THAT(MessageOf(ParseServerConfig(text, "f").status()),
              AllOf(HasSubstr("f:20:1"), Not(HasSubstr("f:21:1")), HasSubstr("and 980 more")));
}

TEST(ServerConfig, AllFieldsOutOfRangeAreShown) {
  EXPECT_THAT(Complaint([](auto& c) {
                c.set_drain_seconds(-1);
                c.mutable_limits()->set_gpus(99);
                c.mutable_dicom_node()->set_ae_title("");
                c.mutable_dicom_node()->set_port(70000);
              }),
              AllOf(HasSubstr("drain_seconds is -1"), HasSubstr("limits.gpus is 99"),
                    HasSubstr("ae_title is ''"), HasSubstr("dicom_node.port is 70000")));
}

TEST(ServerConfig, WholeNumbersAreShownAsTheyAreWritten) {
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_limits()->set_memory_bytes(1000); }),
              HasSubstr("limits.memory_bytes is 1000; legal is 1048576 to 1125899906842624"));
}

TEST(ServerConfig, MistakesAreReportedWithTheirPlace) {
  EXPECT_THAT(MessageOf(ParseServerConfig("\ngrpc_adress: \"x\"\n", "site.txt").status()),
              AllOf(HasSubstr("site.txt:2:"), HasSubstr("grpc_adress")));
  EXPECT_THAT(MessageOf(ParseServerConfig("drain_seconds: \"soon\"", "site.txt").status()),
              HasSubstr("site.txt:1:"));
  EXPECT_EQ(ReadServerConfig("/nowhere/site.txt").status().code(), absl::StatusCode::kNotFound);
  // A directory was once read as an empty file: all defaults.
  const absl::Status directory = ReadServerConfig("/tmp").status();
  EXPECT_EQ(directory.message(), "--config is /tmp, which is a directory; legal is a file");
  EXPECT_EQ(ReadServerConfig("").status().message(),
            "--config is '', which cannot be read: No such file or directory");
  EXPECT_EQ(ReadServerConfig("/dev/null").status().message(),
            "--config is /dev/null, which is a device; legal is a file");
}

TEST(ServerConfig, NothingOfAKeyIsShown) {
  const TemporaryDirectory directory;
  const std::string file = (directory.path() / "server.key").string();
  std::ofstream(file)
      << "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n";
  EXPECT_EQ(
      ReadServerConfig(file).status().message(),
      absl::StrCat("--config is ", file,
                   ", which is a PEM file; legal is a configuration in protobuf text format"));
  std::ofstream(file) << std::string("0\x82\x04\xbd\x02\x01\x00SECRET", 13);
  EXPECT_EQ(ReadServerConfig(file).status().message(),
            absl::StrCat("--config is ", file,
                         ", which is no text; legal is a configuration in protobuf text format"));
  std::ofstream(file) << "# für Raum 1\r\n\tdrain_seconds: 5\n";
  EXPECT_TRUE(ReadServerConfig(file).ok()) << ReadServerConfig(file).status();
}

TEST(ServerConfig, EachFieldHasItsRange) {
  EXPECT_THAT(Complaint([](auto& c) { c.set_grpc_address("50051"); }),
              HasSubstr("grpc_address is '50051'; legal is host:port"));
  EXPECT_THAT(Complaint([](auto& c) { c.set_metrics_address("localhost:99999"); }),
              HasSubstr("metrics_address"));
  EXPECT_THAT(Complaint([](auto& c) { c.set_drain_seconds(3601); }),
              HasSubstr("drain_seconds is 3601; legal is 0 to 3600"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_grpc_tls()->set_client_ca_file("ca"); }),
              HasSubstr("grpc_tls.certificate_file is ''"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_grpc_tls()->set_certificate_file("a"); }),
              HasSubstr("grpc_tls.private_key_file is ''"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_dicom_node()->set_ae_title("SEVENTEEN LETTERS"); }),
              HasSubstr("dicom_node.ae_title is 'SEVENTEEN LETTERS'"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_dicom_node()->set_port(65536); }),
              HasSubstr("dicom_node.port is 65536"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_dicom_node()->add_peer()->set_ae_title("PACS"); }),
              HasSubstr("dicom_node.peer[0].port is 0; legal is 1 to 65535"));
  EXPECT_THAT(Complaint([](auto& c) {
                for (int i = 0; i < 2; ++i) {
                  auto& peer = *c.mutable_dicom_node()->add_peer();
                  peer.set_ae_title("PACS");
                  peer.set_host("h");
                  peer.set_port(104);
                }
              }),
              HasSubstr("dicom_node.peer[1].ae_title is 'PACS'"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_limits()->set_memory_bytes(1000); }),
              HasSubstr("limits.memory_bytes is 1000"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_limits()->set_calls_per_caller(15); }),
              HasSubstr("limits.calls_per_caller is 15; legal is 16 to 1024"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_limits()->set_calls_per_second_per_caller(9); }),
              HasSubstr("limits.calls_per_second_per_caller is 9; legal is 10 to 100000"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_limits()->set_downloads_per_caller(33); }),
              HasSubstr("limits.downloads_per_caller is 33; legal is 1 to 32"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_limits()->set_streams_per_caller(1041); }),
              HasSubstr("limits.streams_per_caller is 1041; legal is 1 to 1040"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_limits()->set_batch_jobs_per_caller(1025); }),
              HasSubstr("limits.batch_jobs_per_caller is 1025; legal is 1 to 1024"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_limits()->set_max_message_bytes(1000); }),
              HasSubstr("limits.max_message_bytes is 1000"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_limits()->set_max_active_jobs(1025); }),
              HasSubstr("limits.max_active_jobs is 1025; legal is 1 to 1024"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_limits()->set_idle_stream_seconds(0.5); }),
              HasSubstr("limits.idle_stream_seconds is 0.5; legal is 1 to 3600"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_limits()->set_reconnect_seconds(0.5); }),
              HasSubstr("limits.reconnect_seconds is 0.5; legal is 1 to 86400"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_spool()->set_sync(v1::SyncPolicy(9)); }),
              HasSubstr("spool.sync is 9; legal is a SyncPolicy of this version"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_spool()->set_sync_interval_seconds(61); }),
              HasSubstr("spool.sync_interval_seconds is 61; legal is 0.01 to 60"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_spool()->set_capacity_bytes(1000); }),
              HasSubstr("spool.capacity_bytes is 1000"));
  EXPECT_THAT(Complaint([](auto& c) { c.mutable_spool()->set_retain_seconds(-1); }),
              HasSubstr("spool.retain_seconds is -1"));
}

TEST(ServerConfig, SpoolAndArchiveAreDifferentDirectories) {
  for (const char* same : {"results", "./results", "other/../results"}) {
    EXPECT_THAT(Complaint([=](auto& c) {
                  c.set_archive_directory("results");
                  c.mutable_spool()->set_directory(same);
                }),
                HasSubstr("spool.directory is"))
        << same;
  }
}

TEST(ServerConfig, AllMistakesAreToldAtOnce) {
  const auto config = ParseServerConfig(
      R"pb(
        grpc_address: "0.0.0.0:8080"
        metrics_address: "127.0.0.1:8080"
        drain_seconds: 4000
        web {
          address: "127.0.0.1:8080"
          volume_cache_bytes: 5
          certificate {}
        }
        dicom_node { port: 8080 max_associations: 300 }
        cluster { node_name: "a b" node: "c" node: "c" }
        audit {
          max_file_bytes: 1
          max_files: 20000
          syslog { host: "h" port: 70000 }
        }
        traces { endpoint: "collector" sample_ratio: 2 }
        spool { sync_interval_seconds: 100 capacity_bytes: 1000 retain_seconds: -1 }
      )pb",
      "site.txt");
  ASSERT_TRUE(config.ok()) << config.status();
  v1::ServerConfig whole = *config;
  ApplyDefaults(whole);
  const std::string told = MessageOf(ValidateServerConfig(whole));
  const std::vector<std::string> mistakes = {
      "grpc_address is '0.0.0.0:8080'; legal is 127.0.0.1:port",
      "metrics_address is '127.0.0.1:8080'; legal is another port than that of web.address",
      "grpc_address is '0.0.0.0:8080'; legal is another port than that of web.address",
      "dicom_node.port is '127.0.0.1:8080'; legal is another port than that of web.address",
      "drain_seconds is 4000",
      "web.volume_cache_bytes is 5",
      "web.certificate[0].subject is ''",
      "web.certificate[0].role is 0",
      "web.tls.client_ca_file is ''",
      "dicom_node.max_associations is 300",
      "cluster.node_name is 'a b'",
      "cluster.node[1] is 'c'",
      "audit.max_file_bytes is 1;",
      "audit.max_files is 20000",
      "audit.syslog.port is 70000",
      "audit.syslog.ca_file is ''",
      "traces.endpoint is 'collector'",
      "traces.sample_ratio is 2",
      "spool.sync_interval_seconds is 100",
      "spool.capacity_bytes is 1000",
      "spool.retain_seconds is -1"};
  for (const std::string& mistake : mistakes) EXPECT_THAT(told, HasSubstr(mistake));
}

TEST(ServerConfig, GpusAreSharedEvenly) {
  const auto gpus = [](uint32_t all, uint32_t per_job) {
    return std::string(Validated([=](auto& c) {
                         c.mutable_limits()->set_gpus(all);
                         c.mutable_limits()->set_gpus_per_job(per_job);
                       }).message());
  };
  EXPECT_EQ(gpus(4, 2), "");
  EXPECT_EQ(gpus(0, 3), "");  // all that there are: known at the start
  EXPECT_EQ(gpus(3, 2), "limits.gpus_per_job is 2; legal is a divisor of limits.gpus, 3");
}

}  // namespace
}  // namespace isocenter::config
