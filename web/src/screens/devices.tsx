// Devices as slots: memory, measured speed, what waits for them, and why one is out of use.
import type { Device, JobClass } from '../api/types.ts';
import { bytes, gups, plural, seconds, significant } from '../lib/format.ts';
import { Chip, Empty, Gauge } from '../ui/bits.tsx';
import { DocsLink } from '../ui/docs_link.tsx';

const CLASSES: JobClass[] = ['live', 'interactive', 'batch'];

export function DeviceList({ devices, brief }: { devices: Device[]; brief?: boolean }) {
  if (devices.length === 0) return <Empty>No device computes. <DocsLink to="noDevice" /></Empty>;
  return <div class="devices">{devices.map((device) => <DeviceItem key={device.name} device={device} brief={!!brief} />)}</div>;
}

function DeviceItem({ device, brief }: { device: Device; brief: boolean }) {
  return (
    <article class="device" aria-label={`Device ${device.name}`}>
      <header>
        <h3>{device.name}</h3>
        {device.healthy ? <Chip kind="ok" text="Healthy" /> : <Chip kind="bad" text="Quarantined" />}
        {device.healthy && <span class="numbers" title="10⁹ voxel updates in a second, as measured">{gups(device.speed_gups)}</span>}
      </header>
      {!device.healthy && (
        <p class="problem">{device.quarantine_reason ?? 'no reason is known'} <DocsLink to="quarantined" /></p>
      )}
      <Gauge
        label="Memory" name="Memory" used={device.memory_used_bytes} limit={device.memory_limit_bytes}
        text={`${bytes(device.memory_used_bytes)} of ${bytes(device.memory_limit_bytes)}`}
      />
      {device.healthy && (brief
        ? <p class="numbers split quiet"><span>{plural(device.queue_chunks, 'chunk waits', 'chunks wait')}</span><span>a live job waits {seconds(device.predicted_wait_seconds.live)}</span></p>
        : <Backlog device={device} />)}
    </article>
  );
}

function Backlog({ device }: { device: Device }) {
  return (
    <table class="compact" aria-label={`Backlog of ${device.name}`}>
      <caption class="quiet">What a new job has before it; {plural(device.queue_chunks, 'chunk waits', 'chunks wait')}</caption>
      <thead><tr><th scope="col">Class</th><th scope="col" class="number">Work, 10⁹ updates</th><th scope="col" class="number">Wait</th></tr></thead>
      <tbody>
        {CLASSES.map((name) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="number">{significant(device.backlog_gigaupdates[name])}</td>
            <td class="number">{seconds(device.predicted_wait_seconds[name])}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
