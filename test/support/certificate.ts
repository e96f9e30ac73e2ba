// A certificate for servers of a test, on 127.0.0.1 or by other names.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Creates a key and a certificate, for further names such as `DNS:api.test`; `file` has the certificate. */
export function createCertificate(directory: string, ...more: readonly string[]) {
  const [keyFile, file] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const names = [
    '-subj',
    '/CN=localhost',
    '-addext',
    `subjectAltName=${['IP:127.0.0.1', 'DNS:localhost', ...more].join()}`,
  ];
  execFileSync('openssl', ['req', ...kind, '-keyout', keyFile, '-out', file, ...names], { stdio: 'ignore' });
  return { key: readFileSync(keyFile), cert: readFileSync(file), file };
}
