// `wield mcp accept`: accepts an installed server, or changes of the tools of a server since approval.

import { assertPerson } from '../../../core/caller.js';
import { ToolError } from '../../../core/error.js';
import type { JsonObject } from '../../../core/json.js';
import { count, didYouMean, quoteOutside, spellOut } from '../../../core/text.js';
import type { ServerEntry } from '../../../core/upstream.js';
import { hashTree } from '../../../files/tree.js';
import { writeFileAtomic } from '../../../files/write.js';
import { acceptServer } from '../../../install/apply/accept.js';
import { pathsOf } from '../../../install/environment.js';
import { fillEntry } from '../../../install/manifest/server-config.js';
import { digestServer, findInstalledServer } from '../../../install/servers.js';
import type { NodeToolbox } from '../../../node.js';
import { readServer } from '../../../upstream/entries/entry.js';
import { isChanged } from '../../../upstream/entries/installed-files.js';
import { ASKS, confirm, printDiff } from '../../consent.js';
import { withInstalling } from '../../installing.js';
import { report } from '../../print.js';
import { widthOf, wrap } from '../../terminal.js';
import { option, type VerbCall } from '../../verb.js';
import { askConfig } from './ask-config.js';
import { findState, type McpAction, requireName, type ServerState, someOf } from './server.js';

export const accept: McpAction = {
  usage: 'accept NAME [TOOL …] [--set KEY=VALUE …] [--dry-run] [--yes]',
  example: 'wield mcp accept github',
  flags: {
    set: option('KEY=VALUE', 'A value that an installed server needs'),
    ...ASKS,
  },
  positionals: Number.POSITIVE_INFINITY,
  async run(call, [given, ...named]) {
    const name = requireName(given, 'accept');
    const toolbox = call.toolbox();
    if (!call.dryRun) assertPerson(toolbox.machine.insideCall, 'accepting a changed tool');
    const state = findState(toolbox, name);
    const { installed } = state.server;
    const isOther = installed !== undefined && (!installed.accepted || installed.files.some(isChanged));
    if (isOther || (installed !== undefined && call.repeated('set').length > 0))
      return acceptInstalled(call, state.server);
    const changed = choose(toolbox, state, named);
    if (!call.json) show(call, changed);
    const question = changed.length === 1 ? 'Approve this change?' : 'Approve these changes?';
    const isAccepted = changed.length > 0 && !call.dryRun;
    if (isAccepted && !(await confirm(call, question, spellOut(name)))) return 0;
    if (isAccepted) await toolbox.state.upstreams.approve(changed.map(({ tool }) => tool));
    const tools = changed.map(({ tool, diff }) => ({ name: tool.name, diff }));
    const text =
      tools.length === 0
        ? `No tool of ${spellOut(name)} changed since approval.\n`
        : isAccepted
          ? `  approved  ${someOf(tools.map((tool) => tool.name))}\n`
          : '  nothing was approved\n';
    return report(call, { server: name, tools, accepted: isAccepted }, text);
  },
};

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
      throw new ToolError(
        'not_found',
        `the server ${spellOut(state.server.name)} has no tool "${quoteOutside(name, 60)}"`,
        { hint: didYouMean(name, state.tools.flatMap(namesOf), 'wield mcp list --json shows its tools') },
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

/** Returns the exit status. The acceptance is bound to the entry and to the files of its plugin (INS-62, INS-68). */
async function acceptInstalled(call: VerbCall, server: ServerEntry): Promise<number> {
  const { terminal, json } = call;
  const { machine } = call.toolbox();
  const { name } = server;
  const paths = pathsOf(machine.wieldHome);
  const record = findInstalledServer(name, paths);
  if (!json) terminal.out(`  ${terminal.paint('bold', spellOut(name))}   a server of ${spellOut(record.source)}\n`);
  const { config, secrets } = await askConfig(call, name, record, paths);
  const { template } = record;
  const entry = template === undefined ? record.entry : fillEntry(template, config, machine.world.platform);
  const files = record.files.map(({ path }) => ({ path, hash: hashTree(path) }));
  const changed = files.filter(({ hash }, at) => hash !== record.files[at]!.hash);
  const facts = [
    ...factsOf(readEntry(server, entry)),
    ...changed.map(({ path }): [string, string] => ['changed', `files in ${path}`]),
  ];
  if (!json) for (const [label, text] of facts) terminal.out(`  ${label.padEnd(8)} ${spellOut(text)}\n`);
  const isAccepted = !call.dryRun;
  if (isAccepted) {
    if (!(await confirm(call, 'Start it when its tools are needed?', spellOut(name)))) return 0;
    const digest = digestServer(entry, files);
    await withInstalling(call, (environment) => {
      for (const { path, value } of secrets) writeFileAtomic(path, value, { mode: 0o600 });
      return acceptServer(name, { digest, config }, environment);
    });
  }
  const runs = facts.map(([label, text]) => ({ label, text }));
  const text = isAccepted ? `  accepted  ${spellOut(name)}\n` : '  nothing was accepted\n';
  return report(call, { server: name, runs, accepted: isAccepted }, text);
}

// Throws `usage` for values with which the entry is not valid.
function readEntry({ name, owner, position }: ServerEntry, value: JsonObject): ServerEntry {
  const { entry, findings } = readServer(name, value, { owner, position });
  const wrong = findings.find(({ severity }) => severity === 'error');
  if (entry !== undefined) return entry;
  throw new ToolError('usage', `${spellOut(wrong!.keyPath.join('.'))}: ${wrong!.message}`, { hint: wrong!.hint });
}

// In full: only what was shown can be accepted. References are shown as written.
function factsOf(server: ServerEntry): [string, string][] {
  const pairs = (label: string, texts: Readonly<Record<string, string>>): [string, string][] =>
    Object.entries(texts).map(([key, value]) => [label, `${key}=${value}`]);
  if (server.kind === 'http') return [['url', server.url], ...pairs('header', server.headers)];
  const words = [server.command, ...server.args].map((word) =>
    /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word),
  );
  return [['command', words.join(' ')], ['cwd', server.cwd ?? 'the workdir'], ...pairs('env', server.env)];
}
