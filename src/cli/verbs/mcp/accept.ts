// `wield mcp accept`: accepts an installed server, or changes of the tools of a server since approval.

import { assertPerson } from '../../../core/caller.js';
import { isToolError, ToolError } from '../../../core/error.js';
import type { JsonObject } from '../../../core/json.js';
import { count, didYouMean, quoteOutside, spellOut } from '../../../core/text.js';
import type { ServerEntry } from '../../../core/upstream.js';
import { hashTree } from '../../../files/tree.js';
import { writeFileAtomic } from '../../../files/write.js';
import { acceptServer } from '../../../install/apply/accept.js';
import { type InstallPaths, pathsOf } from '../../../install/environment.js';
import {
  type ConfigOption,
  checkValue,
  fillEntry,
  isReference,
  missingOf,
} from '../../../install/manifest/server-config.js';
import { digestServer, findInstalledServer, type InstalledServer, secretPath } from '../../../install/servers.js';
import type { NodeToolbox } from '../../../node.js';
import { readServer } from '../../../upstream/entries/entry.js';
import { isChanged } from '../../../upstream/entries/installed-files.js';
import { ASKS, confirm, printDiff } from '../../consent.js';
import { withInstalling } from '../../installing.js';
import { report } from '../../print.js';
import { readHidden, readLine, widthOf, wrap } from '../../terminal.js';
import { option, usageError, type VerbCall } from '../../verb.js';
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

/** Throws `usage` for a value that does not fit, and for one that is missing where nobody can be asked (INS-69). */
async function askConfig(
  call: VerbCall,
  server: string,
  { template, config: earlier = {} }: InstalledServer,
  paths: InstallPaths,
) {
  const given = readPairs(call.repeated('set'));
  const options = template?.options ?? {};
  const odd = Object.keys(given).find((key) => !Object.hasOwn(options, key));
  const known = Object.keys(options).join(', ');
  const hint = known === '' ? 'it needs no configuration' : `its options: ${known}`;
  if (odd !== undefined) throw usageError(`${spellOut(server)} has no option "${quoteOutside(odd, 60)}"`, hint);
  const config: Record<string, readonly string[]> = { ...earlier };
  const secrets: { path: string; value: string }[] = [];
  const set = (key: string, texts: readonly string[]): void => {
    const option = options[key]!;
    if (texts.length > 1 && !option.multiple) throw usageError(`${key} takes one value`, `pass --set ${key}= once`);
    config[key] = texts.map((text, at) => {
      if (option.sensitive && isReference(text)) return text.startsWith('file:') ? `\${${text}}` : text;
      const checked = checkValue(key, option, text, { cwd: call.cwd, home: call.toolbox().machine.world.home });
      if (!option.sensitive) return checked;
      const path = secretPath(server, key, at, paths);
      secrets.push({ path, value: text });
      return `\${file:${path}}`;
    });
  };
  for (const [key, texts] of Object.entries(given)) set(key, texts);
  if (call.terminal.canAsk && !call.json)
    for (const [key, option] of Object.entries(options))
      if (!Object.hasOwn(config, key) && option.default === null) await ask(call, key, option, set);
  const missing = template === undefined ? [] : missingOf(template, config);
  if (missing.length > 0)
    throw new ToolError('usage', `${spellOut(server)} needs ${count(missing.length, 'value')}: ${missing.join(', ')}`, {
      hint: `pass ${missing.map((key) => `--set ${key}=VALUE`).join(' ')}; a secret may be \${VAR} or file:~/path`,
      data: { missing },
    });
  return { config, secrets };
}

function readPairs(pairs: readonly string[]): Record<string, readonly string[]> {
  const given: Record<string, string[]> = Object.create(null);
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    // Not repeated in the message: it may be a secret.
    if (at < 1) throw usageError('--set must be KEY=VALUE', 'write --set KEY=VALUE');
    given[pair.slice(0, at)] = [...(given[pair.slice(0, at)] ?? []), pair.slice(at + 1)];
  }
  return given;
}

// Asks until the answer fits; an empty one skips an option that is not required.
async function ask(
  { terminal, signal }: VerbCall,
  key: string,
  option: ConfigOption,
  set: (key: string, texts: readonly string[]) => void,
): Promise<void> {
  const { title, description, required, multiple, sensitive } = option;
  terminal.err(`  ${spellOut(title)}${description === '' ? '' : `: ${spellOut(description)}`}\n`);
  for (;;) {
    const notes = [...(required ? [] : ['optional']), ...(multiple ? ['separate several with commas'] : [])];
    const prompt = `  ${spellOut(key)}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}: `;
    if (!sensitive) terminal.err(prompt);
    const line = await (sensitive ? readHidden(terminal, prompt, signal) : readLine(terminal, signal, 64 * 1024));
    const text = line.replace(/\r?\n[\s\S]*$/, '').trim();
    if (text === '' && (!required || !line.includes('\n'))) return;
    try {
      set(key, multiple ? text.split(',').map((one) => one.trim()) : [text]);
      return;
    } catch (error) {
      if (!isToolError(error)) throw error;
      terminal.err(`  ${terminal.paint('yellow', 'no:', 'err')} ${error.message}\n`);
    }
  }
}
