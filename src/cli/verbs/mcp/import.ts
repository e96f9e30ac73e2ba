// `wield mcp import`: imports servers from the configuration of other MCP clients, without their secrets.

import { resolve } from 'node:path';
import type { ClientEnvironment } from '../../../clients/client.js';
import {
  applyImport,
  findSourceOf,
  findSources,
  type ImportedServer,
  type ImportPins,
  type ImportPlan,
  type ImportSource,
  planImport,
  readServers,
} from '../../../clients/import.js';
import { CLIENTS, findClient } from '../../../clients/table.js';
import { assertPerson } from '../../../core/caller.js';
import { isToolError, ToolError } from '../../../core/error.js';
import type { JsonObject } from '../../../core/json.js';
import { count, quoteOutside, shortenPath, spellOut } from '../../../core/text.js';
import { statOrNothing } from '../../../files/read.js';
import type { NodeToolbox } from '../../../node.js';
import { readServer } from '../../../upstream/entries/entry.js';
import { assertUnchanged, changeConfig, findClientEnvironment, readScope } from '../../clients.js';
import { ASKS, confirm } from '../../consent.js';
import { checkLock, type LockedPin, lockServer, packageOf, pinServer } from '../../pin-server.js';
import { printWarning, report } from '../../print.js';
import { reportTable } from '../../table.js';
import { option, toggle, type VerbCall } from '../../verb.js';
import { type McpAction, previewServers, SCOPE } from './server.js';

export const importServers: McpAction = {
  usage: 'import [CLIENT | FILE] [--server NAME …] [--unpinned] [--scope user|project] [--dry-run] [--yes]',
  example: 'wield mcp import cursor',
  flags: {
    server: option('NAME', 'Only this server; can be repeated'),
    unpinned: toggle('Write the command as it is, without the exact version and integrity of its package'),
    scope: SCOPE,
    force: toggle('Replace existing servers'),
    ...ASKS,
  },
  positionals: 1,
  async run(call, [from]) {
    const toolbox = call.toolbox();
    const environment = findClientEnvironment(toolbox);
    if (from === undefined) return listSources(call, environment);
    const sources = findNamedSources(from, call, environment);
    if (!call.dryRun) assertPerson(toolbox.machine.insideCall, 'importing servers');
    const toPlan = (pins: ImportPins): ImportPlan =>
      planImport(sources, {
        environment,
        wieldHome: toolbox.machine.wieldHome,
        scope: readScope(call) ?? 'user',
        names: call.repeated('server'),
        force: call.flags.has('force'),
        pins,
      });
    const first = toPlan(new Map());
    assertAllowed(first, toolbox);
    const { pins, pinned } = await pinAll(call, first);
    const plan = toPlan(pins);
    assertAllowed(plan, toolbox);
    const names = plan.written.map(({ name }) => name);
    const warnings = previewServers(toolbox, plan.destination.path, plan.after, names);
    if (!call.json) show(call, plan, environment);
    for (const warning of warnings) printWarning(call.terminal, warning);
    const write = plan.written.length > 0 && !call.dryRun;
    const file = spellOut(shortenPath(plan.destination.path, environment.workdir, environment.home));
    if (write) {
      checkLock(call, plan.scope);
      if (!(await confirm(call, `Write ${count(plan.written.length, 'server')} to ${file}?`, file))) return 0;
      await changeConfig(call, plan.destination.path, () => {
        const now = toPlan(pins);
        assertUnchanged(plan.written, now.written, file);
        applyImport(now);
      });
      for (const [name, pin] of pinned) await lockServer(call, name, plan.scope, pin);
    }
    const left = plan.written.length === 0 ? '  nothing to import\n' : '  nothing was written\n';
    const text = write ? `  imported  ${count(plan.written.length, 'server')} into ${file}\n` : left;
    const { read, destination, servers } = plan;
    const document = { from, read, file: destination.path, servers: servers.map(toServerJson), written: write };
    return report(call, document, text);
  },
};

// A server that cannot be pinned is imported as it is, with a note.
async function pinAll(call: VerbCall, plan: ImportPlan) {
  const pins = new Map<string, { readonly entry: JsonObject } | { readonly note: string }>();
  const pinned = new Map<string, LockedPin>();
  for (const { name, entry, server } of call.flags.has('unpinned') ? [] : serversOf(plan)) {
    try {
      const pin = await pinServer(call, server, entry);
      if (pin === undefined) continue;
      pins.set(name, pin);
      pinned.set(name, { ...pin, asked: packageOf(server)?.wanted ?? null });
    } catch (error) {
      // An advisory must not be overlooked among many servers.
      if (!isToolError(error) || error.code === 'denied') throw error;
      pins.set(name, { note: `not pinned: ${error.message}` });
    }
  }
  return { pins, pinned };
}

// POL-41: what no list allows is not imported.
function assertAllowed(plan: ImportPlan, { state: { upstreams } }: NodeToolbox): void {
  for (const { server } of serversOf(plan)) upstreams.assertAllowed(server);
}

// The valid servers among those to write.
function serversOf({ written, destination }: ImportPlan) {
  const source = { owner: 'user', position: { file: destination.path, pointer: null, line: null } } as const;
  return written.flatMap(({ name, entry }) => {
    const server = readServer(name, entry, source).entry;
    return server === undefined || entry === undefined ? [] : [{ name, entry, server }];
  });
}

function findNamedSources(from: string, call: VerbCall, environment: ClientEnvironment): ImportSource[] {
  const path = resolve(call.cwd, from);
  const isClient = CLIENTS.some(({ id }) => id === from);
  if (!isClient && statOrNothing(path) !== undefined) return [findSourceOf(path, environment)];
  if (!isClient && /[./\\]/.test(from)) {
    throw new ToolError('not_found', `file not found: ${quoteOutside(from, 120)}`, {
      hint: 'wield mcp import shows the clients that have servers',
    });
  }
  const client = findClient(from, 'wield mcp import');
  const sources = findSources(client, environment);
  if (sources.length > 0) return sources;
  throw new ToolError('not_found', `no configuration of ${client.name} found`, {
    hint: `checked ${client
      .files(environment)
      .map((file) => shortenPath(file.path, environment.workdir, environment.home))
      .join(', ')}; pass another file`,
  });
}

// Shows everything that is read and written, but only the names of secrets (UPS-5).
function show({ terminal }: VerbCall, { read, destination, servers }: ImportPlan, around: ClientEnvironment): void {
  const short = (path: string): string => spellOut(shortenPath(path, around.workdir, around.home));
  for (const path of read) terminal.out(`  reads   ${short(path)}\n`);
  terminal.out(`  writes  ${short(destination.path)}\n\n`);
  for (const server of servers) {
    const line = (label: string, text: string): void => terminal.out(`    ${label.padEnd(12)} ${spellOut(text)}\n`);
    terminal.out(`  ${terminal.paint('bold', spellOut(server.name))}   ${server.status}\n`);
    if (server.command !== undefined) line('runs', [server.command, ...(server.args ?? [])].map(quoteWord).join(' '));
    if (server.url !== undefined) line('calls', server.url);
    for (const key of ['cwd', 'allow', 'deny', 'timeout', 'startTimeout']) {
      const value = server.entry?.[key];
      if (value !== undefined) line(key, [value].flat().join(' '));
    }
    if (server.env.length > 0) line('env', server.env.join(' '));
    if (server.headers.length > 0) line('headers', server.headers.join(' '));
    if (server.variables.length > 0) line('needs', `${server.variables.join(' ')} in the environment`);
    for (const secret of server.secrets) line('secret', `${secret.name} is stored in ${short(secret.path)}`);
    for (const note of server.notes) line('note', note);
  }
  if (servers.length > 0) terminal.out('\n');
}

function quoteWord(word: string): string {
  return /^[\w@%+=:,./~${}-]+$/.test(word) ? word : JSON.stringify(word);
}

function toServerJson({ entry: _, args, secrets, ...server }: ImportedServer) {
  const names = secrets.map(({ name }) => name);
  return { ...server, args: server.command === undefined ? undefined : args, secrets: names };
}

function listSources(call: VerbCall, environment: ClientEnvironment): number {
  const clients = CLIENTS.flatMap((client) => {
    const sources = findSources(client, environment);
    if (sources.length === 0) return [];
    const files = sources.map((source) => {
      const path = source.file.path;
      try {
        return { path, servers: readServers(source).length, fault: null };
      } catch (error) {
        return { path, servers: 0, fault: (error as Error).message };
      }
    });
    return [{ id: client.id, name: client.name, files, command: `wield mcp import ${client.id}` }];
  });
  const rows = clients.flatMap(({ name, files, command }) =>
    files.map(({ path, servers, fault }) => [
      name,
      fault === null ? count(servers, 'server') : 'unreadable',
      fault === null && servers > 0 ? command : '',
      shortenPath(path, environment.workdir, environment.home),
    ]),
  );
  const head = ['CLIENT', 'HAS', 'COMMAND', 'FILE'];
  return reportTable(call, { clients }, { head, rows, none: 'No client configuration found.' });
}
