// `wield mcp accept`: accepts an installed server, or changes of the tools of a server since approval.

import { assertPerson } from '../../../core/caller.js';
import { ToolError } from '../../../core/error.js';
import { count, nearest, quoteOutside, spellOut } from '../../../core/text.js';
import type { NodeToolbox } from '../../../node.js';
import { isChanged } from '../../../upstream/entries/installed-files.js';
import { confirmDestructive, DRY_RUN, printDiff, YES } from '../../consent.js';
import { printJson } from '../../print.js';
import { widthOf, wrap } from '../../terminal.js';
import { option, usageError, type VerbCall } from '../../verb.js';
import { acceptInstalled } from './accept-server.js';
import { findState, type McpAction, type ServerState, someOf } from './server.js';

export const accept: McpAction = {
  usage: 'accept NAME [TOOL …] [--set KEY=VALUE …] [--dry-run | --yes]',
  example: 'wield mcp accept github',
  flags: {
    set: option('KEY=VALUE', 'A value that an installed server needs', { repeats: true }),
    'dry-run': DRY_RUN,
    yes: YES,
  },
  positionals: Number.POSITIVE_INFINITY,
  async run(call, [name, ...named]) {
    if (name === undefined)
      throw usageError('missing server name; usage: wield mcp accept NAME', 'wield mcp shows the servers');
    const toolbox = call.toolbox();
    const dry = call.flags.has('dry-run');
    if (!dry) assertPerson(toolbox.machine.insideCall, 'accepting a changed tool');
    const state = findState(toolbox, name);
    const { installed } = state.server;
    const isOther = installed !== undefined && (!installed.accepted || installed.files.some(isChanged));
    if (isOther || (installed !== undefined && call.repeated('set').length > 0))
      return acceptInstalled(call, state.server, dry);
    const changed = choose(toolbox, state, named);
    if (!call.json) show(call, changed);
    const question = changed.length === 1 ? 'Approve this change?' : 'Approve these changes?';
    const isAccepted = changed.length > 0 && !dry && (await mayApprove(call, question));
    if (isAccepted) await toolbox.state.upstreams.approve(changed.map(({ tool }) => tool));
    if (call.json) {
      printJson(call.terminal, {
        ok: true,
        server: name,
        tools: changed.map(({ tool, diff }) => ({ name: tool.name, diff })),
        accepted: isAccepted,
      });
    } else if (changed.length === 0) call.terminal.out(`No tool of ${spellOut(name)} changed since approval.\n`);
    else if (isAccepted) call.terminal.out(`  approved  ${someOf(changed.map(({ tool }) => tool.name))}\n`);
    else call.terminal.out('  nothing was approved\n');
    return 0;
  },
};

function mayApprove(call: VerbCall, question: string): Promise<boolean> {
  const refusal = new ToolError(
    'needs_approval',
    'nothing was approved: needs confirmation, and this is not a terminal',
    {
      hint: 'review the change with --dry-run, then pass --yes',
    },
  );
  return confirmDestructive(call, question, refusal);
}

type Changed = ReturnType<NodeToolbox['state']['upstreams']['changes']>;

type NamedTool = Changed[number]['tool'];

const namesOf = ({ name, action }: NamedTool): string[] => (action.kind === 'remote' ? [name, action.tool] : [name]);

// Tools can be named as on the server or as in wield.
function choose({ state: { upstreams } }: NodeToolbox, state: ServerState, named: readonly string[]): Changed {
  const all = upstreams.changes(state);
  if (named.length === 0) return all;
  return [...new Set(named)].flatMap((name) => {
    const isNamed = (tool: NamedTool): boolean => namesOf(tool).includes(name);
    if (!state.tools.some(isNamed)) {
      const [close] = nearest(name, state.tools.flatMap(namesOf));
      throw new ToolError(
        'not_found',
        `the server ${spellOut(state.server.name)} has no tool "${quoteOutside(name, 60)}"`,
        { hint: close === undefined ? 'wield mcp list --json shows its tools' : `did you mean ${close}?` },
      );
    }
    return all.filter(({ tool }) => isNamed(tool));
  });
}

// Shows changes in full: only what was shown can be approved.
function show({ terminal }: VerbCall, changed: Changed): void {
  const width = widthOf(terminal) - 6;
  for (const { tool, diff } of changed) {
    terminal.out(`  ${terminal.paint('bold', tool.name)}   changed since approval\n`);
    printDiff(
      terminal,
      diff.flatMap((line) =>
        wrap(spellOut(line), width).map((piece, at) => (at === 0 ? piece : `${line[0]} ${piece}`)),
      ),
    );
  }
  if (changed.length > 1) terminal.out(`  ${count(changed.length, 'tool')} changed\n`);
}
