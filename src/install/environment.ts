// InstallEnvironment: what installing receives from its caller, and the paths of its state in WIELD_HOME.

import { join, resolve } from 'node:path';
import { assertPerson } from '../core/caller.js';
import type { Settings } from '../core/settings.js';
import type { Tool } from '../core/tool.js';
import type { World } from '../core/world.js';
import type { ProcessHelper } from '../process/helper.js';
import type { ItemKind } from './manifest/item-name.js';

export interface InstallEnvironment {
  readonly world: World;
  /** Kills hooks if this process is killed. */
  readonly helper: Pick<ProcessHelper, 'start'>;
  readonly paths: InstallPaths;
  /** Agent homes that items are linked into, absolute. */
  readonly homes: readonly string[];
  readonly limits: Settings['limits'];
  /** The version of wield, compared with the minimum version of a source. */
  readonly version: string;
  readonly signal: AbortSignal;
  report(progress: InstallProgress): void;
  /** Called once with all hooks that are not approved yet. False skips them (HOOK-2). */
  approveHooks(hooks: readonly Hook[]): Promise<boolean>;
  /** Pins installed tools: installing one is a person's approval of its definition (POL-21). */
  pinTools(items: readonly PinnedItem[]): Promise<void>;
}

/** What pinning reads of an item. */
export interface PinnedItem {
  readonly kind: ItemKind;
  readonly effective: string;
  readonly bin: string | null;
}

/** A shell command of a source or an item. */
export interface Hook {
  /** SHA-256 over the source location, the item, the command and the bytes it runs on. */
  readonly digest: string;
  readonly source: string;
  readonly commit: string | null;
  /** The item it belongs to; null for a hook of the source itself. */
  readonly item: string | null;
  readonly kind: ItemKind | null;
  readonly event: 'install' | 'uninstall' | 'build';
  /** The command, passed to `/bin/sh -c`. */
  readonly run: string;
  /** The working directory, as shown in the approval prompt. */
  readonly where: string;
}

export interface InstallProgress {
  /** `output`: a line that a hook printed. */
  readonly kind: 'progress' | 'note' | 'warning' | 'output';
  readonly text: string;
  /** Of progress: what is done, from 0 to 1, and how much that is. */
  readonly share?: number;
  readonly size?: string;
}

export interface InstallPaths {
  readonly sourcesFile: string;
  readonly installedFile: string;
  readonly hooksFile: string;
  readonly journal: string;
  readonly lock: string;
  /** Clones of git sources. */
  readonly sources: string;
  /** Installed trees, one directory per item and content. */
  readonly objects: string;
  /** Stable paths of installed items: links to objects. */
  readonly store: string;
}

export function pathsOf(wieldHome: string): InstallPaths {
  const at = (name: string): string => join(wieldHome, name);
  return {
    sourcesFile: at('sources.json'),
    installedFile: at('installed.json'),
    hooksFile: at('hooks.json'),
    journal: at('install.journal'),
    lock: at('install.lock'),
    sources: at('sources'),
    objects: at('objects'),
    store: at('store'),
  };
}

/** Resolves the agent homes: those of `MIND_AGENT_HOMES`, else the configured ones, else one of the default places. */
export function agentHomes(configured: readonly string[], { env, home }: Pick<World, 'env' | 'home'>): string[] {
  const { MIND_AGENT_HOMES = '', MIND_DEFAULT_LOBE, CLAUDE_HOME } = env;
  const given = MIND_AGENT_HOMES.split(':').filter((one) => one !== '');
  const one = [MIND_DEFAULT_LOBE, CLAUDE_HOME].find(Boolean) ?? '~/.claude';
  const homes = given.length > 0 ? given : configured.length > 0 ? configured : [one];
  return homes.flatMap((path) => {
    if (!/^~(?=\/|$)/.test(path)) return [resolve(path)];
    return home === undefined ? [] : [join(home, path.slice(1))];
  });
}

/** The parts of a node toolbox that installing reads. */
export interface ReadableToolbox {
  readonly machine: {
    readonly wieldHome: string;
    readonly world: World;
    readonly helper: Pick<ProcessHelper, 'start'>;
  };
  readonly state: { configuration(): { readonly settings: Settings } };
}

/** The parts of a node toolbox that installing uses. */
export interface InstallingToolbox extends ReadableToolbox {
  readonly machine: ReadableToolbox['machine'] & { readonly insideCall: boolean };
  readonly state: ReadableToolbox['state'] & { readonly pins: { pin(tools: readonly Tool[], now: Date): void } };
  find(ref: string): Promise<Tool>;
}

type OwnFields = Pick<InstallEnvironment, 'version' | 'signal' | 'report' | 'approveHooks'>;

/** Throws `denied` in a process that a tool started: only a person may install (A44). */
export function toInstallEnvironment(toolbox: InstallingToolbox, own: OwnFields): InstallEnvironment {
  assertPerson(toolbox.machine.insideCall, 'installing');
  return { ...readFields(toolbox), ...own, pinTools: (items) => pinTools(toolbox, items) };
}

/** Returns an environment for finishing or undoing an interrupted change; hooks are never approved. */
export function toRecoveryEnvironment(toolbox: InstallingToolbox, signal: AbortSignal): InstallEnvironment {
  return { ...toReadOnlyEnvironment(toolbox, { signal }), pinTools: (items) => pinTools(toolbox, items) };
}

/** Returns an environment for reading the installed state; hooks are never approved. */
export function toReadOnlyEnvironment(toolbox: ReadableToolbox, own: Partial<OwnFields> = {}): InstallEnvironment {
  const { signal } = new AbortController();
  return {
    ...readFields(toolbox),
    version: '',
    signal,
    report() {},
    approveHooks: async () => false,
    async pinTools() {},
    ...own,
  };
}

function readFields({ machine: { world, wieldHome, helper }, state }: ReadableToolbox) {
  const { limits, homes } = state.configuration().settings;
  return { world, helper, paths: pathsOf(wieldHome), homes: agentHomes(homes, world), limits };
}

async function pinTools(toolbox: InstallingToolbox, items: readonly PinnedItem[]): Promise<void> {
  for (const { kind, effective, bin } of items) {
    if (kind !== 'tool' || bin === null) continue;
    const tool = await toolbox.find(effective).catch(() => undefined);
    if (tool?.origin.owner === 'package') toolbox.state.pins.pin([tool], new Date(toolbox.machine.world.now()));
  }
}
