// The workspace of a toolbox: its workdir, and the snapshots that calls use.

import { isAbsolute } from 'node:path';
import { ToolError } from '../core/error.js';
import type { Problem } from '../core/problem.js';
import { isPlainText, isSensitiveName, type KnownSecrets } from '../core/redact.js';
import type { Policy } from '../core/rule.js';
import type { UserOf } from '../core/selector-terms.js';
import type { Settings } from '../core/settings.js';
import type { ConfiguredServers, Snapshot, Workspace, World } from '../core/snapshot.js';
import { decodeUri } from '../core/text.js';
import { isGranted } from '../process/environment.js';
import type { Located, PlacesOf } from './places.js';

export interface WorkspaceOptions {
  readonly workdir: string;
  readonly configuration: (
    workdir: string,
    profile?: string,
  ) => {
    readonly settings: Settings;
    readonly policy: Policy;
    readonly problems: readonly Problem[];
  };
  readonly isTrusted: (workdir: string) => boolean;
  readonly places: PlacesOf;
  readonly servers: (settings: Settings) => ConfiguredServers;
  readonly serverSecrets: KnownSecrets;
  readonly onMove: () => void;
  readonly world: World;
}

export function createWorkspace(options: WorkspaceOptions): Workspace {
  let { workdir } = options;
  return {
    world: options.world,
    snapshot: (caller) => toSnapshot(workdir, options, caller),
    setWorkdir(directory) {
      if (!isAbsolute(directory)) {
        throw new ToolError('usage', `the workdir must be an absolute path, not ${directory}`, {
          hint: 'resolve it first',
        });
      }
      workdir = directory;
      options.onMove();
    },
  };
}

// Members are read on first use: few calls need all of them, and reading one means file system calls.
function toSnapshot(
  workdir: string,
  options: WorkspaceOptions,
  { user, groups, issuer, profile }: UserOf = {},
): Snapshot {
  const { settings, policy, problems } = options.configuration(workdir, profile);
  const { places, world, serverSecrets } = options;
  const at: Located = { workdir, settings };
  const isTrusted = once(() => options.isTrusted(workdir));
  const listPlaces = once(() => places.list(at));
  const readServers = once(() => options.servers(settings));
  const ownVariables = once(() => findSecrets(settings, world));
  const ownSecrets = once(() => ownVariables().map(([, value]) => value));
  const hidden = once(() => ownVariables().flatMap((one) => (isPlainVariable(one) ? [] : [one[1]])));
  return Object.freeze({
    workdir,
    settings,
    policy,
    now: world.now(),
    user: { user, groups, issuer },
    get trusted() {
      return isTrusted();
    },
    get places() {
      return listPlaces();
    },
    get libraries() {
      return places.libraries(at);
    },
    get roots() {
      return places.roots(at);
    },
    get servers() {
      return readServers();
    },
    get secrets() {
      return serverSecrets.all.length === 0 ? ownSecrets() : [...ownSecrets(), ...serverSecrets.all];
    },
    get hidden() {
      return serverSecrets.all.length === 0 ? hidden() : [...hidden(), ...serverSecrets.all];
    },
    get problems() {
      return [...problems, ...places.problems(at)];
    },
    boundaryOf: (files) => places.boundaryOf(at, files),
  } satisfies Snapshot);
}

function once<T>(read: () => T): () => T {
  let known: { readonly value: T } | undefined;
  return () => {
    known ??= { value: read() };
    return known.value;
  };
}

// Shorter values would be redacted from ordinary words.
const MIN_SECRET_LENGTH = 4;

// Never passed on, but they may be printed.
const OWN_SECRETS = ['WIELD_TOKEN', 'WIELD_FLEET', 'WIELD_FLEET_KEY', 'WIELD_FLEET_PASSWORD'];

// A value such as `production` or a path would make results unreadable, unless its name says that it is a secret.
function isPlainVariable([name, value]: readonly [string, string]): boolean {
  return !isSensitiveName(name) && !OWN_SECRETS.includes(name) && isPlainText(value);
}

// Of the address of a fleet, only its password: the rest is in commands for people (FLT-61).
function secretsIn(name: string, value: string): readonly string[] {
  if (name !== 'WIELD_FLEET' || !URL.canParse(value)) return [value];
  const { password } = new URL(value);
  return [...new Set([password, decodeUri(password)])];
}

// Returns the variables that the configuration passes to tools, the model key and our own secrets, with their values.
function findSecrets({ env, tools, model }: Settings, world: World): readonly (readonly [string, string])[] {
  const key = model?.keyVariable === undefined ? [] : [model.keyVariable];
  const pass = [...env.pass, ...key, ...[...tools.values()].flatMap((tool) => tool.pass ?? [])];
  if (pass.length === 0 && OWN_SECRETS.every((name) => !world.env[name])) return [];
  return Object.entries(world.env).flatMap(([name, value]) =>
    value !== undefined && (OWN_SECRETS.includes(name) || isGranted(name, pass))
      ? secretsIn(name, value).flatMap((secret) =>
          secret.length >= MIN_SECRET_LENGTH ? [[name, secret] as const] : [],
        )
      : [],
  );
}
