// Accepts an installed server: shows everything that it would run or send, and asks.

import { ToolError } from '../../../core/error.js';
import { spellOut } from '../../../core/text.js';
import type { ServerEntry } from '../../../core/upstream.js';
import { acceptServer } from '../../../install/servers.js';
import { confirmDestructive } from '../../consent.js';
import { withInstalling } from '../../installing.js';
import { printJson } from '../../print.js';
import type { VerbCall } from '../../verb.js';

/** Returns the exit status. The acceptance is bound to the entry and to the files of its plugin (INS-62). */
export async function acceptInstalled(call: VerbCall, server: ServerEntry, dry: boolean): Promise<number> {
  const { terminal, json } = call;
  const { name, installed } = server;
  const facts = factsOf(server);
  if (!json) {
    terminal.out(`  ${terminal.paint('bold', spellOut(name))}   a server of ${spellOut(installed!.source)}\n`);
    for (const [label, text] of facts) terminal.out(`  ${label.padEnd(8)} ${spellOut(text)}\n`);
  }
  const refusal = new ToolError('needs_approval', 'not accepted: needs confirmation, and this is not a terminal', {
    hint: 'review it with --dry-run, then pass --yes',
  });
  const isAccepted = !dry && (await confirmDestructive(call, 'Start it when its tools are needed?', refusal));
  if (isAccepted) await withInstalling(call, async ({ paths }) => acceptServer(name, installed!.digest, paths));
  if (json)
    printJson(terminal, {
      ok: true,
      server: name,
      runs: facts.map(([label, text]) => ({ label, text })),
      accepted: isAccepted,
    });
  else terminal.out(isAccepted ? `  accepted  ${spellOut(name)}\n` : '  nothing was accepted\n');
  return 0;
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
