// Accepts an installed server: asks for what it needs, shows everything that it would run or send, and asks.

import { ToolError } from '../../../core/error.js';
import type { JsonObject } from '../../../core/json.js';
import { spellOut } from '../../../core/text.js';
import type { ServerEntry } from '../../../core/upstream.js';
import { hashTree } from '../../../files/tree.js';
import { writeFileAtomic } from '../../../files/write.js';
import { acceptServer } from '../../../install/apply/accept.js';
import { pathsOf } from '../../../install/environment.js';
import { fillEntry } from '../../../install/manifest/server-config.js';
import { digestServer, findInstalledServer } from '../../../install/servers.js';
import { readServer } from '../../../upstream/entries/entry.js';
import { confirmDestructive } from '../../consent.js';
import { withInstalling } from '../../installing.js';
import { printJson } from '../../print.js';
import type { VerbCall } from '../../verb.js';
import { askConfig } from './ask-config.js';

/** Returns the exit status. The acceptance is bound to the entry and to the files of its plugin (INS-62, INS-68). */
export async function acceptInstalled(call: VerbCall, server: ServerEntry, dry: boolean): Promise<number> {
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
  const refusal = new ToolError('needs_approval', 'not accepted: needs confirmation, and this is not a terminal', {
    hint: 'review it with --dry-run, then pass --yes',
  });
  const isAccepted = !dry && (await confirmDestructive(call, 'Start it when its tools are needed?', refusal));
  if (isAccepted) {
    const digest = digestServer(entry, files);
    await withInstalling(call, (environment) => {
      for (const { path, value } of secrets) writeFileAtomic(path, value, { mode: 0o600 });
      return acceptServer(name, { digest, config }, environment);
    });
  }
  const runs = facts.map(([label, text]) => ({ label, text }));
  if (json) printJson(terminal, { ok: true, server: name, runs, accepted: isAccepted });
  else terminal.out(isAccepted ? `  accepted  ${spellOut(name)}\n` : '  nothing was accepted\n');
  return 0;
}

// Throws `usage` for values with which the entry is not valid.
function readEntry({ name, owner, place }: ServerEntry, value: JsonObject): ServerEntry {
  const { entry, findings } = readServer(name, value, { owner, place });
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
