// `wield mcp refresh`: starts servers now and asks them for their tools again, whatever happened before.

import { ToolError, toToolError } from '../../../core/error.js';
import { count, spellOut } from '../../../core/text.js';
import type { ServerEntry } from '../../../core/upstream.js';
import type { NodeToolbox } from '../../../node.js';
import { describeServer } from '../../../upstream/entries/mask.js';
import { printJson } from '../../print.js';
import { showWait } from '../../status-line.js';
import type { VerbCall } from '../../verb.js';
import type { McpAction } from './action.js';
import { toServerJson } from './list.js';
import { findState, findUsable, someOf } from './server.js';

// Each may be a program of a hundred megabytes.
const AT_ONCE = 4;

export const refresh: McpAction = {
  usage: 'refresh [NAME …]',
  example: 'wield mcp refresh github',
  flags: {},
  positionals: Number.POSITIVE_INFINITY,
  async run(call, names) {
    const toolbox = call.toolbox();
    const servers = chooseServers(toolbox, names);
    const outcomes = await askAll(call, toolbox, servers);
    const failures = outcomes.flatMap(({ server, error }) =>
      error === undefined ? [] : [{ server, error }],
    );
    // Whoever asked for one gets its error as that of the command.
    if (names.length === 1 && failures.length === 1) throw toOwnError(failures[0]!);
    if (call.json) {
      printJson(call.terminal, {
        ok: failures.length === 0,
        servers: outcomes.map(({ server, error }) => ({
          ...toServerJson(findState(toolbox, server.name)),
          refreshed: error === undefined,
          ...(error === undefined ? {} : { error: error.toJSON() }),
        })),
      });
    } else if (servers.length === 0)
      call.terminal.out('There is no server to ask. wield mcp shows them all.\n');
    return failures.length === 0 ? 0 : 1;
  },
};

interface Outcome {
  readonly server: ServerEntry;
  readonly error?: ToolError;
}

// Those of a workspace that is not trusted are started for nobody; one that is named says so.
function chooseServers(toolbox: NodeToolbox, names: readonly string[]): ServerEntry[] {
  if (names.length > 0) return [...new Set(names)].map((name) => findUsable(toolbox, name).server);
  return toolbox.state.upstreams
    .states()
    .filter(
      ({ server, state }) => state !== 'off' && (server.owner !== 'workspace' || toolbox.workspace.trusted),
    )
    .map(({ server }) => server);
}

async function askAll(
  call: VerbCall,
  toolbox: NodeToolbox,
  servers: readonly ServerEntry[],
): Promise<Outcome[]> {
  const outcomes = new Map<ServerEntry, Outcome>();
  const waiting = new Set<string>();
  const left = [...servers];
  const askNext = async (): Promise<void> => {
    for (let server = left.shift(); server !== undefined; server = left.shift()) {
      if (call.signal.aborted) return;
      waiting.add(server.name);
      showWait(call.terminal, [...waiting]);
      const error = await toolbox.state.upstreams.refresh(server).then(() => undefined, toToolError);
      waiting.delete(server.name);
      outcomes.set(server, { server, ...(error === undefined ? {} : { error }) });
      showWait(call.terminal, []);
      if (!call.json)
        print(call, toolbox, { server, ...(error === undefined ? {} : { error }) }, servers.length);
      showWait(call.terminal, [...waiting]);
    }
  };
  const onAbort = (): void => void toolbox.close();
  call.signal.addEventListener('abort', onAbort, { once: true });
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, servers.length) }, askNext));
  call.signal.removeEventListener('abort', onAbort);
  return servers.flatMap((server) => outcomes.get(server) ?? []);
}

function print({ terminal }: VerbCall, toolbox: NodeToolbox, { server, error }: Outcome, of: number): void {
  const name = spellOut(server.name);
  if (error === undefined) {
    const { tools, changed } = findState(toolbox, server.name);
    terminal.out(`  ${terminal.paint('green', 'ready ')}   ${name}   ${count(tools.length, 'tool')}\n`);
    if (changed.length > 0)
      terminal.out(
        `  ${terminal.paint('yellow', 'changed')}  ${someOf(changed)}: wield mcp accept ${name} shows how, and asks\n`,
      );
    return;
  }
  const { message, hint, data } = toOwnError({ server, error });
  terminal.err(`  ${terminal.paint('red', 'failed', 'err')}   ${name}\n`);
  // The error of the only one is that of the command.
  if (of > 1) terminal.err(`           ${spellOut(message)}\n           ${spellOut(hint ?? '')}\n`);
  const lines = data?.lastLines;
  for (const line of Array.isArray(lines) ? lines : [])
    terminal.err(`           ${terminal.paint('dim', `| ${spellOut(String(line))}`, 'err')}\n`);
}

// The last lines are printed separately, and the hint to refresh would lead back here.
function toOwnError({ server, error }: Required<Outcome>): ToolError {
  const { summary, kind } = error.data ?? {};
  return new ToolError(error.code, typeof summary === 'string' ? summary : error.message, {
    hint:
      kind === 'start-failed' ? `run it by hand to see more: ${describeServer(server)}` : (error.hint ?? ''),
    data: error.data,
    cause: error,
  });
}
