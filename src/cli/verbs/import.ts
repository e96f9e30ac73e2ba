// `wield add --import`: takes over the sources, items and links of mind, or permissions of other agents.

import { join, resolve } from 'node:path';
import { writeConfig } from '../../clients/config-file.js';
import { PERMISSION_CLIENTS } from '../../clients/permissions/files.js';
import { type PermissionPlan, planPermissions } from '../../clients/permissions/plan.js';
import { ToolError } from '../../core/error.js';
import { count, sanitize, shortenPath, spellOut } from '../../core/text.js';
import { agentHomes } from '../../install/environment.js';
import { loadInventory } from '../../install/inventory.js';
import { toAppliedJson } from '../../install/json.js';
import { importMind, type MindProposal } from '../../install/mind/import.js';
import { type MindState, readMindState } from '../../install/mind/state.js';
import { assertUnchanged, changeConfig, findClientEnvironment } from '../clients.js';
import { ASKS, confirm, RUN_HOOKS } from '../consent.js';
import { printApplied, showHooks, showPlan, withInstalling } from '../installing.js';
import { printJson, report } from '../print.js';
import { option, required, unknownChoice, usageError, type Verb, type VerbCall } from '../verb.js';
import { editHomes } from './config.js';

export const importSystem: Verb = {
  usage: 'add --import (mind [--from DIR] | permissions [CLIENT]) [--dry-run] [--yes]',
  summary:
    'Take over the sources, items and links of mind, or rules of Claude Code, Codex, Gemini CLI, Cursor and VS Code. Their own files are not changed.',
  examples: ['wield add --import mind --dry-run', 'wield add --import permissions claude-code'],
  flags: {
    from: option('DIR', 'The directory of mind; MIND_HOME or ~/.mind by default'),
    'run-hooks': RUN_HOOKS,
    ...ASKS,
  },
  positionals: 2,
  completes: ['mind', 'permissions'],
  async run(call) {
    const { flags, positionals, terminal, json, dryRun } = call;
    const [named, client] = positionals;
    const system = required(
      named,
      'system; usage: wield add --import (mind | permissions)',
      'wield add --import permissions takes over rules of other agents',
    );
    if (system === 'permissions') return importPermissions(call, client);
    if (system !== 'mind') throw unknownChoice('system', system, ['mind', 'permissions'], 'wield add --import');
    if (client !== undefined) throw usageError('too many arguments', 'usage: wield add --import mind');
    const state = readMindState(findMindHome(call));
    const what = `${count(state.sources.length, 'source')} and ${count(state.items.length, 'item')} of ${state.home}`;
    const { homes, files } = takeLobes(call, state);
    return withInstalling(call, async (given) => {
      const environment = {
        ...given,
        ...(homes.length > 0 ? { homes: agentHomes(homes, given.world) } : {}),
        ...(dryRun ? { approveHooks: async () => false } : {}),
      };
      const { sources, items, left, done } = await importMind(state, environment, {
        files,
        async agree(proposal) {
          if (!json && (dryRun || !flags.has('yes'))) showProposal(call, proposal, homes);
          for (const { what, why } of json ? [] : proposal.left)
            terminal.err(`  ${terminal.paint('yellow', 'left', 'err')}       ${sanitize(what)}: ${sanitize(why)}\n`);
          return !dryRun && confirm(call, `Take over ${what}?`, 'the installation');
        },
      });
      if (json) {
        const from = state.home;
        return printJson(terminal, { ok: true, dryRun, from, sources, items: items.map(toAppliedJson), left, homes });
      }
      if (!done) return 0;
      for (const id of sources) terminal.out(`  added      ${sanitize(id)}\n`);
      printApplied(terminal, items, loadInventory(environment));
      terminal.out(`  ${sanitize(state.home)} is unchanged; remove it once you do not need mind any more\n`);
      return 0;
    });
  },
};

function showProposal(
  { terminal }: VerbCall,
  { plan, sources, inventory }: MindProposal,
  homes: readonly string[],
): void {
  for (const id of sources) terminal.err(`  add      ${sanitize(id)}\n`);
  if (homes.length > 0) terminal.err(`  homes    ${sanitize(homes.join(', '))}\n`);
  showPlan(terminal, plan, inventory);
  showHooks(terminal, plan.hooks);
}

function findMindHome({ flags, env, cwd, toolbox }: VerbCall): string {
  const given = flags.get('from')?.toString();
  if (given !== undefined) return resolve(cwd, given);
  const { home } = toolbox().machine.world;
  if (env.MIND_HOME !== undefined) return resolve(env.MIND_HOME);
  if (home !== undefined) return join(home, '.mind');
  throw new ToolError('unavailable', 'no home directory', { hint: 'pass the directory of mind: --from DIR' });
}

// The lobes of mind become the agent homes, unless some are configured.
function takeLobes({ toolbox }: VerbCall, { lobes }: MindState) {
  const box = toolbox();
  const toHomes = (homes: readonly string[]): string => agentHomes(homes, { ...box.machine.world, env: {} }).join('\n');
  const isDefault = lobes.length === 0 || toHomes(lobes) === toHomes([]);
  if (isDefault || box.state.configuration().settings.homes.length > 0) return { homes: [], files: [] };
  const { file, after } = editHomes(box, lobes);
  return { homes: lobes, files: [{ path: file.real, before: file.text, after }] };
}

// Allows nothing that was denied or asked about. `client`: only this one.
async function importPermissions(call: VerbCall, client: string | undefined): Promise<number> {
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
  if (!call.json) showPermissions(call, plan, shorten);
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

function showPermissions(
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
