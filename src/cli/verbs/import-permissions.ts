// `wield add --import permissions`: takes over rules of other agents, and allows nothing that was denied or asked about.

import { join } from 'node:path';
import { writeConfig } from '../../clients/config-file.js';
import { PERMISSION_CLIENTS } from '../../clients/permissions/files.js';
import { type PermissionPlan, planPermissions } from '../../clients/permissions/plan.js';
import { count, shortenPath, spellOut } from '../../core/text.js';
import { assertUnchanged, changeConfig, findClientEnvironment } from '../clients.js';
import { confirm } from '../consent.js';
import { report } from '../print.js';
import { unknownChoice, type VerbCall } from '../verb.js';

/** `client`: only this one. */
export async function importPermissions(call: VerbCall, client: string | undefined): Promise<number> {
  if (client !== undefined && !PERMISSION_CLIENTS.includes(client))
    throw unknownChoice('client', client, PERMISSION_CLIENTS, 'wield add --import permissions');
  const toolbox = call.toolbox();
  const environment = findClientEnvironment(toolbox);
  const { workdir, home } = environment;
  const shorten = (path: string): string => spellOut(shortenPath(path, workdir, home));
  const tools = (await toolbox.list()).flatMap(({ name, action, origin }) =>
    action.kind === 'remote' && origin.configuredBy !== 'workspace'
      ? [{ server: action.server, tool: action.tool, name }]
      : [],
  );
  const toPlan = (): PermissionPlan =>
    planPermissions({
      clients: client === undefined ? PERMISSION_CLIENTS : [client],
      environment,
      tools,
      files: { user: join(toolbox.machine.wieldHome, 'config.toml'), project: join(workdir, '.agents', 'config.toml') },
      shorten,
    });
  const plan = toPlan();
  if (!call.json) show(call, plan, shorten);
  const isWritten = plan.changes.length > 0 && !call.dryRun;
  const files = plan.changes.map(({ file }) => shorten(file.path)).join(' and ');
  if (isWritten) {
    if (!(await confirm(call, `Write ${count(plan.rules.length, 'rule')} to ${files}?`, files))) return 0;
    for (const { scope, file, after } of plan.changes) {
      await changeConfig(call, file.path, () => {
        const now = toPlan().changes.find((change) => change.scope === scope);
        assertUnchanged(after, now?.after, shorten(file.path));
        writeConfig(file, after, scope === 'user');
      });
    }
  }
  const { rules, left } = plan;
  const document = { dryRun: call.dryRun, read: plan.read.map(({ path }) => path), rules, left, written: isWritten };
  return report(call, document, isWritten ? `  wrote  ${files}\n` : '  nothing was changed\n');
}

function show(
  { terminal }: VerbCall,
  { read, rules, left, changes }: PermissionPlan,
  shorten: (path: string) => string,
): void {
  for (const { path } of read) terminal.out(`  reads   ${shorten(path)}\n`);
  for (const { file } of changes) terminal.out(`  writes  ${shorten(file.path)}\n`);
  if (read.length === 0) terminal.out('  no settings of other agents found\n');
  for (const { selector, path, written } of rules)
    terminal.out(`  ${terminal.paint('bold', selector)}  ${shorten(path)}, ${spellOut(written)}\n`);
  for (const { policy, path, written, reason } of left)
    terminal.out(
      `  ${terminal.paint('yellow', 'not imported')}  ${policy}  ${shorten(path)}, ${spellOut(written)}: ${reason}\n`,
    );
}
