"""deploy/kubernetes/components/balancer/envoy.yaml against the API of Envoy itself: names and types of all fields, its rules of what is
required, and nothing that it calls deprecated.

The API comes from the npm registry inside a package of gRPC, as schemas/package-lock.json has it, which `./dev test` fetches once; the
test itself needs no network. Envoy's program is not run.
"""

import copy
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from kubernetes_lab import EXIT_SKIPPED, FOLDER, ROOT, yaml

DEPENDENCIES = ROOT / "tests" / "deploy" / "schemas" / "node_modules" / "@grpc" / "grpc-js-xds" / "deps"
API = DEPENDENCIES / "envoy-api"
RULES = DEPENDENCIES / "protoc-gen-validate" / "validate" / "validate.proto"
BOOTSTRAP = "envoy.config.bootstrap.v3.Bootstrap"

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
except ImportError as error:
    print(f"{error}; install it with: ./dev setup test")
    sys.exit(EXIT_SKIPPED)


def types_of(value):
    """Names of the message types that a configuration carries in fields of any type."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    found = {name for one in inner for name in types_of(one)}
    return found | ({value["@type"].rpartition("/")[2]} if isinstance(value, dict) and "@type" in value else set())


def file_of(name):
    """The file of the API that defines a message type."""
    package, _, message = name.rpartition(".")
    for path in (API / package.replace(".", "/")).glob("*.proto"):
        if re.search(rf"^message {message} ", path.read_text(), re.M):
            return path
    raise AssertionError(f"{name} is no message of Envoy's API")


class Api:
    """Envoy's API, as far as a configuration reaches."""

    def __init__(self, names):
        with tempfile.TemporaryDirectory() as folder:
            rules = pathlib.Path(folder) / "validate" / "validate.proto"
            rules.parent.mkdir()
            # The package has rules that are older than its API, which says of texts that empty ones need not be looked at.
            text = RULES.read_text()
            rules.write_text(text.replace("message StringRules {", "message StringRules { optional bool ignore_empty = 26;"))
            places = [folder, API, *(DEPENDENCIES / name for name in ("xds", "googleapis", "protoc-gen-validate"))]
            made = pathlib.Path(folder) / "api"
            files = sorted({file_of(name) for name in names} | {rules})
            subprocess.run(["protoc", *(f"-I{p}" for p in places), "--include_imports", "-o", made, *files], check=True)
            described = descriptor_pb2.FileDescriptorSet.FromString(made.read_bytes())
        self.pool = descriptor_pool.DescriptorPool()
        for file in described.file:
            self.pool.Add(file)
        self.factory = message_factory.MessageFactory(self.pool)
        self.factory.GetMessages([file.name for file in described.file])
        extension = self.pool.FindExtensionByName
        self.field_rules = extension("validate.rules")
        self.one_is_required = extension("validate.required")

    def class_of(self, name):
        return self.factory.GetPrototype(self.pool.FindMessageTypeByName(name))

    def options_of(self, described):
        """A field's or a oneof's options, with what the API adds to them."""
        kept = described.GetOptions()
        return self.class_of(kept.DESCRIPTOR.full_name).FromString(kept.SerializeToString())

    def mistakes(self, configuration):
        """What is wrong with a bootstrap configuration, as sentences."""
        try:
            message = json_format.ParseDict(configuration, self.class_of(BOOTSTRAP)(), descriptor_pool=self.pool)
        except json_format.ParseError as error:
            return [str(error)]
        return list(self.broken_rules(message, "configuration"))

    def broken_rules(self, message, path):
        if message.DESCRIPTOR.full_name == "google.protobuf.Any":
            held = self.class_of(message.type_url.rpartition("/")[2]).FromString(message.value)
            yield from self.broken_rules(held, path)
            return
        for one in message.DESCRIPTOR.oneofs:
            if message.WhichOneof(one.name) is None and self.options_of(one).Extensions[self.one_is_required]:
                yield f"{path}: one of {', '.join(f.name for f in one.fields)} is required"
        for field in message.DESCRIPTOR.fields:
            yield from self.broken_rules_of(message, field, f"{path}.{field.name}")

    def broken_rules_of(self, message, field, path):
        options = self.options_of(field)
        rules = options.Extensions[self.field_rules]
        value = getattr(message, field.name)
        many = field.label == field.LABEL_REPEATED
        single = field.message_type is not None and not many
        there = message.HasField(field.name) if single else bool(value)
        if there and options.deprecated:
            yield f"{path} is deprecated"
        if field.containing_oneof is not None and message.WhichOneof(field.containing_oneof.name) != field.name:
            return  # Another one was chosen.
        if not there and (rules.message.required or rules.any.required or rules.duration.required):
            yield f"{path} is required"
        if field.type == field.TYPE_STRING and not many and len(value) < rules.string.min_len:
            yield f"{path} is {value!r}; legal are {rules.string.min_len} letters and more"
        if many and len(value) < rules.repeated.min_items:
            yield f"{path} has {len(value)}; legal are {rules.repeated.min_items} and more"
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            held = value.values() if many and field.message_type else []
            inner = [one for one in held if hasattr(one, "DESCRIPTOR")]
        else:
            inner = value if many else [value] if there else []
        for number, one in enumerate(inner):
            yield from self.broken_rules(one, f"{path}[{number}]" if many else path)


class Configuration(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.delivered = yaml.safe_load((FOLDER / "components" / "balancer" / "envoy.yaml").read_text())
        cls.api = Api(types_of(cls.delivered) | {BOOTSTRAP})

    def test_it_is_legal(self):
        self.assertEqual(self.api.mistakes(self.delivered), [])

    def test_what_is_wrong_is_found(self):
        manager = ("static_resources", "listeners", 0, "filter_chains", 0, "filters", 0, "typed_config")
        routes = (*manager, "route_config", "virtual_hosts", 0, "routes")
        tls = ("static_resources", "clusters", 1, "transport_socket", "typed_config")
        planted = [
            (("static_resources", "listener"), [], 'no field named "listener"'),
            ((*manager, "stat_prefix"), "", "stat_prefix is ''"),
            ((*manager, "codec_type"), "HTTP4", "HTTP4"),
            ((*manager, "stream_idle_timeout"), "soon", "soon"),
            ((*manager, "http_filters", 0, "name"), "", "http_filters[0].name is ''"),
            ((*routes, 1, "route"), None, "one of route,"),
            ((*routes, 0, "match"), None, "routes[0].match is required"),
            ((*routes, 0, "route", "cluster_headers"), "a", 'no field named "cluster_headers"'),
            ((*tls, "common_tls_context", "validation_context", "match_subject_alt_names"), [{"exact": "a"}], "is deprecated"),
            (("static_resources", "clusters", 0, "name"), "", "clusters[0].name is ''"),
            (("static_resources", "clusters", 1, "health_checks", 0, "timeout"), None, "timeout is required"),
        ]
        for place, value, said in planted:
            with self.subTest(said):
                wrong = copy.deepcopy(self.delivered)
                inner = wrong
                for step in place[:-1]:
                    inner = inner[step]
                if value is None:
                    del inner[place[-1]]
                else:
                    inner[place[-1]] = value
                found = self.api.mistakes(wrong)
                self.assertTrue(any(said in mistake for mistake in found), found)


if __name__ == "__main__":
    if shutil.which("protoc") is None or not API.is_dir():
        print("needs protoc and Envoy's API; get it with: npm ci --prefix tests/deploy/schemas --ignore-scripts")
        sys.exit(EXIT_SKIPPED)
    unittest.main(verbosity=2)
