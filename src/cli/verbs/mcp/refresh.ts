// `wield mcp refresh`, `restart` and `stop`: start servers and list their tools again, end processes that sessions share.

import { onAbort } from '../../../core/async.js';
import { ToolError, toToolError } from '../../../core/error.js';
import { count, spellOut } from '../../../core/text.js';
import { mayStart, type ServerEntry, type StdioServer } from '../../../core/upstream.js';
import type { NodeToolbox } from '../../../node.js';
import type { BrokerOptions } from '../../../upstream/broker/address.js';
import { listShared, stopBrokers, whyNotShared } from '../../../upstream/broker/admin.js';
import { describeServer } from '../../../upstream/entries/mask.js';
import { readVersion } from '../../../workspace/machine.js';
import { printJson, report } from '../../print.js';
import { createWaitLine } from '../../status-line.js';
import type { VerbCall } from '../../verb.js';
import { toServerJson } from './list.js';
import { findState, findUsable, type McpAction, requireName, someOf } from './server.js';

// A server can take hundreds of megabytes.
const MAX_CONCURRENT = 4;

export const refresh: McpAction = {
  usage: 'refresh [NAME …]',
  example: 'wield mcp refresh github',
  positionals: Number.POSITIVE_INFINITY,
  async run(call, names) {
    const toolbox = call.toolbox();
    const servers = chooseServers(toolbox, names);
    const outcomes = await refreshAll(call, toolbox, servers);
    const failures = outcomes.flatMap(({ server, error }) => (error === undefined ? [] : [{ server, error }]));
    // With one named server, its error is the error of the command.
    if (names.length === 1 && failures.length === 1) throw toOwnError(failures[0]!, toolbox);
    if (call.json) {
      printJson(call.terminal, {
        ok: failures.length === 0,
        servers: outcomes.map(({ server, error }) => ({
          ...toServerJson(findState(toolbox, server.name)),
          refreshed: error === undefined,
          error: error?.toJSON(),
        })),
      });
    } else if (servers.length === 0) call.terminal.out('No servers to refresh. wield mcp shows all.\n');
    return failures.length === 0 ? 0 : 1;
  },
};

interface Outcome {
  readonly server: ServerEntry;
  readonly error?: ToolError;
}

// Skips servers that may not be started; naming one is an error.
function chooseServers(toolbox: NodeToolbox, names: readonly string[]): ServerEntry[] {
  if (names.length > 0) return [...new Set(names)].map((name) => findUsable(toolbox, name).server);
  return toolbox.state.upstreams
    .states()
    .filter(({ server, state }) => state !== 'off' && state !== 'blocked' && mayStart(server, toolbox.workspace))
    .map(({ server }) => server);
}

async function refreshAll(call: VerbCall, toolbox: NodeToolbox, servers: readonly ServerEntry[]): Promise<Outcome[]> {
  const outcomes = new Map<ServerEntry, Outcome>();
  const waiting = new Set<string>();
  const line = createWaitLine(call.terminal, () => servers);
  const left = [...servers];
  const refreshNext = async (): Promise<void> => {
    for (let server = left.shift(); server !== undefined; server = left.shift()) {
      if (call.signal.aborted) return;
      waiting.add(server.name);
      line.show([...waiting]);
      const error = await toolbox.state.upstreams.refresh(server).then(() => undefined, toToolError);
      waiting.delete(server.name);
      outcomes.set(server, { server, error });
      line.show([]);
      if (!call.json) print(call, toolbox, { server, error }, servers.length);
      line.show([...waiting]);
    }
  };
  const unlisten = onAbort(call.signal, () => {
    line.interrupt();
    void toolbox.close();
  });
  await Promise.all(Array.from({ length: Math.min(MAX_CONCURRENT, servers.length) }, refreshNext));
  unlisten();
  return servers.flatMap((server) => outcomes.get(server) ?? []);
}

function print({ terminal }: VerbCall, toolbox: NodeToolbox, { server, error }: Outcome, of: number): void {
  const name = spellOut(server.name);
  if (error === undefined) {
    const { tools, changed } = findState(toolbox, server.name);
    terminal.out(`  ${terminal.paint('green', 'ready ')}   ${name}   ${count(tools.length, 'tool')}\n`);
    if (changed.length > 0)
      terminal.out(
        `  ${terminal.paint('yellow', 'changed')}  ${someOf(changed)}: review and accept: wield mcp accept ${name}\n`,
      );
    return;
  }
  const { message, hint, data } = toOwnError({ server, error }, toolbox);
  terminal.err(`  ${terminal.paint('red', 'failed', 'err')}   ${name}\n`);
  // The error of a single server is printed by the command.
  if (of > 1) terminal.err(`           ${spellOut(message)}\n           ${spellOut(hint ?? '')}\n`);
  const lines = data?.lastLines;
  for (const line of Array.isArray(lines) ? lines : [])
    terminal.err(`           ${terminal.paint('dim', `| ${spellOut(String(line))}`, 'err')}\n`);
}

// The last lines are printed separately, and the hint to refresh would lead back here.
function toOwnError({ server, error }: Required<Outcome>, toolbox: NodeToolbox): ToolError {
  const { summary, kind } = error.data ?? {};
  return new ToolError(error.code, typeof summary === 'string' ? summary : error.message, {
    hint:
      kind === 'start-failed' && server.kind === 'stdio'
        ? `run it by hand to see more: ${toShellLine(server, toolbox)}`
        : (error.hint ?? ''),
    data: error.data,
    cause: error,
  });
}

// References that a shell does not know are filled in; it expands variables itself.
function toShellLine(server: StdioServer, { machine: { world }, workspace: { workdir } }: NodeToolbox): string {
  const fill = (word: string): string =>
    word
      .replaceAll('${workspaceFolder}', workdir)
      .replaceAll('${userHome}', world.home ?? '~')
      .replaceAll('${env:', '${');
  return describeServer({ ...server, command: fill(server.command), args: server.args.map(fill) });
}

function toOptions({ machine: { wieldHome, world } }: NodeToolbox): BrokerOptions {
  return { wieldHome, world, version: readVersion() };
}

export const restart: McpAction = {
  usage: 'restart NAME',
  example: 'wield mcp restart github',
  positionals: 1,
  async run(call, [named]) {
    const name = requireName(named, 'restart');
    const toolbox = call.toolbox();
    const { server } = findUsable(toolbox, name);
    const why = whyNotShared(server, toolbox.state.snapshot().settings.broker, toOptions(toolbox));
    if (why !== undefined) {
      throw new ToolError('unavailable', `no process of the server ${spellOut(name)} is shared: ${why}`, {
        hint: `its process ends with the session that started it; to list its tools again: wield mcp refresh ${spellOut(name)}`,
      });
    }
    await toolbox.state.upstreams.refresh(server, 'restart');
    const document = { server: toServerJson(findState(toolbox, name)) };
    return report(call, document, `${spellOut(name)} was restarted for all sessions\n`);
  },
};

export const stop: McpAction = {
  usage: 'stop',
  example: 'wield mcp stop',
  async run(call) {
    const options = toOptions(call.toolbox());
    const shared = await listShared(options);
    const brokers = await stopBrokers(options);
    // A broker that does not answer is ended without saying how many it had.
    const processes = shared?.length ?? null;
    const ended = `Ended the shared servers${processes === null ? '' : ` (${processes})`}`;
    const text = brokers === 0 ? 'No servers are shared now.\n' : `${ended}; the next call starts what it needs.\n`;
    return report(call, { stopped: { brokers, processes } }, text);
  },
};
