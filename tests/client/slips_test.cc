// Slips of new users at the command line: what they are told, in our words and not in those of a
// library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/client/command.h"

namespace isocenter::client_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// What CLI11, protobuf, gRPC, c-ares and OpenSSL say, and nobody else would.
constexpr const char* kOfOthers[] = {"not expected",
                                     "not in {",
                                     "required but received",
                                     "A subcommand",
                                     "Could not convert",
                                     "Run with --help",
                                     "1 required",
                                     "is required",
                                     "option from [",
                                     "excludes",
                                     "disallowed",
                                     "failed to connect",
                                     "last error",
                                     "UNKNOWN:",
                                     "UNAVAILABLE:",
                                     "C-ares",
                                     "qtype",
                                     "DNS resolution",
                                     "unparseable",
                                     "SSL",
                                     "Ssl",
                                     "secure client channel",
                                     "Deadline Exceeded",
                                     "Message type",
                                     "isocenter.v1",
                                     "empty address list",
                                     "terminate called",
                                     "std::"};

struct Slip {
  const char* arguments;  // with blanks between them; '' is an empty one
  int exit_code;
  const char* told;
};

constexpr Slip kSlips[] = {
    // Commands.
    {"", 2, "a command is missing; legal is simulate, "},
    {"simulate --phantom head --out /tmp/never --station a/b", 2,
     "--station is 'a/b'; legal are 1 to 64 characters"},
    {"simulate --phantom head --out /tmp/never --laterality B", 2, "laterality is 'B'; legal is"},
    {"stream head --patient-name M\xfcller", 2,
     "--patient-name is 'M\\xfcller', which is not UTF-8: byte 0xFC at offset 1; legal is UTF-8"},
    {"stream head --station=M\xfcller", 2, "--station is 'M\\xfcller', which is not UTF-8"},
    {"stream M\xfcller", 2, "argument 2 is 'M\\xfcller', which is not UTF-8"},
    {"worklist --patient-id \xe9", 2, "--patient-id is '\\xe9', which is not UTF-8"},
    {"stream head --patient-name a^b^c^d^e^f", 2,
     "--patient-name is 'a^b^c^d^e^f'; legal is at most 3 groups"},
    {"stream head --accession 12345678901234567", 2,
     "--accession is '12345678901234567'; legal is at most 16 characters"},
    {"stream head --patient-id a\\b", 2, "--patient-id is 'a\\\\b'; legal is at most 64"},
    {"stream head --operator a=b=c=d", 2, "--operator is 'a=b=c=d'; legal is at most 3 groups"},
    {"stream head --institution a\\b", 2, "--institution is 'a\\\\b'; legal is at most 64"},
    {"stream head --laterality B", 2, "--laterality is 'B'; legal is L or R"},
    {"strem head", 2, "there is no command 'strem'; did you mean stream?"},
    {"recon head", 2, "did you mean reconstruct?"},
    {"fech J", 2, "did you mean fetch?"},
    {"Jobs", 2, "did you mean jobs?"},
    {"frobnicate", 2, "there is no command 'frobnicate'"},
    {"calibrate", 2, "a command is missing; legal is detector, air"},
    {"simulat --phantom head --out x", 2, "there is no command 'simulat'; did you mean simulate?"},
    {"calibrate detctor --dark x", 2, "there is no command 'detctor'; did you mean detector?"},
    {"calibrate detctor", 2, "there is no command 'detctor'; did you mean detector?"},
    {"calibrate beamhardening", 2, "did you mean beam-hardening?"},
    {"jobs help", 2, "did you mean --help?"},
    {"calibrations put x.isocal", 2, "there is no command 'put'; did you mean add?"},
    {"calibrations delete x", 2, "there is no command 'delete'; did you mean withdraw?"},
    {"calibrations frobnicate", 2, "there is no command 'frobnicate'; legal is list, add, get"},
    {"send J PACS", 2, "'PACS' is one argument too many; did you mean --to PACS?"},
    {"send J --destination PACS", 2, "there is no flag --destination; did you mean --to AE?"},
    {"simulate --phantom head --out x --detector 310x240x2", 2,
     "--detector is '310x240x2', but needs 2 values with 'x' between them"},
    {"steps x", 2, "there is no command 'x'; legal is"},
    {"completion tcsh", 2, "SHELL is 'tcsh'; legal is bash, zsh or fish"},
    // Flags.
    {"stream x --fsp 3", 2, "there is no flag --fsp; did you mean --fps?"},
    {"stream x -fps 3", 2, "did you mean --fps?"},
    {"stream x --frobnicate", 2, "there is no flag --frobnicate"},
    {"stream x --detector_mode 3", 2, "did you mean --detector-mode?"},
    {"refine J --request-id x", 2, "did you mean --request_id?"},
    {"simulate --bining 3 --phantom head --out x", 2, "did you mean --binning?"},
    {"--server x jobs", 2, "--server stands before the command that it belongs to"},
    {"jobs --jsn", 2, "did you mean --json?"},
    {"jobs --json --json", 2, "--json is given 2 times; legal is once"},
    {"jobs --json /nowhere/j.json", 4, "there is no directory /nowhere"},
    {"jobs --limit 3 --limit 4", 2, "--limit is given 2 times; legal is once"},
    {"jobs foo", 2, "'foo' is one argument too many"},
    {"jobs --port 50051", 2, "there is no flag --port; did you mean --server HOST:PORT?"},
    {"refine J --method os_sart", 2, "no flag --method; did you mean --protocol NAME?"},
    {"refine J --iterations 20", 2, "no flag --iterations; did you mean --protocol NAME?"},
    {"reconstruct x --out v.mha --method os_sart", 2, "did you mean --algorithm NAME?"},
    {"stream x --corect", 2, "there is no flag --corect; did you mean --calibration?"},
    {"reconstruct x --out v.mha --corect", 2, "did you mean --calibration?"},
    {"jobs --host recon1", 2, "there is no flag --host; did you mean --server HOST:PORT?"},
    {"stream hed", 4, "there is no file or directory hed; legal is a bundle's directory"},
    {"stream a protocol fdk", 2, "did you mean --protocol?"},
    {"simulate --phantom head --out y --detector 620,480", 2,
     "--detector is '620,480'; legal is a whole number from 1 to 8192, 2 of them with 'x' between"},
    {"jobs \u2013limit 3", 2, "begins with a dash that is no '-'; did you mean --limit?"},
    {"jobs \u2014json", 2, "did you mean --json?"},
    {"jobs --ids --json", 2, "--ids with --json; legal is one of them"},
    // What is missing.
    {"stream", 2, "INPUT is missing"},
    {"fetch J --format mha", 2, "--out is missing"},
    {"watch", 2, "JOB is missing"},
    {"stream x --fps", 2, "--fps needs a value"},
    {"jobs --server", 2, "--server needs a value"},
    {"simulate --phantom", 2, "--phantom needs a value"},
    {"simulate --out y", 2, "legal is exactly one of --phantom, --volume, --beads, --sweep"},
    {"simulate --phantom head --volume x --out y", 2, "--phantom with --volume"},
    {"stream a --grid 1x2", 2, "--grid is '1x2', but needs 3 values with 'x' between them"},
    {"stream a --grid 96", 2, "--grid is '96', but needs 3 values"},
    {"render v.mha --out x.png --window 40,400 --window 50,300", 2, "--window is given 2 times"},
    // Values.
    {"stream x --fps abc", 2, "--fps is 'abc'; legal is a number from 0 to 10000"},
    {"stream x --fps -3", 2, "--fps is '-3'; legal is a number from 0 to 10000"},
    {"stream x --class urgnt", 2, "--class is 'urgnt'; legal is live, interactive or batch"},
    {"stream x --class btach", 2, "did you mean batch?"},
    {"simulate --phantom haed --out y", 2, "did you mean head?"},
    {"simulate --phantom Head --out y", 2, "did you mean head?"},
    {"jobs --state complted", 2, "did you mean completed?"},
    {"jobs --state completed,faild", 2, "--state is 'faild'; legal is"},
    {"jobs --state completed,failed --server 127.0.0.1:1", 6, "nothing listens at"},
    {"stream -- --head", 4, "--head"},
    {"stream -- a b", 2, "'b' is one argument too many"},
    {"jobs --limit 0", 2, "--limit is '0'; legal is a whole number from 1 to 1000000"},
    {"jobs --limit many", 2, "--limit is 'many'"},
    {"stream a --grid axbxc", 2, "--grid is 'a'; legal is a whole number"},
    {"fetch J --out v.mha.gz", 2,
     "legal is a directory, for DICOM, or a file that ends in .mha or .mhd or .nii or .nii.gz"},
    {"fetch J --out v --format dcm", 2, "--format is 'dcm'; legal is dicom or mha"},
    {"reconstruct x --out v.mha --window han", 2, "did you mean hann?"},
    {"reconstruct x --out v.mha --algorithm os_satr", 2, "did you mean os_sart?"},
    {"reconstruct x --out v.mha --backend cudda", 2, "did you mean cuda?"},
    {"reconstruct x --out v.mha --iterations 5", 2,
     "--iterations without an iterative --algorithm"},
    {"reconstruct x --out v.mha --algorithm os_sart --relaxation 2", 2,
     "--relaxation is '2'; legal is a number from 1e-06 to 1.999999"},
    {"reconstruct x --out v.mha --prior 1 --curve c.csv", 2, "legal with it are sirt, sart"},
    {"refine J --deadline soon", 2, "--deadline is 'soon'; legal is a time of 0 to"},
    // What needs something else beside it, or is another thing's name.
    {"qa", 2, "neither VOLUME nor --job is given"},
    {"qa v.mha --as-baseline", 2, "legal is with --record"},
    {"qa v.mha --record --station room1", 2, "--record without a room or protocol"},
    {"qa --job J --record --replaces q1", 2, "--replaces without --as-baseline"},
    {"qa v.mha --tolerance noise_hu=abc", 2, "'noise_hu=abc'; legal is NAME=VALUE"},
    {"qa v.mha --tolerance noise_hi=3", 2, "did you mean noise_hu?"},
    {"qa v.mha --phantom catphan --tolerance cnr_low-30=3", 2, "a figure of the phantom catphan"},
    {"qa v.mha --report x.pdf", 2, "legal is a file that ends in .html or .htm"},
    {"refine J", 2, "--protocol is not given"},
    {"refine J --metal --curve c.csv", 2, "a second pass has no iterations"},
    {"stream a --grid 1x2x3", 2, "--grid and --voxel-mm must be given together"},
    {"stream a --traceparent x", 2, "isocenter"},
    {"reconstruct a --out v.mha --grid 1x2x3", 2, "--grid and --voxel-mm must be given together"},
    {"fetch J --out v.mah", 2, "did you mean .mha?"},
    {"fetch J --out -", 2, "--out is -; legal is a directory, for DICOM"},
    {"fetch J --out vol.jpg", 2, "vol.jpg; legal is a directory, for DICOM"},
    {"fetch J --out v.xyz", 2, "legal is a directory, for DICOM, or a file that ends in .mha"},
    {"fetch J --out 1.2.840.113619.7 --server 127.0.0.1:1", 6, "nothing listens at"},  // a UID
    {"fetch J --out v.xyz/ --server 127.0.0.1:1", 6, "nothing listens at"},
    {"delete J --yes --server 127.0.0.1:1", 6, "nothing listens at"},
    {"delete J --yes --delivered", 2, "--station, --protocol and --dry-run are of --older-than"},
    {"fetch J --out all.ZIP", 2, "(a directory of that name: --format dicom)"},
    {"simulate --phantom head --out scan.bundle", 2, "legal is a directory, for a bundle"},
    {"simulate --phantom head --out vol.mha", 2, "vol.mha; legal is a directory, for a bundle"},
    {"fetch J --out --overwrite", 2,
     "--out is '--overwrite', which is a flag: the value is missing"},
    {"reconstruct a --out v.mha --size 64 --grid 8x8x8 --voxel-mm 1", 2, "legal is one of them"},
    {"render v.mha --out r.jpg", 2, "--out is 'r.jpg'; legal is a file that ends in .png"},
    {"simulate --phantom head --out y --truth noext", 2, "--truth is 'noext'; legal is a file"},
    {"simulate --phantom head --out y --sid-mm 1200 --sdd-mm 750", 2,
     "--sdd-mm is 750; legal is above --sid-mm, which is 1200"},
    {"simulate --phantom head --out y --detector 310x240 --trajectory circle --displace-px 400", 2,
     "--displace-px is 400; legal of these 310 columns is -154.5 to 154.5"},
    // Addresses.
    {"health --server ''", 2, "without a host; legal is host:port"},
    {"health --server :50051", 2, "without a host; legal is host:port"},
    {"health --server localhost:", 2, "whose port is not 1 to 65535; legal is host:port"},
    {"health --server localhost:abc", 2, "legal is host:port"},
    {"health --server localhost:99999", 2, "legal is host:port"},
    {"health --server http://localhost:50051", 2, "a URL; legal is host:port"},
    {"health --server 300.1.1.1:50051", 2, "which is no host; legal is host:port"},
    {"health --server ::1", 2, "no brackets; legal is host:port"},
    {"health --server host_with,comma:1", 6, "legal is host:port"},
    {"health --server 127.0.0.1:1", 6, "connection refused, nothing listens at 127.0.0.1:1"},
    {"health --server [::1]:1", 6, "nothing listens at [::1]:1"},
    {"health --server unix:/nowhere/socket", 6, "there is no socket /nowhere/socket"},
    {"jobs --server no-such-host.invalid:1", 6, "no address is known of no-such-host.invalid:1"},
    // Files.
    {"stream /nonexistent", 4, "/nonexistent"},
    {"render /nonexistent.mha --out x.png", 4, "/nonexistent.mha"},
    {"jobs --cert a", 2, "--key, ISOCENTER_KEY) must be given together"},
    {"stream a --pair 7", 2, "--pair and --role must be given together"},
    {"stream /tmp", 4, "'/tmp' is a directory without bundle.json; legal is a bundle"},
    {"retry", 2, "legal is a JOB, --to, both, or --all"},
    {"fetch J --out v.mha --json v.json --server 127.0.0.1:1", 6, "nothing listens at"},
    {"trace J --out /nowhere/t.json", 4, "there is no directory /nowhere"},
    {"stream -", 1, "INPUT is '-'; legal is the name of a bundle's directory"},
    {"stream ''", 1, "standard input is not read"},
    {"reconstruct - --out v.mha", 1, "INPUT is '-'; legal is"},
    {"simulate --phantom head --out -", 2, "--out is -; legal is a directory"},
    // Numbers as people write them.
    {"reconstruct a --out v.mha --size 8 --voxel-mm 0,5", 2, "100; did you mean 0.5?"},
    {"simulate --phantom head --out y --arc-deg 360deg", 2, "720; did you mean 360?"},
    {"simulate --phantom head --out y --pitch-mm 0.3mm", 2, "10; did you mean 0.3?"},
    {"simulate --phantom head --out y --frames 12frames", 2, "whole number from 2 to 10000\n"},
    {"simulate --phantom head --out y --frames 12,5", 2, "whole number from 2 to 10000\n"},
    {"simulate --phantom head --out y --frames 1e3", 2, "--frames is '1e3'"},
    {"jobs --limit 99999999999999999999", 2, "legal is a whole number from 1 to 1000000"},
    {"jobs --limit 1.5", 2, "legal is a whole number from 1 to 1000000"},
    {"jobs --limit -1", 2, "--limit is '-1'; legal is"},
    {"health --timeout 0", 2, "legal is a time of 0.1 to 60 seconds"},
    {"health --timeout 5,5", 2, "legal is a time of 0.1 to 60 seconds"},
    {"reconstruct a --out v.mha --threads 99999", 2, "legal is a whole number from 0 to 1024"},
    {"reconstruct a --out v.mha --grid 0x0x0 --voxel-mm 1", 2, "--grid is '0'; legal is"},
    {"simulate --phantom head --out y --sid-mm 75", 2,
     "75; legal is 100 to 10000 mm: was it given"},
    {"simulate --phantom head --out y --tube-voltage 0.09", 2, "kV: was it given in MV?"},
    {"simulate --phantom head --out y --photons -5", 2, "--photons is '-5'; legal is"},
    // A value without its flag, a flag as a command, one thing too many.
    {"simulate head --out y", 2, "'head' is one argument too many; did you mean --phantom head?"},
    {"stream a batch", 2, "'batch' is one argument too many; did you mean --class batch?"},
    {"version", 2, "there is no command 'version'; did you mean --version?"},
    {"-v", 2, "there is no flag -v; did you mean --version?"},
    {"help exit-code", 2, "did you mean exit-codes?"},
    {"help exit_codes", 2, "did you mean exit-codes?"},
    {"help return-codes", 2, "did you mean exit-codes?"},
    {"cancel J J", 2, "'J' is one argument too many"},
    {"compare a b", 2,
     "'b' is one argument too many; one flag is missing; legal is exactly one of --truth, "
     "--phantom"},
    {"fetch", 2, "JOB is missing"},
    {"calibrations", 2, "a command is missing; legal is list, add, get or withdraw"},
    {"calibrations list x", 2, "'x' is one argument too many"},
    {"simulate --phantom head,thorax --out y", 2, "--phantom is 'head,thorax'; legal is"},
    {"simulate --phantom head -o y", 2, "there is no flag -o"},
    // Files that are others.
    {"jobs --ca /tmp", 1, "the CA file is /tmp, which is a directory; legal is a file"},
    {"jobs --ca /etc/hostname", 1, "/etc/hostname, which is not PEM; legal is a PEM file"},
    {"jobs --token-file /tmp", 1, "/tmp, which is a directory; legal is a file"},
    {"render /etc/hostname --out x.png", 1, "is not a volume; legal is .mha, .mhd, .nii"},
    {"render v.mha --out -", 2, "--out is '-'; legal is a file that ends in .png"},
    {"stream /etc/hostname", 1, "is not an acquisition; legal is a bundle directory"},
    {"simulate --volume /etc/hostname --out y", 1, "is not a volume; legal is"},
    {"simulate --beads /etc/passwd --out y", 1, "legal are four numbers, x, y, z and diameter"},
    {"simulate --phantom head --trajectory x.txt --out y", 2, "two-arcs or a .csv file"},
    {"simulate --phantom head --physics /tmp --out y", 1, "/tmp, which is a directory"},
    {"simulate --phantom head --motion /etc/passwd --out y", 1, "legal are seven numbers"},
    {"simulate --phantom head --out ''", 1, "--out is ''; legal is the name of a directory"},
    {"reconstruct a --out /dev/full", 2, "legal is a file that ends in .mha"},
    {"protocols --json /", 1, "--json is '/'; legal is the name of a file"},
    {"watch J --preview x.jpg", 2, "--preview is 'x.jpg'; legal is a file that ends in .png"},
    {"qa v.mha --phantom nope", 2, "--phantom is 'nope'; legal is quality or catphan"},
    {"render v.mha --out r.png --window 40,0", 2, "the width is 0 HU; legal is above 0"},
    {"stream a --role both --pair p", 2, "--role is 'both'; legal is mask or fill"},
    {"stream a --deadline -1", 2, "legal is a time of 0 to 604800 seconds"},
    {"transfers --state bad", 2, "--state is 'bad'; legal is queued, sending"},
    {"retry --all --to X", 2, "--to with --all; legal is one of them"},
    {"worklist --server '' ", 2, "without a host; legal is host:port"},
    {"completion", 2, "SHELL is missing"},
    {"replicas take", 2, "JOB is missing"},
    {"quality list --limit 0", 2, "--limit is '0'; legal is a whole number from 1 to 1000"},
};

TEST(Slips, AreToldInOurWordsWhatIsLegal) {
  for (const Slip& slip : kSlips) {
    std::vector<std::string> arguments = absl::StrSplit(slip.arguments, ' ', absl::SkipEmpty());
    for (std::string& argument : arguments) {
      if (argument == "''") argument.clear();
    }
    const Outcome outcome = RunCommand(arguments);
    EXPECT_EQ(outcome.exit_code, slip.exit_code) << slip.arguments << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(slip.told)) << slip.arguments;
    EXPECT_THAT(outcome.err, HasSubstr("isocenter"));
    for (const char* words : kOfOthers) {
      EXPECT_THAT(outcome.err, Not(HasSubstr(words))) << slip.arguments;
    }
  }
  EXPECT_GE(std::size(kSlips), 60u);
}

TEST(Slips, InFilesThatPeopleWriteAreToldAllAtOnce) {
  TemporaryDirectory directory;
  const std::string bundle = directory / "b", physics = directory / "p.textproto";
  ASSERT_EQ(RunCommand({"simulate", "--phantom", "head", "--out", bundle, "--frames", "3",
                        "--detector", "8x8"})
                .exit_code,
            0);
  WriteBytes(directory / "b" / "acquisition.textproto",
             "pateint_study { }\npixel_type: PIXEL_TYPE_UINT16_COUNT\n");
  WriteBytes(physics, "web { }\ntube { kilovolt: 100 }\n");
  const Outcome header = RunCommand({"stream", bundle});
  EXPECT_EQ(header.exit_code, 1);
  EXPECT_THAT(header.err, HasSubstr("acquisition.textproto:1:1: there is no field 'pateint_study'; "
                                    "did you mean patient_study?"));
  EXPECT_THAT(header.err, HasSubstr(":2:13: pixel_type is PIXEL_TYPE_UINT16_COUNT; legal is"));
  const Outcome model =
      RunCommand({"simulate", "--phantom", "head", "--out", directory / "c", "--physics", physics});
  EXPECT_THAT(model.err, HasSubstr("p.textproto:1:1: there is no field 'web'"));
  EXPECT_THAT(model.err, HasSubstr("p.textproto:2:8: tube has no field 'kilovolt'"));
  for (const char* words : kOfOthers) {
    EXPECT_THAT(header.err + model.err, Not(HasSubstr(words)));
  }
}

TEST(Slips, AnArcInRadiansIsAskedAbout) {
  TemporaryDirectory directory;
  const auto simulate = [&](const char* name, const char* arc_deg) {
    return RunCommand({"simulate", "--phantom", "head", "--out", directory / name, "--frames", "4",
                       "--detector", "8x8", "--arc-deg", arc_deg});
  };
  const Outcome outcome = simulate("a", "3.491");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("--arc-deg is 3.491, of which no volume can be made"));
  EXPECT_THAT(outcome.err, HasSubstr("was it given in radians? These are 200 degrees"));
  EXPECT_THAT(simulate("b", "200").err, Not(HasSubstr("radians")));
}

// Before hours are spent on what then has no place.
TEST(Slips, ANameThatIsTooLongIsToldAtOnce) {
  const std::string name = std::string(300, 'a') + ".mha";
  TemporaryDirectory directory;
  ASSERT_EQ(RunCommand({"simulate", "--phantom", "head", "--out", directory / "b", "--frames", "4",
                        "--detector", "8x8"})
                .exit_code,
            0);
  for (const Outcome& told :
       {RunCommand({"reconstruct", directory / "b", "--out", directory / name}),
        RunCommand({"simulate", "--phantom", "head", "--out", directory / name.substr(0, 300)})}) {
    EXPECT_EQ(told.exit_code, 1) << told.err;
    EXPECT_THAT(told.err, HasSubstr("bytes; legal are at most 255 for a name there"));
    EXPECT_THAT(told.err, Not(HasSubstr("rays")));
  }
}

TEST(Slips, AnEmptyFileIsNamed) {
  TemporaryDirectory directory;
  for (const char* name : {"empty.dcm", "empty.rct", "empty.mha", "empty.nii"}) {
    const std::string file = directory / name;
    WriteBytes(file, "");
    const bool volume = std::string(name).find("mha") != std::string::npos ||
                        std::string(name).find("nii") != std::string::npos;
    const Outcome outcome = volume
                                ? RunCommand({"compare", file, "--phantom", "head"})
                                : RunCommand({"reconstruct", file, "--out", directory / "v.mha"});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(file));
    EXPECT_THAT(outcome.err, HasSubstr("0 bytes"));
  }
}

TEST(Slips, HelpOfACommandIsFoundByEitherWay) {
  for (const char* command : {"jobs", "stream"}) {
    const Outcome outcome = RunCommand({"help", command});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, RunCommand({command, "--help"}).out);
  }
  EXPECT_EQ(RunCommand({"help"}).out, RunCommand({"--help"}).out);
  const Outcome of_help = RunCommand({"help", "help"});
  EXPECT_EQ(of_help.exit_code, 0) << of_help.err;
  EXPECT_THAT(of_help.out, HasSubstr("Usage: isocenter help [COMMAND"));
  EXPECT_THAT(of_help.out, HasSubstr("isocenter help exit-codes"));
}

TEST(Slips, HelpOfNoCommandIsNoHelp) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"help", "strem"}, {"strem", "--help"}}) {
    const Outcome outcome = RunCommand(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("there is no command 'strem'; did you mean stream?"));
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_THAT(RunCommand({"calibrate", "rings", "--help"}).err, HasSubstr("no command 'rings'"));
}

// What the library calls types, requirements and environment is nobody's language.
/// What a terminal of so many columns shows of a command's help.
std::string HelpIn(int columns, const std::string& command) {
  winsize size{
      .ws_row = 50, .ws_col = static_cast<uint16_t>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    execl(ISOCENTER_BINARY, ISOCENTER_BINARY, "help", command.c_str(), nullptr);
    _exit(127);
  }
  std::string shown;
  char buffer[4096];
  ssize_t bytes = 0;
  while ((bytes = read(terminal, buffer, sizeof(buffer))) > 0) shown.append(buffer, bytes);
  close(terminal);
  waitpid(child, nullptr, 0);
  return absl::StrReplaceAll(shown, {{"\r", ""}});
}

TEST(Slips, HelpIsAsWideAsTheTerminal) {
  for (const char* command : {"stream", "simulate", "jobs", "reconstruct", "fetch"}) {
    const std::string narrow = HelpIn(60, command);
    EXPECT_THAT(narrow, HasSubstr("Usage: isocenter")) << command;
    for (const absl::string_view line : absl::StrSplit(narrow, '\n')) {
      const bool one_word = absl::StripLeadingAsciiWhitespace(line).find(' ') == line.npos;
      EXPECT_TRUE(line.size() <= 60 || one_word) << line;
    }
    EXPECT_EQ(HelpIn(300, command), RunCommand({"help", command}).out);
  }
}

TEST(Slips, HelpIsOfAHundredColumns) {
  std::vector<std::vector<std::string>> commands{{}};
  for (const char* command :
       {"simulate",  "stream",       "reconstruct", "refine",      "calibrate", "consistency",
        "jobs",      "watch",        "cancel",      "delete",      "fetch",     "trace",
        "render",    "compare",      "qa",          "send",        "transfers", "retry",
        "worklist",  "steps",        "health",      "status",      "drain",     "resume",
        "protocols", "calibrations", "quality",     "destinations"}) {
    commands.push_back({command});
  }
  for (const char* part : {"detector", "air", "lag", "geometry", "scatter", "hu", "bone"}) {
    commands.push_back({"calibrate", part});
  }
  for (std::vector<std::string> command : commands) {
    command.emplace_back("--help");
    for (const absl::string_view line : absl::StrSplit(RunCommand(command).out, '\n')) {
      EXPECT_LE(line.size(), 100u) << line;
    }
  }
}

TEST(Slips, HelpIsInOurWords) {
  for (const char* command : {"simulate", "stream", "reconstruct", "compare", "qa", "jobs", ""}) {
    const std::string help =
        command[0] == '\0' ? RunCommand({"--help"}).out : RunCommand({command, "--help"}).out;
    for (const char* words : {"FLOAT", "INT", "TEXT:", "REQUIRED", "(Env:", "Excludes:",
                              "Option Group", "SUBCOMMAND", " x 3", "[]", "\n\n\n"}) {
      EXPECT_THAT(help, Not(HasSubstr(words))) << command;
    }
  }
  const std::string stream = RunCommand({"stream", "--help"}).out;
  EXPECT_THAT(stream, HasSubstr("Usage: isocenter stream [OPTIONS] INPUT\n"));
  EXPECT_THAT(stream, HasSubstr("[default 127.0.0.1:50051; or $ISOCENTER_SERVER]"));
  EXPECT_THAT(RunCommand({"simulate", "--help"}).out,
              HasSubstr("What is scanned, exactly one of these:"));
}

/// A bundle of 3 frames of 8 x 8 pixels.
std::string SmallBundle(const TemporaryDirectory& directory) {
  const std::string bundle = directory / "b";
  const Outcome made = RunCommand({"simulate", "--phantom", "head", "--out", bundle, "--frames",
                                   "3", "--detector", "8x8", "--pitch-mm", "10", "--overwrite"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  return bundle;
}

TEST(Slips, AProxyOfTheEnvironmentIsNamed) {
  const auto told = [](const char* proxy) {
    setenv("http_proxy", proxy, 1);
    const Outcome outcome = RunCommand({"health", "--server", "127.0.0.1:50051"});
    unsetenv("http_proxy");
    EXPECT_EQ(outcome.exit_code, 6);
    return outcome.err;
  };
  EXPECT_THAT(told("http://me:secret@127.0.0.1:9/"),
              AllOf(HasSubstr("nothing listens at 127.0.0.1:9;"),
                    HasSubstr("; that is the proxy of http_proxy in the environment: no_proxy"),
                    Not(HasSubstr("secret"))));
}

TEST(Slips, InABundleAreToldWithTheirPlace) {
  TemporaryDirectory directory;
  const std::string bundle = SmallBundle(directory);
  const std::filesystem::path file = directory / "b" / "bundle.json";
  const std::string whole = ReadBytes(file);
  const auto told = [&](const std::string& bytes) {
    WriteBytes(file, bytes);
    const Outcome outcome = RunCommand({"stream", bundle});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_LT(outcome.err.size(), 400u);
    EXPECT_THAT(outcome.err, Not(HasSubstr("isocenter-bundle")));
    return outcome.err;
  };
  EXPECT_THAT(told(absl::StrReplaceAll(whole, {{"\"version\": 1,", "\"version\": 1,,"}})),
              HasSubstr("bundle.json:3:16: ',' cannot stand here; legal is a name in \"...\""));
  EXPECT_THAT(told("{\n  \"format\": \"isocen"),
              HasSubstr("bundle.json:2:20: the file ends in a text"));
  EXPECT_THAT(told("{\n  \"version\": 1\n"), HasSubstr("bundle.json:3:1: the file ends here; "
                                                       "legal is ',' or '}'"));
  EXPECT_THAT(told("{\"version\" 1}"),
              HasSubstr("bundle.json:1:12: '1' cannot stand here; legal is ':' and a value"));
  EXPECT_THAT(told("{\"a\": \"x\ny\"}"), HasSubstr("'\\n' cannot stand in a text"));
  EXPECT_THAT(told("{\"a\": " + std::string(1 << 20, '[') + "!"), HasSubstr("'!' cannot stand"));
  EXPECT_THAT(told(""), HasSubstr("bundle.json is empty: it has 0 bytes"));
}

TEST(Slips, InAHeaderNameTheMatrixAndWordsThatAreNoNumbers) {
  TemporaryDirectory directory;
  const std::string bundle = SmallBundle(directory);
  const std::filesystem::path file = directory / "b" / "acquisition.textproto";
  const std::string whole = ReadBytes(file);
  const size_t list = whole.find("value: [") + 8;  // of the first matrix
  ASSERT_NE(whole.find("value: ["), std::string::npos);
  WriteBytes(file,
             absl::StrCat(whole.substr(0, list), "1e30", whole.substr(whole.find(',', list))));
  const Outcome matrix = RunCommand({"reconstruct", bundle, "--out", directory / "v.mha"});
  EXPECT_EQ(matrix.exit_code, 1);
  EXPECT_THAT(matrix.err, HasSubstr("matrices.matrix[0]: element 0 (row 0, column 0) is 1e+30"));
  WriteBytes(file, absl::StrReplaceAll(whole, {{"columns: 8", "columns: three"}}));
  EXPECT_THAT(RunCommand({"stream", bundle}).err,
              HasSubstr("detector.columns is three, which is no number; legal is"));
}

TEST(Slips, ThatSpoilAScanOrAVolumeAreWarnedOf) {
  TemporaryDirectory directory;
  const std::string bundle = SmallBundle(directory);
  const std::string volume = directory / "v.mha";
  WriteBytes(directory / "b" / "frames.raw", std::string(3 * 8 * 8 * 2, '\0'));
  const Outcome blank =
      RunCommand({"reconstruct", bundle, "--out", volume, "--grid", "8x8x8", "--voxel-mm", "50"});
  EXPECT_EQ(blank.exit_code, 0) << blank.err;
  EXPECT_THAT(blank.err, HasSubstr("in 3 of 3 frames, of which the first is frame 0, all pixels"));
  EXPECT_THAT(
      blank.err,
      HasSubstr("warning: the voxels of --grid are 50 x 50 x 50 mm; plausible is 0.01 to 10"));
  EXPECT_THAT(blank.err, Not(HasSubstr("--mu-water")));
  EXPECT_THAT(
      RunCommand({"reconstruct", bundle, "--out", volume, "--overwrite", "--mu-water", "0.05"}).err,
      HasSubstr("warning: --mu-water is 0.05; usual is 0.015 to 0.03"));
  const Outcome displaced =
      RunCommand({"simulate", "--phantom", "head", "--out", directory / "d", "--frames", "9",
                  "--detector", "16x8", "--pitch-mm", "10", "--displace-px", "4"});
  EXPECT_EQ(displaced.exit_code, 0) << displaced.err;
  EXPECT_THAT(displaced.err, HasSubstr("--displace-px 4 on less than a full turn"));

  // Air at 0, as a volume with an offset has it.
  WriteBytes(directory / "offset.mha",
             "NDims = 3\nDimSize = 2 2 2\nElementType = MET_FLOAT\nElementDataFile = LOCAL\n" +
                 std::string(32, '\0'));
  const Outcome offset =
      RunCommand({"simulate", "--volume", directory / "offset.mha", "--out", directory / "o",
                  "--frames", "9", "--detector", "16x8", "--pitch-mm", "10"});
  EXPECT_EQ(offset.exit_code, 0) << offset.err;
  EXPECT_THAT(offset.err, HasSubstr("--volume has values of 0 to 0, which are taken for HU"));

  WriteBytes(directory / "nan.mha",
             "NDims = 3\nDimSize = 2 2 2\nElementType = MET_FLOAT\nElementDataFile = LOCAL\n" +
                 std::string(20, '\0') + Bytes(std::nanf("")) + std::string(8, '\0'));
  const Outcome none = RunCommand({"compare", directory / "nan.mha", "--phantom", "head"});
  EXPECT_EQ(none.exit_code, 1) << none.out;
  EXPECT_THAT(none.err, HasSubstr("1 of 8 voxels are no finite numbers (NaN or infinite), the "
                                  "first at 1,0,1"));
}

TEST(Slips, BashIsGivenCommandsFlagsAndValues) {
  const Outcome script = RunCommand({"completion", "bash"});
  ASSERT_EQ(script.exit_code, 0) << script.err;
  for (const char* part : {"complete -o filenames -F _isocenter isocenter", "'isocenter calibrate'",
                           "'isocenter fetch --format') offered='dicom mha'", "--deidentify"}) {
    EXPECT_THAT(script.out, HasSubstr(part));
  }
}

}  // namespace
}  // namespace isocenter::client_test
