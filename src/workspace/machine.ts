// The environment, home directory and clocks of this process, and the location of wield's state.

import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { assertSupported } from '../core/platform.js';
import { type KnownSecrets, redactKnown } from '../core/redact.js';
import type { World } from '../core/snapshot.js';
import { findHome, findWieldHome } from '../files/home.js';
import { checkStateDirectory } from '../files/state.js';
import { isStartedByTool } from '../process/ancestry.js';
import { createHelper, type ProcessHelper } from '../process/helper.js';

export interface ToolboxMachine {
  readonly world: World;
  readonly wieldHome: string;
  /** Whether this process was started by a tool, and so can neither approve nor trust anything (A44). */
  readonly insideCall: boolean;
  readonly helper: ProcessHelper;
  /** Values that are shown nowhere, besides those of the environment. */
  readonly secrets: KnownSecrets;
}

interface CreateWorldOptions {
  /** The environment; `process.env` by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Wall clock in milliseconds, `Date.now` by default. */
  readonly now?: () => number;
  /** Receives debug messages. */
  readonly debug?: (message: string) => void;
}

export function createMachine(options: CreateWorldOptions, secrets: KnownSecrets): ToolboxMachine {
  const world = createWorld(options, secrets);
  assertSupported(world.platform);
  const wieldHome = findWieldHome(world.env, world.home);
  // Nothing of the state is used if another user could have written it (STA-2).
  checkStateDirectory(wieldHome);
  let insideCall: boolean | undefined;
  return {
    world,
    wieldHome,
    secrets,
    helper: createHelper(world),
    get insideCall() {
      insideCall ??= isStartedByTool(world.env, world.platform);
      return insideCall;
    },
  };
}

function createWorld(
  { env = process.env, now = () => Date.now(), debug }: CreateWorldOptions,
  secrets: KnownSecrets,
): World {
  return {
    env,
    home: findHome(env, homedir),
    platform: process.platform,
    now,
    monotonic: () => Number(process.hrtime.bigint()) / 1e6,
    debug: debug === undefined ? () => {} : (message) => debug(redactKnown(message, secrets.all)),
    debugging: debug !== undefined,
  };
}

/** Returns the environment of this process. */
export function readEnvironment(): World['env'] {
  return process.env;
}

export function readVersion(): string {
  const file = fileURLToPath(new URL('../../package.json', import.meta.url));
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
