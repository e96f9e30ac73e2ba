// The key of a fleet: in a private file or the environment, never in Redis. It seals what fronts and workers exchange (FLT-2).

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../core/error.js';
import type { Json } from '../core/json.js';
import { changeFile } from '../files/change.js';
import { digestKeyed, loadCrypto } from '../files/digest.js';
import { readStateFile } from '../files/read.js';
import { writeFileAtomic } from '../files/write.js';

export type FleetKey = ReturnType<typeof toFleetKey>;

/** A key with the time in which it is used or accepted (FLT-86). */
interface KeyPeriod {
  readonly key: string;
  /** From then on it seals; it opens before. */
  readonly from: number;
  /** From then on it opens nothing. */
  readonly until: number;
}

/** The keys of a fleet, newest first, and what its names are derived from. */
interface KeyRing {
  readonly periods: readonly KeyPeriod[];
  readonly names: string;
}

const VARIABLE = 'WIELD_FLEET_KEY';
const KEY = /^[0-9a-f]{64}$/;
const PERIOD = /^([0-9a-f]{64})(?: from (\S+))?(?: until (\S+))?$/;
const NAMES = /^names ([0-9a-f]{64})$/;
const MAX_BYTES = 4096;
const HOUR_MS = 3_600_000;
// A question waits for a week, and its approval for a day.
const ACCEPTED_MS = 8 * 24 * HOUR_MS;
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Reads the key from `WIELD_FLEET_KEY` or `fleet.key` in the wield home. Throws `unavailable` if there is none. */
export function loadFleetKey(env: Readonly<Record<string, string | undefined>>, wieldHome: string): FleetKey {
  const given = env[VARIABLE];
  if (given) return toFleetKey(parseRing(given, VARIABLE));
  const ring = readKeyFile(wieldHome);
  if (ring !== undefined) return toFleetKey(ring);
  throw new ToolError('unavailable', `no key of the fleet: neither ${VARIABLE} nor ${fleetKeyFile(wieldHome)} exists`, {
    hint: 'create one with wield fleet key on one machine, then copy the file to the others',
  });
}

function readKeyFile(wieldHome: string): KeyRing | undefined {
  const file = fleetKeyFile(wieldHome);
  const text = readStateFile(file, MAX_BYTES);
  if (text === undefined) return undefined;
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new ToolError('unavailable', `others can read ${file}, so it is not used`, {
      hint: `run: chmod 600 ${file}; if others may have read it, create another key`,
    });
  }
  return parseRing(text, file);
}

/** Whether `fleet.key` exists. Throws `unavailable` if it cannot be used. */
export function hasKeyFile(wieldHome: string): boolean {
  return readKeyFile(wieldHome) !== undefined;
}

/**
 * Creates `fleet.key` in the wield home unless it exists; returns its path and whether it is new. Throws `unavailable` if it
 * exists and cannot be used.
 */
export function createKeyFile(wieldHome: string): { readonly file: string; readonly isNew: boolean } {
  const file = fleetKeyFile(wieldHome);
  const isNew = !hasKeyFile(wieldHome);
  const key = loadCrypto().randomBytes(32).toString('hex');
  if (isNew) writeFileAtomic(file, `${key}\n`, { keepExisting: true });
  return { file, isNew };
}

/**
 * Adds a new key to `fleet.key`: opened at once, and used instead of the present one after some hours, in which the file is
 * to be copied. Throws `unavailable` without a file, `conflict` while an earlier rotation is under way.
 */
export async function rotateKeyFile(
  wieldHome: string,
  now: number,
  hours: number,
): Promise<{ file: string; from: Date; until: Date }> {
  const file = fleetKeyFile(wieldHome);
  const from = now + hours * HOUR_MS;
  const until = from + ACCEPTED_MS;
  await changeFile(file, { doing: 'changing the key of the fleet' }, (text) => {
    if (text === undefined) {
      throw new ToolError('unavailable', `there is no ${file} to rotate`, {
        hint: 'write the present key into it, readable by its user only, or create the first one: wield fleet key',
      });
    }
    const { periods, names } = parseRing(text, file);
    const [newest] = periods;
    if (newest!.from > now) {
      throw new ToolError('conflict', `a rotation is under way: the new key is used from ${toTime(newest!.from)}`, {
        hint: `copy ${file} to every front and worker, and restart each before then`,
      });
    }
    const old = periods.filter((period) => period.until > now);
    const lines = [
      `${loadCrypto().randomBytes(32).toString('hex')} from ${toTime(from)}`,
      ...old.map((period) => `${period.key} until ${toTime(Math.min(period.until, until))}`),
      `names ${names}`,
    ];
    return `${lines.join('\n')}\n`;
  });
  return { file, from: new Date(from), until: new Date(until) };
}

/** `key` is 32 bytes in hex. */
export function createFleetKey(key: string): FleetKey {
  return toFleetKey({ periods: [{ key, from: 0, until: Number.POSITIVE_INFINITY }], names: toNamesKey(key) });
}

function toNamesKey(key: string): string {
  return digestKeyed(key, ['names']);
}

function toTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function toFleetKey({ periods, names }: KeyRing) {
  const { createCipheriv, createDecipheriv, randomBytes } = loadCrypto();
  const name = (...parts: readonly string[]): string => digestKeyed(names, ['name', ...parts]);
  // A key for every purpose, so that random nonces do not repeat.
  const keyFor = (key: string, purpose: string): Buffer => Buffer.from(digestKeyed(key, ['seal', purpose]), 'hex');
  // The one that seals is first.
  const accepted = (): readonly string[] => {
    const now = Date.now();
    const valid = periods.filter(({ until }) => until > now);
    const [begun, later] = [valid.filter(({ from }) => from <= now), valid.filter(({ from }) => from > now)];
    return [...begun, ...later].map(({ key }) => key);
  };
  const current = (): string => {
    const [key] = accepted();
    if (key !== undefined) return key;
    throw new ToolError('unavailable', 'no key of the fleet is valid any more', {
      hint: 'copy fleet.key from another member, or create another key: wield fleet key',
    });
  };
  const decrypt = (key: string, purpose: string, bytes: Buffer): Json => {
    const decipher = createDecipheriv(CIPHER, keyFor(key, purpose), bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    return JSON.parse(text.toString('utf8')) as Json;
  };
  return {
    /** Names the fleet in Redis: fronts and workers with other keys do not meet. */
    fleet: name('fleet').slice(0, 12),
    /** Returns a name that only holders of the key can compute. A rotated key has the names of the first one. */
    name,
    /** Returns secrets that only holders of the key can compute: the one to use, and others that are still accepted. */
    secrets: (purpose: string): readonly string[] => accepted().map((key) => digestKeyed(key, ['secret', purpose])),
    /** Encrypts and authenticates a value. It can be opened for the same purpose only. */
    seal(purpose: string, value: Json): string {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, keyFor(current(), purpose), nonce);
      const text = cipher.update(JSON.stringify(value), 'utf8');
      return Buffer.concat([nonce, text, cipher.final(), cipher.getAuthTag()]).toString('base64');
    },
    /** Returns a sealed value. Throws `integrity` if it was altered, or sealed with another key or for another purpose. */
    open(purpose: string, sealed: string): Json {
      const bytes = Buffer.from(sealed, 'base64');
      if (bytes.length < NONCE_BYTES + TAG_BYTES) throw notSealed(purpose);
      for (const key of accepted()) {
        try {
          return decrypt(key, purpose, bytes);
        } catch {
          // Perhaps with another one.
        }
      }
      throw notSealed(purpose);
    },
  };
}

export function fleetKeyFile(wieldHome: string): string {
  return join(wieldHome, 'fleet.key');
}

// A key, or what a rotation wrote: keys with their times, newest first, and what names are derived from.
function parseRing(text: string, name: string): KeyRing {
  const lines = text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const [names] = lines.flatMap((line) => NAMES.exec(line)?.[1] ?? []);
  const periods = lines
    .filter((line) => !NAMES.test(line))
    .map((line) => {
      const [, key = '', from, until] = PERIOD.exec(line) ?? [];
      const period = {
        key,
        from: from === undefined ? 0 : Date.parse(from),
        until: until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until),
      };
      if (!KEY.test(key) || Number.isNaN(period.from) || Number.isNaN(period.until)) throw notAKey(name);
      return period;
    })
    .sort((a, b) => b.from - a.from);
  const [newest] = periods;
  if (newest === undefined || (names === undefined && periods.length > 1)) throw notAKey(name);
  return { periods, names: names ?? toNamesKey(newest.key) };
}

function notAKey(name: string): ToolError {
  return new ToolError('unavailable', `${name} is not a key of a fleet: it must be 64 hexadecimal digits`, {
    hint:
      name === VARIABLE
        ? 'create one: openssl rand -hex 32; copy the whole file of a rotated one'
        : 'copy it from another member; if there is none, remove the file and run: wield fleet key',
  });
}

function notSealed(purpose: string): ToolError {
  return new ToolError('integrity', `not sealed with the key of this fleet: ${purpose}`, {
    hint: 'someone else writes to this Redis, or the fronts and workers have different keys',
  });
}
