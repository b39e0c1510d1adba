import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Addresses, dicomText, echoCommand, parts, reached, serverFlags } from '../src/lib/addresses.ts';

const PLAIN: Addresses = {
  grpc: { address: '127.0.0.1:50061', tls: false, client_certificates: false },
  dicom: { ae_title: 'RECON2', host: '0.0.0.0', port: 11113, tls_port: null },
};

test('the port is the service’s own, the host the one by which it is known here', () => {
  assert.equal(serverFlags(PLAIN, 'recon2', false), '--server localhost:50061');
  assert.equal(serverFlags({ ...PLAIN, grpc: { ...PLAIN.grpc, address: '0.0.0.0:50061' } }, 'recon2', false), '--server recon2:50061');
  assert.equal(serverFlags({ ...PLAIN, grpc: { ...PLAIN.grpc, address: '[::]:50061' } }, 'fd00::2', false), '--server [fd00::2]:50061');
  assert.equal(serverFlags({ ...PLAIN, grpc: { ...PLAIN.grpc, address: '10.1.2.3:50061' } }, 'recon2', false), '--server 10.1.2.3:50061');
  assert.deepEqual(parts('[::1]:50051'), { host: '::1', port: 50051 });
  assert.deepEqual(reached('::1', 'recon2'), { host: 'localhost', fromItsMachineOnly: true });
});

test('what the service asks for is in the command', () => {
  const grpc = { address: '0.0.0.0:50051', tls: true, client_certificates: true };
  assert.equal(serverFlags({ ...PLAIN, grpc }, 'recon2', true), '--server recon2:50051 --ca CA.pem --token-file TOKEN');
  assert.equal(serverFlags({ ...PLAIN, grpc }, 'recon2', false), '--server recon2:50051 --ca CA.pem --cert CLIENT.pem --key CLIENT.key');
});

test('a PACS is told title, host and ports of the DICOM node that there is', () => {
  assert.equal(dicomText(PLAIN, 'recon2'), 'RECON2 at recon2, port 11113');
  assert.equal(echoCommand(PLAIN, 'recon2'), 'echoscu -v -aec RECON2 recon2 11113');
  const secured = { ...PLAIN, dicom: { ...PLAIN.dicom!, host: '10.1.2.3', port: null, tls_port: 2762 } };
  assert.equal(dicomText(secured, 'recon2'), 'RECON2 at 10.1.2.3, with TLS port 2762');
  assert.equal(echoCommand(secured, 'recon2'), null);
  assert.equal(dicomText({ ...PLAIN, dicom: null }, 'recon2'), null);
});
