// `wield connect`: adds wield to the configuration of an MCP client, or removes it.

import { dirname } from 'node:path';
import type { Client, ClientEnvironment, ClientFile, Scope } from '../../clients/client.js';
import { STARTS_IN_PROJECT } from '../../clients/client.js';
import { readConfig, toPlain } from '../../clients/config-file.js';
import { applyPlan, diffOf, findFile, isOwnEntry, planConnect, planUndo } from '../../clients/connect.js';
import { valueAt } from '../../clients/forms/form.js';
import { createRecordStore } from '../../clients/records.js';
import { CLIENTS, findClient } from '../../clients/table.js';
import { assertPerson } from '../../core/caller.js';
import { orNothing, ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { shortenPath, spellOut } from '../../core/text.js';
import { statOrNothing } from '../../files/read.js';
import type { NodeToolbox } from '../../node.js';
import {
  assertUnchanged,
  changeConfig,
  checkServerName,
  findClientEnvironment,
  readScope,
  SCOPES,
} from '../clients.js';
import { ASKS, confirm, printDiff, toShownDiff } from '../consent.js';
import { findOwnCommand, OWN_NAME } from '../own-command.js';
import { printJson, report, shortPath } from '../print.js';
import { MODE, openProfile, PROFILE, warnOfProfile } from '../profile.js';
import { printTable } from '../table.js';
import { option, toggle, usageError, type Verb, type VerbCall } from '../verb.js';

export const connect: Verb = {
  usage:
    'connect [CLIENT] [--scope project|user] [--name NAME] [--profile NAME] [--mode MODE] [--print | --undo] [--dry-run] [--yes]',
  summary: 'Add wield to the configuration of a client such as Claude Code or Cursor. Shows the change first.',
  examples: [
    'wield connect',
    'wield connect claude-code',
    'wield connect cursor --scope user',
    'wield connect claude-code --profile review',
    'wield connect codex --undo',
  ],
  flags: {
    scope: option('SCOPE', 'project: the file of this directory; user: your own file, for all directories', {
      choices: SCOPES,
    }),
    name: option('NAME', 'The name of the server in the client; wield by default'),
    profile: PROFILE,
    mode: MODE,
    print: toggle('Print the entry without writing it'),
    undo: toggle('Remove the entry, or restore the one it replaced'),
    ...ASKS,
  },
  positionals: 1,
  completes: CLIENTS.map((client) => client.id),
  async run(call) {
    const [id] = call.positionals;
    const toolbox = openProfile(call);
    const environment = findClientEnvironment(toolbox);
    if (id === undefined) return listClients(call, environment);
    const client = findClient(id, 'wield connect');
    await warnOfProfile(call, toolbox);
    const name = checkServerName(String(call.flags.get('name') ?? 'wield'));
    const file = findScoped(client, environment, call, name);
    const server = findServer(call, client, file, name, environment);
    if (call.flags.has('print')) return print(call, client, file, server);
    if (!call.dryRun) assertPerson(toolbox.machine.insideCall, 'connecting a client');
    return carryOut(call, client, file, server, environment);
  },
};

async function carryOut(
  call: VerbCall,
  client: Client,
  place: ClientFile,
  server: Server,
  environment: ClientEnvironment,
): Promise<number> {
  const { terminal, json, dryRun } = call;
  const { name } = server;
  const toolbox = call.toolbox();
  const store = createRecordStore(toolbox.machine.wieldHome);
  const undo = call.flags.has('undo');
  const toPlan = () => (undo ? planUndo(client, place, name, store) : planConnect(client, place, server, store));
  const plan = toPlan();
  const { file, scope, changed } = plan;
  const shown = spellOut(shortPath(file.path, toolbox));
  const diff = changed ? toShownDiff(diffOf(plan)) : [];
  const block = undo ? undefined : client.findBlock?.(name, environment, toPlain(file.document));
  const blocked = block === undefined ? {} : { blocked: block };
  const next = undo ? {} : { next: client.next[scope] };
  const document = { client: client.id, scope, file: file.path, name, changed, diff, ...next, ...blocked };
  if (!json && changed) {
    terminal.out(`  ${terminal.paint('bold', client.name)}   ${shown} (${scope})\n`);
    printDiff(terminal, diff);
  }
  const write = changed && !dryRun;
  if (write) {
    if (plan.altered) assertAsked(call, shown, name);
    const question = undo ? 'Undo the change?' : plan.replaces ? 'Replace the existing entry?' : 'Write this change?';
    if (!(await confirm(call, question, shown))) return 0;
    await changeConfig(call, file.path, async () => {
      const now = toPlan();
      if (now.changed) assertUnchanged(plan.current, now.current, shown);
      if (now.changed) await applyPlan(now, store);
    });
  }
  if (json) return printJson(terminal, { ok: true, ...document, written: write });
  if (!changed) {
    terminal.out(
      undo
        ? `  ${client.name} is not connected: no "${name}" in ${shown}\n`
        : `  ${client.name} is already connected as "${name}" in ${shown}\n  next       ${client.next[scope]}\n`,
    );
  } else if (!write) terminal.out('  nothing was written\n');
  else if (undo) terminal.out(`  disconnected  Restart ${client.name}, or reload its servers.\n`);
  else printConnected(call, client, scope, server, toolbox);
  if (block !== undefined) terminal.out(`  disabled   ${client.name} does not start it yet: ${block}\n`);
  return 0;
}

function printConnected(
  { terminal }: VerbCall,
  client: Client,
  scope: Scope,
  { name, command, temporary }: Server,
  { state: { trust: trustStore }, workspace: { workdir } }: NodeToolbox,
): void {
  const flags = `${scope === 'user' ? ' --scope user' : ''}${name === 'wield' ? '' : ` --name ${name}`}`;
  terminal.out(`  connected  ${client.name}, as "${name}"\n`);
  terminal.out(`  next       ${client.next[scope]}\n`);
  terminal.out(`  undo       wield connect ${client.id}${flags} --undo\n`);
  if (!trustStore.isTrusted(workdir))
    terminal.out('  trust      run wield trust to let models call the tools of this workspace\n');
  if (scope === 'project' && command !== OWN_NAME)
    terminal.out('  share      the entry has paths of this machine; put wield on your PATH, then connect again\n');
  if (temporary)
    terminal.out("  install    wield runs from npm's cache, which can be cleared; install it, then connect again\n");
}

// Overwriting an entry that a person changed needs an answer at a terminal; --yes is not enough.
function assertAsked({ json, terminal, flags }: VerbCall, file: string, name: string): void {
  if (!flags.has('yes') && !json && terminal.canAsk) return;
  throw new ToolError('conflict', `"${name}" in ${file} was changed since wield wrote it`, {
    hint: 'run the command without --yes in a terminal, or edit the file',
  });
}

function findScoped(client: Client, environment: ClientEnvironment, call: VerbCall, name: string): ClientFile {
  const scope = readScope(call);
  const { workdir, home } = environment;
  const isUndo = call.flags.has('undo');
  const order: Scope[] = scope !== undefined ? [scope] : workdir === home ? ['user', 'project'] : ['project', 'user'];
  const files = order.flatMap((one) => findFile(client, one, environment) ?? []);
  const written = isUndo ? files.find((one) => hasEntry(client, one, name)) : undefined;
  if (written !== undefined) return written;
  if (client.projectDirectory === undefined && !(isUndo && scope !== undefined)) {
    const user = scope === 'project' ? undefined : findFile(client, 'user', environment);
    if (user !== undefined) return user;
    throw usageError(
      `a project file of ${client.name} cannot refer to the project directory, so it could not be shared`,
      `use your own file: wield connect ${client.id} --scope user`,
    );
  }
  const [file] = files;
  if (file !== undefined) return file;
  throw usageError(
    `${client.name} has no ${scope} configuration`,
    `omit --scope, or use --scope ${scope === 'user' ? 'project' : 'user'}`,
  );
}

type Server = ReturnType<typeof findServer>;

function findServer(
  { terminal, flags }: VerbCall,
  client: Client,
  { scope }: ClientFile,
  name: string,
  { workdir }: ClientEnvironment,
) {
  const own = findOwnCommand(terminal.io, scope === 'project');
  const directory = scope === 'project' ? (client.projectDirectory ?? workdir) : workdir;
  const place = directory === STARTS_IN_PROJECT ? [] : ['--cwd', directory];
  const view = ['profile', 'mode'].flatMap((flag) => (flags.has(flag) ? [`--${flag}`, String(flags.get(flag))] : []));
  return { ...own, name, args: [...own.args, 'serve', ...view, ...place] };
}

function print(call: VerbCall, client: Client, { path: file, scope, tables }: ClientFile, server: Server): number {
  const { name } = server;
  const snippet = client.form.set('', [...tables({})[0]!, name], client.toEntry(server), '\n');
  return report(call, { client: client.id, scope, file, name, snippet }, snippet);
}

function listClients({ terminal, json }: VerbCall, environment: ClientEnvironment): number {
  const clients = CLIENTS.map((client) => {
    const files = client.files(environment);
    const connected = files.find((file) => isConnected(client, file));
    const present = files.find(({ path }) => statOrNothing(path) !== undefined);
    // The client may be installed without a configuration file: its directory is enough.
    const found =
      present !== undefined ||
      files.some(({ path, scope }) => {
        const directory = dirname(path);
        return scope === 'user' && directory !== environment.home && statOrNothing(directory) !== undefined;
      });
    const file = connected ?? present ?? files[0]!;
    return { id: client.id, name: client.name, file: file.path, found, connected: connected !== undefined };
  });
  if (json) return printJson(terminal, { ok: true, clients });
  const rows = clients.map(({ id, name, file, found, connected }) => [
    id,
    name,
    connected ? 'connected' : found ? 'found' : '',
    shortenPath(file, environment.workdir, environment.home),
  ]);
  printTable(terminal, ['CLIENT', 'NAME', '', 'FILE'], rows);
  terminal.out('\n  wield connect <client> shows the change and asks before writing.\n');
  return 0;
}

// An unreadable file is reported when it is written.
function readDocument(client: Client, { path }: ClientFile): unknown {
  return orNothing(() => readConfig(path, client.form).document);
}

function hasEntry(client: Client, file: ClientFile, name: string): boolean {
  const document = readDocument(client, file);
  return valueAt(document, [...file.tables(document)[0]!, name]) !== undefined;
}

function isConnected(client: Client, file: ClientFile): boolean {
  const document = readDocument(client, file);
  const entries = file.tables(document).flatMap((table) => {
    const servers = valueAt(document, table);
    return isRecord(servers) ? Object.values(servers) : [];
  });
  return entries.some((entry) => orNothing(() => isOwnEntry(client, entry)) === true);
}
