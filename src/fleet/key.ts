// The key of a fleet: in a private file or the environment, never in Redis. It seals what fronts and workers exchange (FLT-2).

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../core/error.js';
import type { Json } from '../core/json.js';
import { digestKeyed, loadCrypto } from '../files/digest.js';
import { readStateFile } from '../files/read.js';
import { writeFileAtomic } from '../files/write.js';

export interface FleetKey {
  /** Names the fleet in Redis: fronts and workers with other keys do not meet. */
  readonly fleet: string;
  /** Returns a name that only holders of the key can compute. */
  name(...parts: readonly string[]): string;
  /** Encrypts and authenticates a value. It can be opened for the same purpose only. */
  seal(purpose: string, value: Json): string;
  /** Returns a sealed value. Throws `integrity` if it was altered, or sealed with another key or for another purpose. */
  open(purpose: string, sealed: string): Json;
}

const VARIABLE = 'WIELD_FLEET_KEY';
const KEY = /^[0-9a-f]{64}$/;
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Reads the key from `WIELD_FLEET_KEY` or `fleet.key` in the wield home. Throws `unavailable` if there is none. */
export function loadFleetKey(env: Readonly<Record<string, string | undefined>>, wieldHome: string): FleetKey {
  const given = env[VARIABLE];
  if (given) return createFleetKey(checkKey(given, VARIABLE));
  const file = fileOf(wieldHome);
  const text = readStateFile(file, 1024);
  if (text === undefined) {
    throw new ToolError('unavailable', `no key of the fleet: neither ${VARIABLE} nor ${file} exists`, {
      hint: 'create one with wield fleet key on one machine, then copy the file to the others',
    });
  }
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new ToolError('unavailable', `others can read ${file}, so it is not used`, {
      hint: `run: chmod 600 ${file}; if others may have read it, create another key`,
    });
  }
  return createFleetKey(checkKey(text.trim(), file));
}

/** Creates `fleet.key` in the wield home unless it exists; returns its path and whether it is new. */
export function createKeyFile(wieldHome: string): { readonly file: string; readonly isNew: boolean } {
  const file = fileOf(wieldHome);
  const isNew = readStateFile(file, 1024) === undefined;
  const key = loadCrypto().randomBytes(32).toString('hex');
  if (isNew) writeFileAtomic(file, `${key}\n`, { keepExisting: true });
  return { file, isNew };
}

/** `key` is 32 bytes in hex. */
export function createFleetKey(key: string): FleetKey {
  const { createCipheriv, createDecipheriv, randomBytes } = loadCrypto();
  const name = (...parts: readonly string[]): string => digestKeyed(key, ['name', ...parts]);
  // A key for every purpose, so that random nonces do not repeat.
  const keyFor = (purpose: string): Buffer => Buffer.from(digestKeyed(key, ['seal', purpose]), 'hex');
  return {
    fleet: name('fleet').slice(0, 12),
    name,
    seal(purpose, value) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, keyFor(purpose), nonce);
      const text = cipher.update(JSON.stringify(value), 'utf8');
      return Buffer.concat([nonce, text, cipher.final(), cipher.getAuthTag()]).toString('base64');
    },
    open(purpose, sealed) {
      const bytes = Buffer.from(sealed, 'base64');
      if (bytes.length < NONCE_BYTES + TAG_BYTES) throw notSealed(purpose);
      const decipher = createDecipheriv(CIPHER, keyFor(purpose), bytes.subarray(0, NONCE_BYTES));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
        return JSON.parse(text.toString('utf8')) as Json;
      } catch {
        throw notSealed(purpose);
      }
    },
  };
}

function fileOf(wieldHome: string): string {
  return join(wieldHome, 'fleet.key');
}

function checkKey(text: string, place: string): string {
  if (KEY.test(text)) return text;
  throw new ToolError('unavailable', `${place} is not a key of a fleet: it must be 64 hexadecimal digits`, {
    hint: 'create one: wield fleet key, or openssl rand -hex 32',
  });
}

function notSealed(purpose: string): ToolError {
  return new ToolError('integrity', `not sealed with the key of this fleet: ${purpose}`, {
    hint: 'someone else writes to this Redis, or the fronts and workers have different keys',
  });
}
