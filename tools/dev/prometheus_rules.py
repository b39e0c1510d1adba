#!/usr/bin/env python3
"""Writes deploy/prometheus's rules as PrometheusRule resources for the Prometheus operator: prometheus_rules.py [--check].

Kustomize takes no file from outside the folder that it builds, and the operator wants the rules inside a resource: that is
why there is a copy.
"""

import generated

DEPLOY = generated.ROOT / "deploy"
COPY = DEPLOY / "kubernetes/components/monitoring/prometheus-rules.yaml"
HEAD = "# Written by tools/dev/prometheus_rules.py from the files in deploy/prometheus: change those, and run it.\n"
RESOURCE = """\
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: isocenter-{name}
spec:
"""


def resource(file):
    lines = file.read_text().splitlines()
    indented = "".join(f"  {line}\n" if line else "\n" for line in lines)
    return RESOURCE.format(name=file.name.removesuffix(".rules.yml")) + indented


def main():
    files = sorted(DEPLOY.glob("prometheus/*.rules.yml"))
    generated.write_or_check({COPY: HEAD + "---\n".join(resource(file) for file in files)})


if __name__ == "__main__":
    main()
