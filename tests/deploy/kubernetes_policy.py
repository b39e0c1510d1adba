"""What the manifests of a clinical service have to fulfil beyond being legal. Each rule yields sentences."""

import ipaddress

RULES = []


def _rule(function):
    RULES.append(function)
    return function


def mistakes(manifests):
    """All that is wrong with the manifests of one overlay."""
    return [f"{rule.__name__}: {what}" for rule in RULES for what in rule(manifests)]


def of_kind(manifests, *kinds):
    return [m for m in manifests if m["kind"] in kinds]


def workloads(manifests):
    return of_kind(manifests, "StatefulSet", "Deployment", "DaemonSet", "Job")


def name(manifest):
    return f"{manifest['kind']}/{manifest['metadata']['name']}"


def _pods(manifests):
    return [(name(w), w["spec"]["template"]["spec"]) for w in workloads(manifests)]


def _containers(manifests):
    for where, pod in _pods(manifests):
        for container in pod.get("initContainers", []) + pod["containers"]:
            yield f"{where}/{container['name']}", container


@_rule
def namespaced(manifests):
    for m in manifests:
        if m["kind"] != "Namespace" and m["metadata"].get("namespace") != "isocenter":
            yield f"{name(m)} is not in the namespace isocenter"


@_rule
def non_root(manifests):
    for where, pod in _pods(manifests):
        context = pod.get("securityContext", {})
        if context.get("runAsNonRoot") is not True or not context.get("runAsUser"):
            yield f"{where} may run as root"
        if context.get("seccompProfile", {}).get("type") != "RuntimeDefault":
            yield f"{where} has no seccomp profile"
        if pod.get("hostNetwork") or pod.get("hostPID") or pod.get("hostIPC"):
            yield f"{where} shares name spaces with its machine"
        if pod.get("automountServiceAccountToken") is not False:
            yield f"{where} gets a token of the Kubernetes API"
        if any("hostPath" in volume for volume in pod.get("volumes", [])):
            yield f"{where} mounts a path of its machine"


@_rule
def confined(manifests):
    for where, container in _containers(manifests):
        context = container.get("securityContext", {})
        if context.get("readOnlyRootFilesystem") is not True:
            yield f"{where} may write to its root file system"
        if context.get("allowPrivilegeEscalation") is not False or context.get("privileged"):
            yield f"{where} may gain privileges"
        if context.get("capabilities", {}).get("drop") != ["ALL"]:
            yield f"{where} keeps capabilities"


@_rule
def bounded(manifests):
    for where, container in _containers(manifests):
        resources = container.get("resources", {})
        if "memory" not in resources.get("limits", {}):
            yield f"{where} has no limit of memory"
        for wanted in ("cpu", "memory"):
            if wanted not in resources.get("requests", {}):
                yield f"{where} requests no {wanted}"


@_rule
def probed(manifests):
    for where, pod in _pods(manifests):
        for container in pod["containers"]:
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                if probe not in container:
                    yield f"{where}/{container['name']} has no {probe}"


@_rule
def fixed_images(manifests):
    for where, container in _containers(manifests):
        tag = container["image"].rpartition("/")[2].partition(":")[2]
        if tag in ("", "latest"):
            yield f"{where} runs {container['image']}, whose version is not fixed"


@_rule
def selected(manifests):
    """Whatever selects pods selects some."""
    templates = [w["spec"]["template"]["metadata"]["labels"] for w in workloads(manifests)]

    def none(labels):
        return not any(labels.items() <= template.items() for template in templates)

    for w in workloads(manifests):
        if not w["spec"]["selector"]["matchLabels"].items() <= w["spec"]["template"]["metadata"]["labels"].items():
            yield f"{name(w)} does not select its own pods"
    for s in of_kind(manifests, "Service"):
        if none(s["spec"]["selector"]):
            yield f"{name(s)} selects no pod"
    for p in of_kind(manifests, "PodDisruptionBudget", "NetworkPolicy"):
        selector = p["spec"].get("selector", p["spec"].get("podSelector"))
        if none(selector.get("matchLabels", {})):
            yield f"{name(p)} selects no pod"
    for m in of_kind(manifests, "ServiceMonitor"):
        wanted = m["spec"]["selector"]["matchLabels"]
        ports = {
            port["name"]
            for s in of_kind(manifests, "Service")
            if wanted.items() <= s["metadata"].get("labels", {}).items()
            for port in s["spec"]["ports"]
        }
        yield from (
            f"{name(m)} scrapes port {e['port']}, which no service has"
            for e in m["spec"]["endpoints"]
            if e["port"] not in ports
        )


@_rule
def ports_exist(manifests):
    ports = {p["name"] for _, c in _containers(manifests) for p in c.get("ports", [])}
    for s in of_kind(manifests, "Service"):
        for port in s["spec"]["ports"]:
            if port["targetPort"] not in ports:
                yield f"{name(s)} leads to port {port['targetPort']}, which no container has"
    for policy in of_kind(manifests, "NetworkPolicy"):
        for ingress in policy["spec"].get("ingress", []):
            for port in ingress["ports"]:
                if isinstance(port["port"], str) and port["port"] not in ports:
                    yield f"{name(policy)} admits port {port['port']}, which no container has"


@_rule
def volumes_exist(manifests):
    configs = {m["metadata"]["name"] for m in of_kind(manifests, "ConfigMap")}
    for w in workloads(manifests):
        pod = w["spec"]["template"]["spec"]
        volumes = {v["name"] for v in pod.get("volumes", [])}
        volumes |= {claim["metadata"]["name"] for claim in w["spec"].get("volumeClaimTemplates", [])}
        for volume in pod.get("volumes", []):
            if "configMap" in volume and volume["configMap"]["name"] not in configs:
                yield f"{name(w)} mounts the missing ConfigMap {volume['configMap']['name']}"
        for container in pod["containers"]:
            for mount in container.get("volumeMounts", []):
                if mount["name"] not in volumes:
                    yield f"{name(w)} mounts the missing volume {mount['name']}"


@_rule
def isolated(manifests):
    """Everything is closed but for what a policy opens, and each workload has one."""
    policies = of_kind(manifests, "NetworkPolicy")
    if not any(p["spec"]["podSelector"] == {} and "ingress" not in p["spec"] for p in policies):
        yield "no NetworkPolicy closes the namespace"
    for w in workloads(manifests):
        labels = w["spec"]["template"]["metadata"]["labels"]
        own = [p["spec"]["podSelector"].get("matchLabels") for p in policies]
        if not any(selector and selector.items() <= labels.items() for selector in own):
            yield f"{name(w)} has no NetworkPolicy"
    for p in policies:
        for ingress in p["spec"].get("ingress", []):
            if not ingress.get("from"):
                yield f"{name(p)} admits everybody"
            if not ingress.get("ports"):
                yield f"{name(p)} admits every port"
            for peer in ingress.get("from", []):
                if peer.get("ipBlock", {}).get("cidr") == "0.0.0.0/0":
                    yield f"{name(p)} admits every network"


@_rule
def dicom_callers_are_named(manifests):
    """Not whole networks of a hospital, in which everything is that speaks DICOM."""
    for p in of_kind(manifests, "NetworkPolicy"):
        for ingress in p["spec"].get("ingress", []):
            if "dicom" not in [port["port"] for port in ingress["ports"]]:
                continue
            for peer in ingress["from"]:
                block = peer.get("ipBlock", {}).get("cidr")
                if block and ipaddress.ip_network(block).num_addresses > 256:
                    yield f"{name(p)} admits {block} to port dicom"


@_rule
def survives_disruptions(manifests):
    for w in workloads(manifests):
        labels = w["spec"]["template"]["metadata"]["labels"]
        budgets = [b["spec"]["selector"]["matchLabels"] for b in of_kind(manifests, "PodDisruptionBudget")]
        if not any(selector.items() <= labels.items() for selector in budgets):
            yield f"{name(w)} has no PodDisruptionBudget"
    for s in of_kind(manifests, "StatefulSet"):
        if not s["spec"].get("volumeClaimTemplates"):
            yield f"{name(s)} has no volume of its own for each pod"
        service = next((v for v in of_kind(manifests, "Service") if v["metadata"]["name"] == s["spec"]["serviceName"]), None)
        if service is None or service["spec"].get("clusterIP") != "None":
            yield f"{name(s)}: {s['spec']['serviceName']} is no headless service"
        elif not service["spec"].get("publishNotReadyAddresses"):
            yield f"{name(s)}: consoles of a node that drains do not reach it"
