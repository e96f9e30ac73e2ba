// `wield mcp list`: lists upstream servers with their state. Starts none.

import { formatPosition, type Problem } from '../../../core/problem.js';
import { count, formatBytes, formatDuration, quoteOutside, spellOut } from '../../../core/text.js';
import type { NodeToolbox } from '../../../node.js';
import { listShared } from '../../../upstream/broker/admin.js';
import type { SharedState } from '../../../upstream/broker/plan.js';
import { describeStarting } from '../../../upstream/catalog/format.js';
import { describeServer } from '../../../upstream/entries/mask.js';
import { readVersion } from '../../../workspace/machine.js';
import { printJson, shortPath } from '../../print.js';
import { printTable } from '../../table.js';
import type { VerbCall } from '../../verb.js';
import { describePlace, findLine, type McpAction, type ServerState, someOf } from './server.js';

export const list: McpAction = {
  usage: '[list]',
  example: 'wield mcp',
  async run(call) {
    const toolbox = call.toolbox();
    const states = toolbox.state.upstreams.states();
    // A file that cannot be read is not the same as none.
    const { problems } = toolbox.state.snapshot().servers;
    const shared = (await listShared({ ...toolbox.machine, version: readVersion() })) ?? [];
    if (call.json)
      printJson(call.terminal, {
        ok: true,
        servers: states.map(toServerJson),
        shared: shared.map((one) => ({ ...one, startedAt: new Date(one.startedAt).toISOString() })),
        problems,
      });
    else if (states.length > 0) print(call, states, toolbox);
    else if (problems.length === 0) {
      call.terminal.out(
        'No servers yet. Add one: wield mcp add NAME -- COMMAND; import those of other clients: wield mcp import\n',
      );
    }
    if (!call.json) {
      printShared(call, shared, toolbox);
      printProblems(call, problems, toolbox);
    }
    return 0;
  },
};

// UPS-122
function printShared({ terminal }: VerbCall, shared: readonly SharedState[], toolbox: NodeToolbox): void {
  if (shared.length === 0) return;
  const { world } = toolbox.machine;
  const rows = shared.map(({ name, pid, sessions, memoryBytes, startedAt, directory }) => [
    spellOut(name),
    String(pid),
    String(sessions),
    memoryBytes === null ? '' : formatBytes(memoryBytes),
    formatDuration(Math.max(0, Math.floor((world.now() - startedAt) / 1000)) * 1000),
    spellOut(shortPath(directory, toolbox)),
  ]);
  terminal.out('\nShared by all sessions:\n');
  printTable(terminal, ['NAME', 'PID', 'SESSIONS', 'MEMORY', 'AGE', 'DIRECTORY'], rows);
}

function printProblems({ terminal }: VerbCall, problems: readonly Problem[], toolbox: NodeToolbox): void {
  for (const problem of problems) {
    const { severity, path, message, hint } = problem;
    const [colour, label] = severity === 'error' ? (['red', 'problem'] as const) : (['yellow', 'warning'] as const);
    const file = formatPosition(shortPath(path, toolbox), problem);
    terminal.err(`  ${terminal.paint(colour, label, 'err')}  ${quoteOutside(`${file} ${message}; ${hint}`, 2000)}\n`);
  }
}

export function toServerJson(found: ServerState): Record<string, unknown> {
  const { server, state, runner, tools, changed, listedAt, failure, block } = found;
  return {
    name: server.name,
    kind: server.kind,
    target: describeServer(server),
    owner: server.owner,
    file: server.position.file,
    line: findLine(server),
    state,
    runner,
    tools: tools.map(({ name }) => name),
    changed,
    failure: failure && {
      message: failure.message,
      hint: failure.hint,
      at: new Date(failure.at).toISOString(),
    },
    listedAt: listedAt === undefined ? undefined : new Date(listedAt).toISOString(),
    blocked: block,
  };
}

function print({ terminal }: VerbCall, states: readonly ServerState[], toolbox: NodeToolbox): void {
  const now = toolbox.machine.world.now();
  const rows = states.map((found) => [
    spellOut(found.server.name),
    describeState(found),
    found.listedAt === undefined ? '' : describeAge(now - found.listedAt),
    describePlace(found.server, toolbox),
    describeServer(found.server),
  ]);
  printTable(terminal, ['NAME', 'STATE', 'LISTED', 'CONFIGURED', 'RUNS'], rows);
  const notes = states.flatMap(noteOf);
  const isUntrusted = ({ state }: ServerState): boolean => state === 'untrusted';
  const untrusted = states.filter((one) => isUntrusted(one) && one.server.owner === 'workspace').length;
  const installed = states.filter((one) => isUntrusted(one) && one.server.owner === 'package');
  if (installed.length > 0)
    notes.push([
      'untrusted',
      `not started until you accept ${installed.length === 1 ? 'it' : 'them'}: wield mcp accept ${spellOut(installed[0]!.server.name)}`,
    ]);
  if (untrusted > 0)
    notes.push([
      'untrusted',
      `${count(untrusted, 'server')} of this workspace ${untrusted === 1 ? 'is' : 'are'} not started until you trust it: wield trust`,
    ]);
  if (states.some(({ state }) => state === 'unknown'))
    notes.push(['new', 'wield list and wield mcp refresh start servers that were not started yet']);
  if (notes.length > 0) terminal.out('\n');
  const width = Math.max(...notes.map(([label]) => label.length));
  for (const [label, text] of notes) terminal.out(`  ${terminal.paint('yellow', label.padEnd(width))}   ${text}\n`);
}

function describeState({ state, tools, changed }: ServerState): string {
  if (state === 'unknown') return 'not started yet';
  if (state === 'off') return 'disabled';
  if (state !== 'listed') return state;
  const ready = `ready: ${count(tools.length, 'tool')}`;
  return changed.length === 0 ? ready : `${ready}, ${changed.length} changed`;
}

function noteOf({ server, state, runner, changed, failure, block }: ServerState): [string, string][] {
  const name = spellOut(server.name);
  if (block !== undefined)
    return [['blocked', spellOut(`${server.name}: ${block.reason} (${block.file}:${block.line})`)]];
  if (state === 'starting') return [['starting', spellOut(describeStarting(server, runner).message)]];
  if (failure !== undefined) {
    return [
      ['failed', spellOut(failure.message)],
      ['', spellOut(failure.hint)],
    ];
  }
  if (changed.length === 0) return [];
  return [['changed', `${someOf(changed)}: review and accept: wield mcp accept ${name}`]];
}

function describeAge(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} d ago`;
}
