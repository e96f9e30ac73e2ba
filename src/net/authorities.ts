// The certificate authorities of Node, and those of a file of the configuration.

import { join } from 'node:path';
import type { SecureContext } from 'node:tls';
import { orNothing, ToolError } from '../core/error.js';
import type { FileIdentity } from '../core/origin.js';
import type { World } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';
import { digestParts } from '../files/digest.js';
import { expandHome } from '../files/home.js';
import { readTextFile, sameIdentity, statIdentity } from '../files/read.js';

export interface Authorities {
  readonly context: SecureContext;
  /** All certificates, in PEM. */
  readonly certificates: string;
  readonly digest: string;
}

const MAX_BYTES = 4 * 1024 * 1024;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

// By path, until the file changes.
const known = new Map<string, { readonly identity: FileIdentity; readonly authorities: Authorities }>();

/** Reads a file of authorities. Throws `unavailable` if it has none: no request is sent without them. */
export function loadAuthorities(file: string, { env, home }: Pick<World, 'env' | 'home'>): Authorities {
  const path = expandHome(file, home);
  const identity = statIdentity(path);
  const last = known.get(path);
  if (identity !== undefined && last !== undefined && sameIdentity(last.identity, identity)) return last.authorities;
  const text = readTextFile(path, MAX_BYTES);
  const { X509Certificate } = process.getBuiltinModule('node:crypto');
  const own = text?.match(CERTIFICATE) ?? [];
  const isValid = own.length > 0 && own.every((one) => orNothing(() => new X509Certificate(one)) !== undefined);
  if (!isValid)
    throw new ToolError(
      'unavailable',
      `[net] ca: ${quoteOutside(path, 200)} ${text === undefined ? 'does not exist' : 'is not a file of certificates'}`,
      {
        hint: 'set ca in [net] of ~/.wield/config.toml to a PEM file, with -----BEGIN CERTIFICATE-----',
      },
    );
  const authorities = create(own, env);
  if (identity !== undefined) known.set(path, { identity, authorities });
  return authorities;
}

function create(own: readonly string[], env: World['env']): Authorities {
  const tls = process.getBuiltinModule('node:tls');
  const all = [...defaultAuthorities(env), ...own];
  const certificates = `${all.join('\n')}\n`;
  return { context: tls.createSecureContext({ ca: all }), certificates, digest: digestParts(own) };
}

// Older versions of Node do not name those that the environment adds.
function defaultAuthorities(env: World['env']): readonly string[] {
  const tls: typeof import('node:tls') & { getCACertificates?(kind: string): readonly string[] } =
    process.getBuiltinModule('node:tls');
  if (tls.getCACertificates !== undefined) return tls.getCACertificates('default');
  const file = env.NODE_EXTRA_CA_CERTS;
  const extra = file ? (orNothing(() => readTextFile(join(file), MAX_BYTES)) ?? '') : '';
  return [...tls.rootCertificates, ...(extra.match(CERTIFICATE) ?? [])];
}
