// The workspace of a toolbox: its workdir, and the snapshots that calls work with.

import { isAbsolute } from 'node:path';
import { ToolError } from '../core/error.js';
import type { Boundary, Place } from '../core/format.js';
import type { Problem } from '../core/problem.js';
import type { KnownSecrets } from '../core/redact.js';
import type { Policy } from '../core/rule.js';
import type { Settings } from '../core/settings.js';
import type { ConfiguredServers, FilesOf, Snapshot, Workspace } from '../core/snapshot.js';
import type { World } from '../core/world.js';
import { isGranted } from '../process/environment.js';
import type { PlacesOf } from './places.js';

export interface WorkspaceOptions {
  readonly workdir: string;
  readonly configuration: (workdir: string) => {
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
    snapshot: () => Object.freeze(new WorkspaceSnapshot(workdir, options)),
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

// A class with getters, because few calls need all members, and reading one means file system calls.
class WorkspaceSnapshot implements Snapshot {
  readonly workdir: string;
  readonly settings: Settings;
  readonly policy: Policy;
  readonly #options: WorkspaceOptions;
  readonly #problems: readonly Problem[];
  #trusted: boolean | undefined;
  #places: readonly Place[] | undefined;
  #servers: ConfiguredServers | undefined;
  #secrets: readonly string[] | undefined;

  constructor(workdir: string, options: WorkspaceOptions) {
    const { settings, policy, problems } = options.configuration(workdir);
    this.workdir = workdir;
    this.settings = settings;
    this.policy = policy;
    this.#options = options;
    this.#problems = problems;
  }

  get trusted(): boolean {
    this.#trusted ??= this.#options.isTrusted(this.workdir);
    return this.#trusted;
  }

  get places(): readonly Place[] {
    this.#places ??= this.#options.places.list(this);
    return this.#places;
  }

  get roots(): readonly string[] {
    return this.#options.places.roots(this);
  }

  get servers(): ConfiguredServers {
    this.#servers ??= this.#options.servers(this.settings);
    return this.#servers;
  }

  get secrets(): readonly string[] {
    this.#secrets ??= findSecrets(this.settings, this.#options.world);
    const ofServers = this.#options.serverSecrets.all;
    return ofServers.length === 0 ? this.#secrets : [...this.#secrets, ...ofServers];
  }

  boundaryOf(files: FilesOf): Boundary | undefined {
    return this.#options.places.boundaryOf(this, files);
  }

  get problems(): readonly Problem[] {
    return [...this.#problems, ...this.#options.places.problems(this)];
  }
}

// Shorter values would be redacted from ordinary words.
const MIN_SECRET_LENGTH = 4;

// Returns the values of variables that the configuration passes to tools, the model key and `WIELD_TOKEN`.
function findSecrets({ env, tools, model }: Settings, world: World): readonly string[] {
  const key = model?.keyVariable === undefined ? [] : [model.keyVariable];
  const pass = [...env.pass, ...key, ...[...tools.values()].flatMap((tool) => tool.pass ?? [])];
  // The token is never passed on, but may be printed.
  if (pass.length === 0 && !world.env.WIELD_TOKEN) return [];
  return Object.entries(world.env).flatMap(([name, value]) =>
    value !== undefined && value.length >= MIN_SECRET_LENGTH && (name === 'WIELD_TOKEN' || isGranted(name, pass))
      ? [value]
      : [],
  );
}
