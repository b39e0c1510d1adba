// What to type to reach this service, from what it listens on and where the page was opened.
import type { Status } from '../api/types.ts';

export type Addresses = Status['addresses'];

const LOOPBACK = /^(127\.[\d.]+|localhost|::1)$/;
const ANY = /^(0\.0\.0\.0|::|\*|)$/;

export interface Reached {
  host: string;
  // Only from the machine that the service is on.
  fromItsMachineOnly: boolean;
}

// `listening`: the host that is listened on; `opened`: that of the page's address, by which the service is known here.
export function reached(listening: string, opened: string): Reached {
  const fromItsMachineOnly = LOOPBACK.test(listening);
  return { host: fromItsMachineOnly ? 'localhost' : ANY.test(listening) ? opened : listening, fromItsMachineOnly };
}

// "[::1]:50051" and "recon1:50051": the port is behind the last colon.
export function parts(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) };
}

const joined = (host: string, port: number) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);

// Flags of the command isocenter that lead to this service. `byToken`: who comes shows one.
export function serverFlags({ grpc }: Addresses, opened: string, byToken: boolean): string {
  const { host, port } = parts(grpc.address);
  const flags = [`--server ${joined(reached(host, opened).host, port)}`];
  if (grpc.tls) flags.push('--ca CA.pem');
  if (grpc.client_certificates && !byToken) flags.push('--cert CLIENT.pem --key CLIENT.key');
  if (byToken) flags.push('--token-file TOKEN');
  return flags.join(' ');
}

// "RECON1 at recon1, port 11112; with TLS port 2762"; null without a DICOM node.
export function dicomText({ dicom }: Addresses, opened: string): string | null {
  if (!dicom) return null;
  const ports = [dicom.port !== null && `port ${dicom.port}`, dicom.tls_port !== null && `with TLS port ${dicom.tls_port}`];
  return `${dicom.ae_title} at ${reached(dicom.host, opened).host}, ${ports.filter(Boolean).join('; ')}`;
}

// A command that asks whether the DICOM node answers; null where it takes TLS only, for which certificates are needed.
export function echoCommand({ dicom }: Addresses, opened: string): string | null {
  return dicom && dicom.port !== null ? `echoscu -v -aec ${dicom.ae_title} ${reached(dicom.host, opened).host} ${dicom.port}` : null;
}
