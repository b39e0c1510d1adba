import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as t from '../src/charts/timeline.ts';

const span = (name: string, pid: number, tid: number, ts: number, dur: number, index = 0) =>
  ({ name, ph: 'X', pid, tid, ts, dur, args: { index } });
const TRACE = {
  traceEvents: [
    { name: 'process_name', ph: 'M', pid: 0, tid: 0, args: { name: 'device 0' } },
    { name: 'thread_name', ph: 'M', pid: 0, tid: 1, args: { name: 'uploads' } },
    { name: 'thread_name', ph: 'M', pid: 0, tid: 2, args: { name: 'kernels' } },
    { name: 'thread_name', ph: 'M', pid: 0, tid: 3, args: { name: 'downloads' } },
    span('backproject', 0, 2, 300, 100, 1), span('backproject', 0, 2, 100, 100), span('upload', 0, 1, 0, 80), span('later', 0, 2, 500, 10),
  ],
};

test('lanes are those with work, spans in order, sums by stage', () => {
  const line = t.timelineOf(TRACE);
  assert.deepEqual(line.lanes.map((l) => [l.device, l.name, l.spans.length]), [['device 0', 'uploads', 1], ['device 0', 'kernels', 3]]);
  assert.deepEqual(line.lanes[1]!.spans.map((s) => s.begin), [100, 300, 500]);
  assert.equal(line.endUs, 510);
  assert.equal(line.devices, 1);
  assert.deepEqual(line.busy, [
    { stage: 'upload', us: 80, spans: 1 }, { stage: 'backproject', us: 200, spans: 2 }, { stage: 'later', us: 10, spans: 1 },
  ]);
});

test('an empty trace is an empty timeline', () => {
  assert.deepEqual(t.timelineOf({ traceEvents: [] }), { lanes: [], endUs: 0, devices: 0, busy: [] });
});

test('zooming keeps the time under the pointer, within the job', () => {
  const whole = { begin: 0, end: 1000 };
  assert.deepEqual(t.zoomed(whole, whole, 250, 0.5), { begin: 125, end: 625 });
  assert.deepEqual(t.zoomed({ begin: 0, end: 100 }, whole, 0, 100), whole);
  assert.deepEqual(t.shifted({ begin: 800, end: 900 }, whole, 500), { begin: 900, end: 1000 });
});

test('ten thousand spans cost no more boxes than pixels', () => {
  const traceEvents = Array.from({ length: 10_000 }, (_, i) => span('backproject', 0, 2, i * 10, 9));
  const lane = t.timelineOf({ traceEvents }).lanes[0]!;
  const boxes = t.boxesOf(lane, { begin: 0, end: 100_000 }, 500);
  assert.ok(boxes.length <= 500, `${boxes.length} boxes`);
  const closer = t.boxesOf(lane, { begin: 50_000, end: 50_100 }, 500);
  assert.ok(closer.length >= 10 && closer.length <= 12);
});

test('spans are found where they are, also beside a longer one that began before', () => {
  const lane = t.timelineOf({ traceEvents: [span('long', 0, 2, 0, 1000), span('short', 0, 2, 10, 5), span('b', 0, 2, 2000, 5)] }).lanes[0]!;
  assert.equal(t.spanAt(lane, 900, 0)?.stage, 'long');
  assert.equal(t.spanAt(lane, 1500, 0), null);
  assert.equal(t.spanAt(lane, 1998, 3)?.stage, 'b');
  assert.deepEqual(t.boxesOf(lane, { begin: 500, end: 1500 }, 100).map((b) => b.stage), ['long']);
});

test('marks of the axis', () => {
  assert.equal(t.tickStep(13_000_000, 8), 2_000_000);
  assert.equal(t.tickLabel(4_000_000, 2_000_000).replace('\u202f', ' '), '4 s');
  assert.equal(t.tickLabel(4_500_000, 500_000).replace('\u202f', ' '), '4.5 s');
  assert.equal(t.tickLabel(12_500, 500).replace('\u202f', ' '), '12.5 ms');
});
