// What trust in a workspace lets models run: its tools and servers. Starts nothing.

import type { Origin } from '../core/origin.js';
import { quoteOutside, spellOut } from '../core/text.js';
import { needsTrust } from '../core/tool.js';
import { fromFileUri } from '../files/within.js';
import type { NodeToolbox } from '../node.js';
import { describeServer } from '../upstream/entries/mask.js';
import { ask, mayConfirm } from './consent.js';
import { shortPath } from './print.js';
import { printTable } from './table.js';
import type { Terminal } from './terminal.js';
import { type FlagHelp, toggle, type VerbCall } from './verb.js';

/** Says why the workspace is not trusted: never, or no longer, because of these files. Empty if it is. */
export function describeDistrust({ state, workspace: { trusted, workdir } }: NodeToolbox): string {
  if (trusted) return '';
  const changed = state.trust.changes(workdir).map(({ file }) => spellOut(file));
  if (changed.length === 0) return 'this workspace is not trusted';
  return `this workspace is no longer trusted, because ${changed.join(', ')} changed`;
}

export type Runnable = Awaited<ReturnType<typeof findRunnable>>;

const MAX_SHOWN = 2000;

/** Lists what models may run once the workspace is trusted. */
export async function findRunnable(toolbox: NodeToolbox) {
  const short = (path: string): string => shortPath(path, toolbox);
  const fileOf = ({ uri }: Origin): string => (uri === null ? '' : short(fromFileUri(uri) ?? uri));
  const used = toolbox.state.upstreams.states().filter(({ state: now }) => now !== 'off' && now !== 'blocked');
  const servers = [...used.map(({ server }) => server), ...toolbox.state.snapshot().servers.shadowed]
    .filter(({ owner }) => owner === 'workspace')
    .map((server) => ({ name: server.name, target: describeServer(server), file: short(server.position.file) }));
  const { tools, denied, shadowed, otherFiles } = await toolbox.catalog.survey({ now: true });
  // Also those that are not found by their name now: once modules are loaded, they may have other names.
  const listed = [...tools, ...[...denied, ...shadowed].map(({ tool }) => tool)]
    .filter((tool) => needsTrust(tool) && tool.origin.configuredBy === undefined)
    .map(({ name, origin }) => ({ name, format: origin.format, file: fileOf(origin) }));
  const others = otherFiles
    .filter(({ owner }) => owner === 'workspace')
    .map((origin) => ({ name: fileOf(origin), format: origin.format, file: fileOf(origin) }));
  // Several formats report a file that they cannot read.
  const unknown = new Map(others.map((other) => [other.file, other]));
  return { tools: [...listed, ...unknown.values()], servers };
}

/** Returns what a workspace has before something is created in it; undefined if there is nothing to trust yet. */
export async function findOthers(toolbox: NodeToolbox): Promise<Runnable | undefined> {
  const found = await findRunnable(toolbox);
  const isEmpty = found.tools.length === 0 && found.servers.length === 0;
  return isEmpty && toolbox.state.trust.isEmpty(toolbox.workspace.workdir) ? undefined : found;
}

/** `--yes` of a verb that creates tools. */
export const TRUST_ALL: FlagHelp = toggle('Also trust what else is in the directory, without asking', 'y');

/** Whether a workspace may be trusted with what it has: nothing, or the user agrees, at a terminal or by `--yes`. */
export async function mayTrust(call: VerbCall, found: Runnable | undefined): Promise<boolean> {
  if (found === undefined) return true;
  if (!mayConfirm(call)) return false;
  if (!call.json) {
    const isEmpty = found.tools.length + found.servers.length === 0;
    call.terminal.out(
      isEmpty
        ? '  This directory has skills or settings of agents already, which are trusted with it.\n'
        : '  This directory has more that models could run once it is trusted:\n',
    );
    printRunnable(call.terminal, found);
  }
  return call.flags.has('yes') || ask(call, 'Trust all of it?');
}

export function printRunnable(terminal: Terminal, { tools, servers }: Runnable): void {
  const rows = [
    ...servers.map(({ name, target, file }) => [spellOut(name), 'server', quoteOutside(target, MAX_SHOWN), file]),
    ...tools.map(({ name, format, file }) => [spellOut(name), format, '', file]),
  ];
  if (rows.length > 0)
    printTable(
      terminal,
      ['NAME', 'FORMAT', 'RUNS', 'FILE'],
      rows.map(([name, format, runs, file]) => [name!, format!, runs!, quoteOutside(file!, MAX_SHOWN)]),
    );
}
