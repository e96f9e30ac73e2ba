// The workspace of a toolbox: its workdir, and the snapshots that calls use.

import { isAbsolute } from 'node:path';
import { ToolError } from '../core/error.js';
import type { Boundary, Place } from '../core/origin.js';
import type { Problem } from '../core/problem.js';
import { isPlainText, isSensitiveName, type KnownSecrets } from '../core/redact.js';
import type { Policy } from '../core/rule.js';
import type { UserOf } from '../core/selector-terms.js';
import type { Settings } from '../core/settings.js';
import type { ConfiguredServers, FilesOf, Snapshot, Workspace, World } from '../core/snapshot.js';
import { decodeUri } from '../core/text.js';
import { isGranted } from '../process/environment.js';
import type { PlacesOf } from './places.js';

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
    snapshot: (caller) => new WorkspaceSnapshot(workdir, options, caller),
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

// Few calls need all members, and reading one means file system calls.
class WorkspaceSnapshot implements Snapshot {
  readonly workdir: string;
  readonly settings: Settings;
  readonly policy: Policy;
  readonly now: number;
  readonly user: UserOf;
  readonly boundaryOf = (files: FilesOf): Boundary | undefined => this.#options.places.boundaryOf(this, files);
  readonly #options: WorkspaceOptions;
  readonly #problems: readonly Problem[];
  #trusted: boolean | undefined;
  #places: readonly Place[] | undefined;
  #servers: ConfiguredServers | undefined;
  #secrets: ReturnType<typeof findSecrets> | undefined;

  constructor(workdir: string, options: WorkspaceOptions, { user, groups, issuer, profile }: UserOf = {}) {
    const { settings, policy, problems } = options.configuration(workdir, profile);
    this.workdir = workdir;
    this.settings = settings;
    this.policy = policy;
    this.now = options.world.now();
    this.user = { user, groups, issuer };
    this.#options = options;
    this.#problems = problems;
    Object.freeze(this);
  }

  get trusted(): boolean {
    this.#trusted ??= this.#options.isTrusted(this.workdir);
    return this.#trusted;
  }

  get places(): readonly Place[] {
    this.#places ??= this.#options.places.list(this);
    return this.#places;
  }

  get libraries(): readonly Place[] {
    return this.#options.places.libraries(this);
  }

  get roots(): readonly string[] {
    return this.#options.places.roots(this);
  }

  get servers(): ConfiguredServers {
    this.#servers ??= this.#options.servers(this.settings);
    return this.#servers;
  }

  get secrets(): readonly string[] {
    return this.#withServers(this.#own.all);
  }

  get hidden(): readonly string[] {
    return this.#withServers(this.#own.hidden);
  }

  get problems(): readonly Problem[] {
    return [...this.#problems, ...this.#options.places.problems(this)];
  }

  get #own() {
    this.#secrets ??= findSecrets(this.settings, this.#options.world);
    return this.#secrets;
  }

  #withServers(own: readonly string[]): readonly string[] {
    const { all } = this.#options.serverSecrets;
    return all.length === 0 ? own : [...own, ...all];
  }
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

// Returns the values of variables that the configuration passes to tools, of the model key and our own secrets.
function findSecrets({ env, tools, model }: Settings, world: World) {
  const key = model?.keyVariable === undefined ? [] : [model.keyVariable];
  const pass = [...env.pass, ...key, ...[...tools.values()].flatMap((tool) => tool.pass ?? [])];
  if (pass.length === 0 && OWN_SECRETS.every((name) => !world.env[name])) return { all: [], hidden: [] };
  const found = Object.entries(world.env).flatMap(([name, value]) =>
    value !== undefined && (OWN_SECRETS.includes(name) || isGranted(name, pass))
      ? secretsIn(name, value).flatMap((secret) =>
          secret.length >= MIN_SECRET_LENGTH ? [[name, secret] as const] : [],
        )
      : [],
  );
  return {
    all: found.map(([, value]) => value),
    hidden: found.filter((one) => !isPlainVariable(one)).map(([, value]) => value),
  };
}
