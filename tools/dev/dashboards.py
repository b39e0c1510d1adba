#!/usr/bin/env python3
"""Writes the Grafana dashboards in deploy/grafana/dashboards from what is listed here: dashboards.py [--check].

A panel is a line here and some sixty in Grafana's JSON; that is why the JSON is generated.
"""

import json

import generated

FOLDER = generated.ROOT / "deploy/grafana/dashboards"
GREEN, AMBER, RED = "green", "#EAB839", "red"
NODE = 'instance=~"$instance"'
DEVICE = NODE + ',device=~"$device"'
ROOM = NODE + ',station=~"$station"'
PEER = NODE + ',destination=~"$destination"'
# Jobs are rare events: over a shorter time most points of a plot would be empty.
JOBS = "30m"
ACTIVE = 'state=~"receiving|reconstructing|refining|exporting"'


def steps(*limits):
    """Green up to the first limit, then amber, then red; with one limit red at once."""
    colours = [AMBER, RED] if len(limits) == 2 else [RED]
    return [{"color": GREEN, "value": None}] + [
        {"color": colour, "value": value} for colour, value in zip(colours, limits)
    ]


# 0 is bad.
WANTED = [{"color": RED, "value": None}, {"color": GREEN, "value": 1}]


class Panel:
    """`queries` are (PromQL, legend). Width in 24ths of the page, height in rows of 30 pixels."""

    def __init__(self, kind, title, unit, queries, width=8, height=7, thresholds=None, description="", lowest=0):
        self.kind, self.title, self.unit, self.queries = kind, title, unit, queries
        self.width, self.height, self.lowest = width, height, lowest
        self.thresholds, self.description = thresholds, description

    def json(self, number, x, y):
        defaults = {
            "unit": self.unit,
            "thresholds": {"mode": "absolute", "steps": self.thresholds or [{"color": GREEN, "value": None}]},
            "color": {"mode": "palette-classic" if self.kind == "timeseries" else "thresholds"},
        }
        if self.lowest is not None:
            defaults["min"] = self.lowest
        options = {}
        if self.kind == "timeseries":
            defaults["custom"] = {
                "drawStyle": "line",
                "lineWidth": 2,
                "fillOpacity": 8,
                "showPoints": "never",
                "spanNulls": False,
                "thresholdsStyle": {"mode": "dashed" if self.thresholds else "off"},
            }
            options = {
                "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
                "tooltip": {"mode": "multi", "sort": "desc"},
            }
        elif self.kind == "stat":
            options = {
                "colorMode": "value",
                "graphMode": "area",
                "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
                "textMode": "auto",
            }
        table = self.kind == "table"
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.description,
            "datasource": {"type": "prometheus", "uid": "${datasource}"},
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "fieldConfig": {"defaults": defaults, "overrides": []},
            "options": options,
            "targets": [
                {
                    "refId": chr(ord("A") + i),
                    "datasource": {"type": "prometheus", "uid": "${datasource}"},
                    "expr": expression,
                    "legendFormat": legend,
                    "instant": table,
                    "range": not table,
                    "format": "table" if table else "time_series",
                }
                for i, (expression, legend) in enumerate(self.queries)
            ],
        }


def stat(title, unit, expression, thresholds=None, description="", width=4):
    return Panel("stat", title, unit, [(expression, "")], width, 4, thresholds, description, None)


def plot(title, unit, *queries, **more):
    return Panel("timeseries", title, unit, list(queries), **more)


def variable(name, label, query):
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "definition": query,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "sort": 1,
    }


INSTANCE = variable("instance", "Node", "label_values(isocenter_build_info, instance)")


def quantiles(name, labels, by, window):
    """Median and 95th percentile of a histogram."""
    inner = f"sum by ({by}le) (rate({name}_bucket{{{labels}}}[{window}]))"
    suffix = " ".join("{{%s}}" % label for label in by.split(", ") if label)
    return [
        (f"histogram_quantile({q}, {inner})", f"{text} {suffix}".strip()) for q, text in ((0.5, "median"), (0.95, "95 %"))
    ]


def overview():
    return [
        stat("Nodes that answer", "none", f'sum(up{{job="isocenter",{NODE}}})', WANTED, width=3),
        stat("Nodes that take scans", "none", f"sum(isocenter_ready{{{NODE}}})", WANTED, width=3,
             description="Alerts IsocenterNotReady and IsocenterDrained, docs/runbook.md"),
        stat("Devices in service", "none", f"sum(isocenter:devices_healthy:sum{{{NODE}}})", WANTED, width=3),
        stat("Active jobs", "none", f"sum(isocenter_jobs{{{NODE},{ACTIVE}}})", width=3),
        stat("Alerts", "none", f'count(ALERTS{{alertstate="firing",{NODE}}}) or vector(0)', steps(1)),
        stat("Spool, fullest", "percentunit", f"max(isocenter:spool_used:ratio{{{NODE}}})", steps(0.5, 0.9)),
        stat("Disk, fullest", "percentunit", f"max(isocenter:disk_used:ratio{{{NODE}}})", steps(0.7, 0.9)),
        plot(
            "Volume complete after the last frame",
            "s",
            *quantiles("isocenter_after_last_frame_seconds", NODE, "", JOBS),
            ("isocenter:target:after_last_frame_seconds", "target"),
            description="Alert IsocenterSlowAfterLastFrame, docs/runbook.md",
        ),
        plot(
            "Speed of devices",
            "suffix: GUPS",
            (f"isocenter:device_gups:rate10m{{{NODE}}}", "{{instance}} {{device}}"),
            description="1e9 voxel updates per second of computing time",
        ),
        plot(
            "Frames",
            "suffix: /s",
            (f"sum by (instance) (rate(isocenter_received_frames_total{{{NODE}}}[$__rate_interval]))", "{{instance}}"),
        ),
        plot(
            "Jobs that ended, last 30 minutes",
            "none",
            (f"sum by (outcome) (increase(isocenter_jobs_total{{{NODE}}}[{JOBS}]))", "{{outcome}}"),
        ),
        plot(
            "Active jobs",
            "none",
            (f"sum by (state) (isocenter_jobs{{{NODE},{ACTIVE}}})", "{{state}}"),
            (f"sum(isocenter_max_active_jobs{{{NODE}}})", "limit"),
        ),
        plot(
            "Acquisitions refused",
            "suffix: /s",
            (f"sum by (reason) (isocenter:refused:rate5m{{{NODE}}})", "{{reason}}"),
            thresholds=steps(0.001),
        ),
        plot("Chunks that wait for a device", "none", (f"isocenter_queue_depth{{{NODE}}}", "{{instance}}")),
        plot(
            "Acknowledgement of a frame, 99 %",
            "s",
            (f"isocenter:frame_ack_seconds:p99_5m{{{NODE}}}", "{{instance}}"),
            ("isocenter:target:frame_ack_seconds", "target"),
        ),
        plot("Devices are busy", "percentunit", (f"isocenter:device_busy:ratio_rate5m{{{NODE}}}", "{{instance}} {{device}}")),
        plot("Spool", "percentunit", (f"isocenter:spool_used:ratio{{{NODE}}}", "{{instance}}"), thresholds=steps(0.5, 0.9)),
        plot(
            "Disks",
            "percentunit",
            (f"isocenter:disk_used:ratio{{{NODE}}}", "{{instance}} {{directory}}"),
            thresholds=steps(0.7, 0.9),
        ),
        plot("Last sync of the spool", "s", (f"isocenter_spool_last_sync_seconds{{{NODE}}}", "{{instance}}")),
        plot(
            "Jobs whose frames have copies on another node",
            "none",
            (f"sum by (state) (isocenter_replicated_jobs{{{NODE}}})", "{{state}}"),
            (f"isocenter_orphaned_replicas{{{NODE}}}", "{{instance}}: copies of a lost node"),
            description="With cluster.replication: kept: another node has all frames; degraded: some are on one disk alone. "
            "Alerts IsocenterCopiesBehind and IsocenterTakeoverStuck, docs/runbook.md",
        ),
        plot(
            "Copies of other nodes' frames",
            "percentunit",
            (
                f'isocenter_replica_bytes{{{NODE},kind="used"}}'
                f' / ignoring(kind) isocenter_replica_bytes{{{NODE},kind="capacity"}}',
                "{{instance}}",
            ),
            thresholds=steps(0.7, 0.9),
            description="With cluster.replication: what they take of what they may take",
        ),
        plot(
            "Warnings to the rooms, last 30 minutes",
            "none",
            (f"sum by (kind) (increase(isocenter_warnings_total{{{NODE}}}[{JOBS}]))", "{{kind}}"),
        ),
        plot(
            "Processor",
            "suffix: cores",
            (f'rate(process_cpu_seconds_total{{job="isocenter",{NODE}}}[$__rate_interval])', "{{instance}}"),
        ),
        plot("Memory", "bytes", (f'process_resident_memory_bytes{{job="isocenter",{NODE}}}', "{{instance}}")),
        Panel(
            "table", "Alerts that fire", "none", [(f'ALERTS{{alertstate="firing",{NODE}}}', "")], 12, 7, lowest=None,
            description="docs/runbook.md has a section for each",
        ),
        Panel(
            "table", "Versions", "none", [(f"isocenter_build_info{{{NODE}}}", "")], 12, 7, lowest=None,
        ),
    ]


def room():
    return [
        stat("Acquisitions, 24 h", "none", f"sum(increase(isocenter_station_jobs_total{{{ROOM}}}[24h]))", width=6),
        stat(
            "Failed, 24 h", "none",
            f'sum(increase(isocenter_station_jobs_total{{{ROOM},outcome="failed"}}[24h]))', steps(1), width=6,
        ),
        stat(
            "Frames lost, 24 h", "percentunit",
            f'sum(increase(isocenter_station_frames_total{{{ROOM},kind="lost"}}[24h]))'
            f" / sum(increase(isocenter_station_frames_total{{{ROOM}}}[24h]))",
            steps(0.001, 0.01), width=6,
        ),
        stat(
            "Complete after the last frame, 95 %, 24 h", "s",
            f"histogram_quantile(0.95, sum by (le)"
            f" (increase(isocenter_station_after_last_frame_seconds_bucket{{{ROOM}}}[24h])))",
            steps(0.5, 1), width=6,
        ),
        plot(
            "Volume complete after the last frame", "s",
            *quantiles("isocenter_station_after_last_frame_seconds", ROOM, "station, ", JOBS),
            ("isocenter:target:after_last_frame_seconds", "target"), width=12,
        ),
        plot(
            "Acquisitions that ended, last 30 minutes", "none",
            (
                f"sum by (station, outcome) (increase(isocenter_station_jobs_total{{{ROOM}}}[{JOBS}]))",
                "{{station}} {{outcome}}",
            ),
            width=12,
        ),
        plot(
            "Frames, last 30 minutes", "none",
            (
                f"sum by (station, kind) (increase(isocenter_station_frames_total{{{ROOM}}}[{JOBS}]))",
                "{{station}} {{kind}}",
            ),
            width=12, description="Counted when an acquisition has ended",
        ),
        plot(
            "Warnings, last 30 minutes", "none",
            (
                f"sum by (station) (increase(isocenter_station_warnings_total{{{ROOM}}}[{JOBS}]))",
                "{{station}}",
            ),
            width=12,
        ),
    ]


def device():
    return [
        stat("In service", "none", f"min(isocenter_device_healthy{{{DEVICE}}})", WANTED, width=6),
        stat("Failures, 7 days", "none", f"sum(increase(isocenter_device_lost_total{{{DEVICE}}}[7d]))", steps(1), width=6),
        stat("Busy", "percentunit", f"max(isocenter:device_busy:ratio_rate5m{{{DEVICE}}})", steps(0.7, 0.9), width=6),
        stat("Memory promised", "percentunit", f"max(isocenter:device_memory_used:ratio{{{DEVICE}}})", steps(0.7, 0.9), width=6),
        plot(
            "Speed", "suffix: GUPS",
            (f"isocenter:device_gups:rate10m{{{DEVICE}}}", "{{instance}} {{device}}"),
            (f"isocenter:device_gups:median_7d{{{DEVICE}}}", "usual {{instance}} {{device}}"),
            (f"0.5 * isocenter:device_gups:median_7d{{{DEVICE}}}", "half of it {{instance}} {{device}}"),
            width=12, description="Alert IsocenterDeviceSlow, docs/runbook.md",
        ),
        plot(
            "Back-projection alone", "suffix: GUPS",
            *quantiles("isocenter_kernel_gups", NODE, "instance, ", JOBS), width=12,
        ),
        plot(
            "Actual by predicted time", "none",
            *quantiles("isocenter_prediction_error_ratio", DEVICE, "instance, device, ", JOBS),
            width=12, description="1 is right; 2 took twice as long as admission thought",
        ),
        plot(
            "Stages of a job", "s",
            (
                f"sum by (stage) (rate(isocenter_stage_duration_seconds_sum{{{NODE}}}[{JOBS}]))"
                f" / sum by (stage) (rate(isocenter_stage_duration_seconds_count{{{NODE}}}[{JOBS}]))",
                "{{stage}}",
            ),
            width=12, description="Mean of the completed jobs of the node",
        ),
        plot(
            "Memory", "bytes",
            (f"isocenter_device_memory_bytes{{{DEVICE}}}", "{{instance}} {{device}} {{kind}}"), width=12,
        ),
        plot(
            "Jobs that went on, last 30 minutes", "none",
            (f"sum by (reason) (increase(isocenter_jobs_resumed_total{{{NODE}}}[{JOBS}]))", "after: {{reason}}"),
            width=12,
        ),
    ]


def dicom():
    return [
        stat("Images that wait", "none", f'sum(isocenter_dicom_queue{{{PEER},state=~"queued|sending"}})', width=6),
        stat("Given up", "none", f'sum(isocenter_dicom_queue{{{PEER},state="failed"}})', steps(1), width=6),
        stat("Oldest waits", "s", f"max(isocenter_dicom_queue_oldest_seconds{{{PEER}}})", steps(300, 900), width=6),
        stat(
            "Certificates, days left", "none",
            f"min(isocenter_certificate_expiry_seconds{{{NODE}}} - time()) / 86400",
            [{"color": RED, "value": None}, {"color": AMBER, "value": 14}, {"color": GREEN, "value": 30}], width=6,
        ),
        plot(
            "Queue", "none",
            (f"sum by (destination, state) (isocenter_dicom_queue{{{PEER}}})", "{{destination}} {{state}}"), width=12,
        ),
        plot(
            "Oldest object that waits", "s",
            (f"isocenter_dicom_queue_oldest_seconds{{{PEER}}}", "{{instance}} {{destination}}"),
            ("isocenter:target:dicom_queue_seconds", "target"), width=12,
        ),
        plot(
            "Operations of the node, last 30 minutes", "none",
            (
                f"sum by (operation, outcome) (increase(isocenter_dicom_operations_total{{{NODE}}}[{JOBS}]))",
                "{{operation}} {{outcome}}",
            ),
            width=12,
        ),
        plot(
            "Encoding and storing a volume", "s",
            (
                f'histogram_quantile(0.95, sum by (instance, le)'
                f' (rate(isocenter_stage_duration_seconds_bucket{{{NODE},stage="export"}}[{JOBS}])))',
                "95 % {{instance}}",
            ),
            width=12,
        ),
        plot(
            "Archive", "percentunit",
            (f'isocenter:disk_used:ratio{{{NODE},directory="archive"}}', "{{instance}}"),
            width=12, thresholds=steps(0.7, 0.9),
        ),
    ]


DASHBOARDS = {
    "overview": ("Isocenter: overview", overview, []),
    "room": (
        "Isocenter: one room", room,
        [variable("station", "Room", f"label_values(isocenter_station_jobs_total{{{NODE}}}, station)")],
    ),
    "device": (
        "Isocenter: one device", device,
        [variable("device", "Device", f"label_values(isocenter_device_healthy{{{NODE}}}, device)")],
    ),
    "dicom": (
        "Isocenter: DICOM", dicom,
        [variable("destination", "Destination", f"label_values(isocenter_dicom_queue{{{NODE}}}, destination)")],
    ),
}


def placed(panels):
    """The panels from left to right, in rows."""
    x = y = row = 0
    for number, panel in enumerate(panels, 1):
        if x + panel.width > 24:
            x, y, row = 0, y + row, 0
        yield panel.json(number, x, y)
        x, row = x + panel.width, max(row, panel.height)


def dashboard(name):
    title, panels, variables = DASHBOARDS[name]
    return {
        "uid": f"isocenter-{name}",
        "title": title,
        "tags": ["isocenter"],
        "style": "dark",
        "schemaVersion": 38,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "10s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "links": [
            {
                "type": "dashboards",
                "title": "Isocenter",
                "icon": "external link",
                "tooltip": "The other dashboards, for the same time and nodes",
                "tags": ["isocenter"],
                "asDropdown": False,
                "includeVars": True,
                "keepTime": True,
                "targetBlank": False,
            }
        ],
        "annotations": {
            "list": [
                {
                    "name": "Alerts",
                    "enable": True,
                    "iconColor": RED,
                    "datasource": {"type": "prometheus", "uid": "${datasource}"},
                    "expr": f'ALERTS{{alertstate="firing",{NODE}}}',
                    "titleFormat": "{{alertname}}",
                    "textFormat": "{{instance}} {{device}}{{destination}}{{reason}}",
                }
            ]
        },
        "templating": {
            "list": [
                {
                    "name": "datasource",
                    "label": "Prometheus",
                    "type": "datasource",
                    "query": "prometheus",
                    "current": {"text": "Prometheus", "value": "isocenter-prometheus"},
                },
                INSTANCE,
                *variables,
            ]
        },
        "panels": list(placed(panels())),
    }


def main():
    generated.write_or_check(
        {FOLDER / f"{name}.json": json.dumps(dashboard(name), indent=2) + "\n" for name in DASHBOARDS}
    )


if __name__ == "__main__":
    main()
