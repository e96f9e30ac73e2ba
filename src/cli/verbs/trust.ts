// `wield trust`: grants, lists and revokes trust in workspaces.

import { resolve } from 'node:path';
import { assertPerson } from '../../core/caller.js';
import { count, spellOut } from '../../core/text.js';
import { lineDiff } from '../../files/diff.js';
import { describeWorkspace } from '../../policy/trust.js';
import { assertUnchanged } from '../clients.js';
import { ASKS, confirm, printDiff, toShownDiff } from '../consent.js';
import { printJson, report } from '../print.js';
import { findRunnable, printRunnable, type Runnable } from '../runnable.js';
import { reportTable } from '../table.js';
import { toggle, type Verb, type VerbCall } from '../verb.js';

export const trust: Verb = {
  usage: 'trust [DIR] [--list | --revoke] [--dry-run] [--yes]',
  summary: 'Trust a workspace, so that models can call its tools. Your own calls need no trust.',
  examples: ['wield trust', 'wield trust --dry-run', 'wield trust --yes', 'wield trust --list', 'wield trust --revoke'],
  flags: {
    ...ASKS,
    list: toggle('List the trusted workspaces'),
    revoke: toggle('Revoke trust'),
  },
  positionals: 1,
  completes: 'files',
  async run(call) {
    if (call.flags.has('list')) return listTrusted(call);
    const [named] = call.positionals;
    const toolbox = call.toolbox(named === undefined ? {} : { workdir: resolve(call.cwd, named) });
    if (call.flags.has('revoke')) return revoke(call, toolbox.workspace.workdir);
    if (!call.dryRun) assertPerson(toolbox.machine.insideCall, 'trusting');
    return grant(call, toolbox.workspace.workdir);
  },
};

async function listTrusted(call: VerbCall): Promise<number> {
  const trustStore = call.toolbox().state.trust;
  const workspaces = trustStore.list().map(({ directory, since }) => ({
    directory,
    since,
    changed: trustStore.changes(directory).map((change) => change.file),
  }));
  const rows = workspaces.map(({ directory, since, changed }) => [
    spellOut(directory),
    since.slice(0, 10),
    changed.length === 0 ? '' : `suspended: ${changed.join(', ')} changed`,
  ]);
  return reportTable(
    call,
    { workspaces },
    { head: ['WORKSPACE', 'SINCE', ''], rows, none: 'No workspace is trusted.' },
  );
}

// Shows what will be runnable before it asks or writes anything (POL-33).
async function grant(call: VerbCall, workdir: string): Promise<number> {
  const { terminal, json, toolbox: open, dryRun } = call;
  const toolbox = open();
  const trustStore = toolbox.state.trust;
  const at = new Date(terminal.io.now());
  const shown = describeWorkspace(workdir, at);
  const changes = trustStore
    .changes(workdir)
    .map(({ file, before, after }) => ({ file, diff: toShownDiff(lineDiff(before, after)) }));
  const found = await findRunnable(toolbox);
  if (!json) {
    for (const { file, diff } of changes) {
      terminal.out(`  ${terminal.paint('bold', spellOut(file))} changed since you trusted it\n`);
      printDiff(terminal, diff);
    }
    printRunnable(terminal, found);
  }
  if (!dryRun && !trustStore.isTrusted(workdir)) {
    if (!(await confirm(call, `Trust ${workdir}?`, workdir))) return 0;
    assertUnchanged(shown, describeWorkspace(workdir, at), workdir);
    await trustStore.trust(workdir, at);
  }
  if (json) {
    const { tools, ...rest } = found;
    const names = tools.map(({ name }) => name);
    const trusted = dryRun ? trustStore.isTrusted(workdir) : true;
    return printJson(terminal, { ok: true, directory: workdir, trusted, changes, tools: names, files: tools, ...rest });
  }
  if (dryRun) terminal.out(`  Models could call its ${describe(found)}. wield trust does it.\n`);
  else {
    terminal.out(`  trusted  ${spellOut(workdir)}\n`);
    terminal.out(`  Models can now call its ${describe(found)}. wield trust --revoke undoes it.\n`);
  }
  return 0;
}

function describe({ tools, servers }: Runnable): string {
  const counted = count(tools.length, 'tool');
  return servers.length === 0 ? counted : `${counted} and ${count(servers.length, 'server')}`;
}

// Narrows, so it does not ask (CLI-31).
async function revoke(call: VerbCall, workdir: string): Promise<number> {
  const trustStore = call.toolbox().state.trust;
  const isRecorded = trustStore.isRecorded(workdir);
  const revoked = call.dryRun ? false : await trustStore.revoke(workdir);
  const shown = spellOut(workdir);
  const done = revoked ? `  revoked  ${shown}\n` : `  ${shown} was not trusted\n`;
  const text = call.dryRun && isRecorded ? `  would revoke  ${shown}\n` : done;
  return report(call, { directory: workdir, trusted: call.dryRun && isRecorded, revoked }, text);
}
