// Hooks: shell commands of a source or an item; approved by digest, and run as bounded processes.

import { dirname, join } from 'node:path';
import { ToolError } from '../core/error.js';
import { matchSelectorTool } from '../core/selector-match.js';
import { formatDuration, quoteOutside, sanitize } from '../core/text.js';
import { digestParts } from '../files/digest.js';
import { readStateFile } from '../files/read.js';
import { hashTree } from '../files/tree.js';
import { writeFileAtomic } from '../files/write.js';
import { openEgress, planEgress } from '../net/egress/plan.js';
import { baseEnvironment, findLimiter, limitLauncher, searchPath } from '../process/environment.js';
import { appliedProfiles } from '../process/sandbox/applied.js';
import { launcherWith } from '../process/sandbox/egress.js';
import { planSandbox } from '../process/sandbox/index.js';
import { prepareSandbox } from '../process/sandbox/prepare.js';
import { explainFailure } from '../process/sandbox/report.js';
import { runProcess } from '../process/spawn.js';
import { isOccupied } from './directory.js';
import type { Hook, InstallEnvironment, InstallPaths } from './environment.js';
import type { Inventory } from './inventory.js';
import { itemKey } from './manifest/item-name.js';
import type { PlannedItem } from './plan/plan-items.js';
import { type InstalledItem, parseState } from './state.js';

/** Adds the digest that approvals are stored by; `bytes` is the hash of the files the command runs on (A31). */
export function toHook(facts: Omit<Hook, 'digest'>, location: string, bytes: string): Hook {
  const { item, kind, event, run } = facts;
  return { ...facts, digest: digestParts(['hook', location, kind ?? '', item ?? '', event, run, bytes]) };
}

/** Lists the hooks that a plan would run, each bound to the bytes it runs on. */
export function listHooks(
  items: readonly PlannedItem[],
  removed: readonly InstalledItem[],
  inventory: Inventory,
): Hook[] {
  const byKey = new Map(items.map((one) => [one.key, one]));
  const hooks = items.flatMap((one) => {
    const { item, source, effective, store, change } = one;
    if (change === 'unchanged' || (item.build === null && item.install === null)) return [];
    const { id, commit, location } = source.record;
    const bytes = contentOf(one, byKey);
    const create = (event: Hook['event'], run: string | null, where: string): Hook[] => {
      const facts = { source: id, commit, item: effective, kind: item.kind, event, where };
      return run === null ? [] : [toHook({ ...facts, run }, location, bytes)];
    };
    return [...create('build', item.build, 'a staging directory'), ...create('install', item.install, store)];
  });
  return [...hooks, ...removed.flatMap((item) => uninstallHook(item, inventory) ?? [])];
}

// The hash of an item and of everything it refers to, which its hooks can execute (HOOK-6).
function contentOf(one: PlannedItem, byKey: ReadonlyMap<string, PlannedItem>): string {
  const hashes = new Map<string, string>();
  const left = [one];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (hashes.has(next.key)) continue;
    const { key, form, source, item } = next;
    hashes.set(key, form.contentHash);
    left.push(
      ...form.references.flatMap(
        ({ kind, name }) => byKey.get(itemKey({ source: source.record.id, plugin: item.plugin, kind, name })) ?? [],
      ),
    );
  }
  return digestParts([...hashes].sort().flat());
}

/** Returns the uninstall hook of an item, bound to its files as they are now. */
export function uninstallHook(item: InstalledItem, inventory: Inventory): Hook | undefined {
  const { hooks, source, commit, effective, kind, store, object } = item;
  if (hooks.uninstall === null) return undefined;
  const facts = { source, commit, item: effective, kind, event: 'uninstall' as const, where: store };
  const location = inventory.sources.find(({ record }) => record.id === source)?.record.location ?? source;
  const path = join(inventory.environment.paths.objects, object);
  const bytes = isOccupied(path) ? hashTree(path) : 'missing';
  return toHook({ ...facts, run: hooks.uninstall }, location, bytes);
}

/** The error for files that changed after a hook was approved for them (HOOK-6). */
export function changedError(what: string): ToolError {
  return new ToolError('integrity', `${what} changed after its hook was approved; the hook was not run`, {
    hint: 'find out why, then run the command again',
  });
}

/** Returns the digests of the hooks that may run: those approved before, and those approved now. */
export async function approveHooks(
  hooks: readonly Hook[],
  environment: InstallEnvironment,
): Promise<ReadonlySet<string>> {
  const { paths, report } = environment;
  const approved = loadApproved(paths);
  const pending = pendingHooks(hooks, paths);
  if (pending.length > 0 && (await environment.approveHooks(pending))) {
    for (const { digest } of pending) approved.add(digest);
    const document = { version: 1, approved: [...approved].sort() };
    writeFileAtomic(paths.hooksFile, `${JSON.stringify(document, null, 1)}\n`);
  } else
    for (const { item, source, event, run } of pending)
      report({ kind: 'note', text: `skipped the ${event} hook of ${item ?? source}: ${quoteOutside(run, 200)}` });
  return new Set(hooks.map(({ digest }) => digest).filter((digest) => approved.has(digest)));
}

/** Returns the hooks that are not approved yet. */
export function pendingHooks(hooks: readonly Hook[], paths: InstallPaths): readonly Hook[] {
  const approved = loadApproved(paths);
  return hooks.filter(({ digest }) => !approved.has(digest));
}

function loadApproved({ hooksFile }: InstallPaths): Set<string> {
  const text = readStateFile(hooksFile);
  if (text === undefined) return new Set();
  const { approved } = parseState(text, hooksFile);
  return new Set(Array.isArray(approved) ? approved.filter((one) => typeof one === 'string') : []);
}

const TIMEOUT_MS = 15 * 60_000;
const SHOWN_OUTPUT = 2000;
const SHOWN_LINES = 500;

// Reports the output of a hook line by line. A listener lifts the limit of a process, so the hook is stopped here.
function showOutput({ limits, report }: InstallEnvironment) {
  const stop = new AbortController();
  let [rest, lines, bytes] = ['', 0, 0];
  const show = (text: string): void => {
    lines++;
    if (lines <= SHOWN_LINES) report({ kind: 'output', text });
    else if (lines === SHOWN_LINES + 1) report({ kind: 'output', text: '… more output is not shown' });
  };
  return {
    exceeded: stop.signal,
    add(chunk: Buffer): void {
      bytes += chunk.length;
      if (bytes > limits.outputBytes) stop.abort();
      const parts = (rest + chunk.toString('utf8')).split(/\r?\n/);
      rest = parts.pop()!.slice(-SHOWN_OUTPUT);
      parts.forEach(show);
    },
    end(): void {
      if (rest !== '') show(rest);
    },
  };
}

/** Throws `tool_failed` with the end of the output if the hook fails (HOOK-3). */
export async function runHook(hook: Hook, directory: string, environment: InstallEnvironment): Promise<void> {
  const { world, helper, signal, report } = environment;
  const { event, run, item, source } = hook;
  const name = `the ${event} hook of ${item ?? source}`;
  const path = searchPath(world);
  // If wield is killed, the hook ends too: it must not write into files that recovery restores.
  helper.start();
  report({ kind: 'progress', text: `running ${name}` });
  const output = showOutput(environment);
  const { sandbox, variables } = await sandboxHook(directory, environment);
  const limits = limitLauncher(environment.limits, () => findLimiter(world.platform, path));
  const launcher = sandbox === undefined ? limits : launcherWith(sandbox, limits);
  const egress = await openEgress(planEgress('hooks', sandbox), environment.network.findRoute);
  // EXE-12: never silently.
  if (sandbox?.backend === 'none') report({ kind: 'warning', text: `${name} has no sandbox: ${sandbox.reason}` });
  const outcome = await runProcess(
    {
      // HOOK-5: the command is one argument; nothing is interpolated.
      argv: [...launcher, '/bin/sh', '-c', run],
      filter: sandbox?.filter,
      egress,
      cwd: directory,
      environment: { ...variables, WIELD_SOURCE: source, WIELD_ITEM: item ?? '', WIELD_EVENT: event },
      stdin: '',
      timeoutMs: TIMEOUT_MS,
      outputBytes: environment.limits.outputBytes,
      signal: AbortSignal.any([signal, output.exceeded]),
      onOutput: output.add,
    },
    world,
  );
  output.end();
  if (outcome.ending === 'exit' && outcome.exitCode === 0) return;
  if (outcome.ending === 'cancelled' && !output.exceeded.aborted)
    throw new ToolError('cancelled', `${name} was cancelled`, { hint: 'run the command again' });
  const failure =
    outcome.ending === 'timeout'
      ? `timed out after ${formatDuration(TIMEOUT_MS)}`
      : output.exceeded.aborted
        ? 'exceeded the output limit'
        : `failed with ${outcome.signal ?? `status ${outcome.exitCode}`}`;
  const printed = sanitize(`${outcome.stdout}${outcome.stderr}`).trim().slice(-SHOWN_OUTPUT);
  const error = new ToolError('tool_failed', `${name} ${failure}${printed === '' ? '' : `:\n${printed}`}`, {
    hint: 'nothing was changed; report it to the author of the source',
    data: { item, source, event, run, exitCode: outcome.exitCode },
  });
  if (sandbox === undefined || sandbox.backend === 'none' || outcome.ending !== 'exit') throw error;
  const refused = { name, sandbox, cwd: directory, home: world.home, isPermanent: true };
  const text = { stderr: `${outcome.stderr}`, stdout: `${outcome.stdout}` };
  throw await explainFailure(error, refused, { ...text, hosts: egress?.takeRefused() }, world);
}

// The profile `hooks` of the user's configuration, or rules that match that name, apply to every hook.
async function sandboxHook(directory: string, { world, sandbox, paths }: InstallEnvironment) {
  const variables = baseEnvironment(world, []);
  const applied = appliedProfiles('hooks', undefined, sandbox, ({ selectors }) =>
    selectors.some((selector) => matchSelectorTool(selector, { name: 'hooks' })),
  );
  if (applied.length === 0) return { variables };
  const target = {
    name: 'a hook',
    isPermanent: true,
    workdir: directory,
    code: [],
    environment: variables,
    state: [directory],
  };
  const planned = await planSandbox(applied, sandbox, target, { world, wieldHome: dirname(paths.lock) });
  prepareSandbox(planned.sandbox);
  return { sandbox: planned.sandbox, variables: planned.environment };
}
