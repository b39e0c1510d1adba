"""Holds manifests against the API's own schema, as the models of Debian's python3-kubernetes state it: that of Kubernetes
1.22. A current one is in kubernetes_api_test.py.

Checked are names of fields, types, and what is required. Resources of operators (Prometheus, KEDA, cert-manager) are held
against the fields that this folder lists, because their definitions are not in the distribution.
"""

import kubernetes.client as api
from kubernetes.client.configuration import Configuration

_SCALARS = {"str": str, "int": int, "bool": bool, "float": (int, float)}

# apiVersion/kind: the fields that may stand in it, by path; "*" stands for every element of a list. Fields below a path
# that is not listed are free.
_CUSTOM = {
    "monitoring.coreos.com/v1/ServiceMonitor": {
        "spec": {"selector", "namespaceSelector", "endpoints", "jobLabel", "targetLabels", "podTargetLabels"},
        "spec.endpoints.*": {"port", "path", "scheme", "interval", "scrapeTimeout", "relabelings", "tlsConfig"},
        "spec.endpoints.*.relabelings.*": {"sourceLabels", "targetLabel", "regex", "replacement", "action"},
    },
    "monitoring.coreos.com/v1/PrometheusRule": {
        "spec": {"groups"},
        "spec.groups.*": {"name", "interval", "rules", "limit"},
        "spec.groups.*.rules.*": {"record", "alert", "expr", "for", "keep_firing_for", "labels", "annotations"},
    },
    "keda.sh/v1alpha1/ScaledObject": {
        "spec": {
            *("scaleTargetRef", "minReplicaCount", "maxReplicaCount", "pollingInterval", "cooldownPeriod"),
            *("advanced", "triggers", "fallback"),
        },
        "spec.scaleTargetRef": {"apiVersion", "kind", "name", "envSourceContainerName"},
        "spec.advanced": {"restoreToOriginalReplicaCount", "horizontalPodAutoscalerConfig"},
        "spec.advanced.horizontalPodAutoscalerConfig": {"name", "behavior"},
        "spec.advanced.horizontalPodAutoscalerConfig.behavior": {"scaleUp", "scaleDown"},
        "spec.triggers.*": {"type", "name", "metadata", "metricType", "authenticationRef"},
    },
    "cert-manager.io/v1/Certificate": {
        "spec": {
            *("secretName", "duration", "renewBefore", "privateKey", "commonName", "dnsNames", "ipAddresses"),
            *("usages", "issuerRef", "subject", "isCA"),
        },
        "spec.privateKey": {"algorithm", "size", "encoding", "rotationPolicy"},
        "spec.issuerRef": {"name", "kind", "group"},
    },
    "cert-manager.io/v1/Issuer": {"spec": {"selfSigned", "ca"}, "spec.ca": {"secretName"}},
}


def mistakes(manifest):
    """What is wrong with one manifest, as sentences."""
    kind, version = manifest.get("kind"), manifest.get("apiVersion", "")
    custom = _CUSTOM.get(f"{version}/{kind}")
    if custom:
        return list(_custom_mistakes(manifest, custom))
    model = _model_of(version, kind)
    if model is None:
        return [f"{version}/{kind}: no such resource"]
    return list(_object_mistakes(manifest, model, kind))


def _model_of(version, kind):
    group, _, number = version.rpartition("/")
    group = group.split(".")[0].capitalize() if "." in group else ""
    prefix = "".join(part.capitalize() for part in [number])
    for name in (f"{prefix}{kind}", f"{group}{prefix}{kind}"):
        if hasattr(api, name):
            return getattr(api, name)
    return None


def _object_mistakes(value, model, path):
    if not isinstance(value, dict):
        yield f"{path} is {value!r}; legal is an object"
        return
    fields = {json: (attribute, model.openapi_types[attribute]) for attribute, json in model.attribute_map.items()}
    for key, inner in value.items():
        if key not in fields:
            yield f"{path}.{key}: no such field"
        elif inner is not None:
            yield from _value_mistakes(inner, fields[key][1], f"{path}.{key}")
    # A model refuses to be made without what is required.
    checked = Configuration()
    checked.client_side_validation = True
    given = {attribute: value[json] for attribute, json in model.attribute_map.items() if value.get(json) is not None}
    try:
        model(local_vars_configuration=checked, **given)
    except ValueError as error:
        yield f"{path}: {error}"


def _value_mistakes(value, kind, path):
    if kind.startswith("list["):
        if not isinstance(value, list):
            yield f"{path} is {value!r}; legal is a list"
            return
        for i, element in enumerate(value):
            yield from _value_mistakes(element, kind[5:-1], f"{path}[{i}]")
    elif kind.startswith("dict("):
        inner = kind[5:-1].split(", ", 1)[1]
        if not isinstance(value, dict):
            yield f"{path} is {value!r}; legal is a map"
            return
        for key, element in value.items():
            # Quantities and labels are text on the wire; a YAML number would be refused by the server.
            yield from _value_mistakes(element, inner, f"{path}.{key}")
    elif kind in _SCALARS:
        right = isinstance(value, _SCALARS[kind]) and (kind == "bool") == isinstance(value, bool)
        if not right:
            yield f"{path} is {value!r}; legal is of type {kind}"
    elif kind not in ("object", "datetime"):
        yield from _object_mistakes(value, getattr(api, kind), path)


def _custom_mistakes(manifest, legal):
    for key in manifest:
        if key not in ("apiVersion", "kind", "metadata", "spec"):
            yield f"{manifest['kind']}.{key}: no such field"
    for path, fields in legal.items():
        for place, value in _reach(manifest, path.split(".")):
            if not isinstance(value, dict):
                yield f"{place} is {value!r}; legal is an object"
                continue
            yield from (f"{place}.{key}: no such field" for key in value if key not in fields)


def _reach(value, steps, place=""):
    """All values at a path of _CUSTOM, with their places."""
    if not steps:
        yield place, value
    elif steps[0] == "*":
        for i, element in enumerate(value):
            yield from _reach(element, steps[1:], f"{place}[{i}]")
    elif isinstance(value, dict) and steps[0] in value:
        yield from _reach(value[steps[0]], steps[1:], f"{place}.{steps[0]}".lstrip("."))
