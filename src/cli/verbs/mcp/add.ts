// `wield mcp add`: adds an upstream server to mcp.json.

import { isAbsolute, join } from 'node:path';
import { writeConfig } from '../../../clients/config-file.js';
import { diffOf } from '../../../clients/connect.js';
import { editServer, type ServerEdit, wieldFile } from '../../../clients/wield-file.js';
import { assertPerson } from '../../../core/caller.js';
import { ToolError, toToolError } from '../../../core/error.js';
import type { JsonObject } from '../../../core/json.js';
import { quoteOutside, quoteWord, spellOut } from '../../../core/text.js';
import type { ServerEntry } from '../../../core/upstream.js';
import { statOrNothing } from '../../../files/read.js';
import { applyPlan } from '../../../install/apply/apply.js';
import { loadInventory } from '../../../install/inventory.js';
import { toAppliedJson, toSourceJson } from '../../../install/json.js';
import { planAvailable } from '../../../install/plan/plans.js';
import { addSource } from '../../../install/sources/add.js';
import { listItems } from '../../../install/sources/load.js';
import type { NodeToolbox } from '../../../node.js';
import { findProgram, searchPath } from '../../../process/environment.js';
import { isOwnServer, readServer } from '../../../upstream/entries/entry.js';
import { describePackage } from '../../../upstream/pins/package.js';
import { type RegistryServer, toServerEntry } from '../../../upstream/registry/entry.js';
import { toOrigin } from '../../../upstream/registry/origin.js';
import { isRegistryEntry, isRegistryReference, REGISTRY, readRegistryEntry } from '../../../upstream/registry/read.js';
import { assertUnchanged, changeConfig, checkServerName, findClientEnvironment, readScope } from '../../clients.js';
import { ASKS, confirm, printDiff, toShownDiff } from '../../consent.js';
import { outcomeOf, printApplied, printRefused, statusOf, withInstalling } from '../../installing.js';
import {
  checkLock,
  installServer,
  lockServer,
  packageOf,
  pinServer,
  toPinJson,
  warnAboutVersion,
} from '../../pin-server.js';
import { printJson, printWarning, report, shortPath } from '../../print.js';
import type { Terminal } from '../../terminal.js';
import { option, toggle, usageError, type VerbCall } from '../../verb.js';
import { findUsable, type McpAction, previewServers, SCOPE, STRAY_FLAG } from './server.js';

export const add: McpAction = {
  usage:
    'add (NAME -- COMMAND … | NAME --url URL | [NAME] (registry:NAME[@VERSION] | FILE | DIR)) [--env K=V …] [--header K=V …] [--unpinned] [--scope user|project] [--dry-run] [--yes]',
  example: 'wield mcp add files -- npx -y @modelcontextprotocol/server-filesystem .',
  flags: {
    url: option('URL', 'The URL of an HTTP server, instead of a command'),
    env: option('K=V', 'A variable for the process; write secrets as ${VAR}, file:~/path or keychain:NAME'),
    header: option('K=V', 'An HTTP header; write secrets as ${VAR}, file:~/path or ${keychain:NAME}'),
    name: option('NAME', 'The name of a server from a registry'),
    registry: option('URL', 'The registry to ask, instead of the official one'),
    unpinned: toggle('Write the command as it is, without the exact version and integrity of its package'),
    scope: SCOPE,
    force: toggle('Replace existing servers'),
    ...ASKS,
  },
  positionals: Number.POSITIVE_INFINITY,
  async run(call, positionals) {
    const toolbox = call.toolbox();
    const scope = readScope(call) ?? 'user';
    const wanted = await readWanted(call, positionals, toolbox);
    const { name, entry: written, command, bundle, variables, optional, origin } = wanted;
    if (!call.dryRun) assertPerson(toolbox.machine.insideCall, 'adding a server');
    if (bundle !== undefined) return addBundle(call, bundle);
    // UPS-1: it would start itself again and again, so it is not listed.
    if (isOwnServer(command[0] ?? '', command.slice(1)))
      throw usageError('this command starts wield itself', 'its tools are already here; wield list shows them');
    const environment = findClientEnvironment(toolbox);
    const target = wieldFile(scope, environment);
    const file = spellOut(shortPath(target, toolbox));
    const owner = scope === 'user' ? 'user' : 'workspace';
    const typed = toServer(name, written, { owner, file: target });
    toolbox.state.upstreams.assertAllowed(typed, { registry: origin });
    const pin = call.flags.has('unpinned') ? undefined : await pinServer(call, typed, written);
    const entry = pin?.entry ?? written;
    const server = toServer(name, entry, { owner, file: target });
    if (pin !== undefined) toolbox.state.upstreams.assertAllowed(server, { registry: origin });
    const plan = (): ServerEdit => {
      const planned = editServer(scope, environment, name, entry);
      if (planned.current === undefined || !planned.changed || call.flags.has('force')) return planned;
      throw new ToolError('conflict', `${file} already has a server "${quoteOutside(name, 60)}"`, {
        hint: 'choose another name, or pass --force to replace it',
      });
    };
    const edit = plan();
    const warnings = previewServers(toolbox, target, edit.after, [name]);
    // The new entry contains no secrets (checked above); the old one may.
    const diff = (edit.changed ? diffOf(edit) : []).map((line) =>
      line.startsWith('+') ? spellOut(line) : toShownDiff([line])[0]!,
    );
    const isWritten = edit.changed && !call.dryRun;
    const { terminal } = call;
    warnIfMissing(terminal, command[0], toolbox);
    warnAboutVersion(call, typed, pin);
    if (scope === 'user') warnIfRelative(terminal, command, call.cwd);
    for (const warning of warnings) printWarning(terminal, warning);
    if (!call.json) {
      if (pin !== undefined)
        terminal.out(
          `  pinned  ${describePackage(pin.wanted, pin.resolved.version)}  ${pin.resolved.integrity.slice(0, 20)}…\n`,
        );
      if (edit.changed) {
        terminal.out(`  ${terminal.paint('bold', file)}\n`);
        printDiff(terminal, diff);
      }
      printVariables(terminal, wanted);
    }
    if (isWritten) {
      checkLock(call, scope);
      const question = edit.current === undefined ? 'Add this server?' : 'Replace the existing server?';
      if (!(await confirm(call, question, file))) return 0;
      if (pin !== undefined) await installServer(call, server, pin);
      if (origin !== undefined) await toolbox.state.upstreams.addOrigin(entry, origin);
      await changeConfig(call, target, () => {
        const now = plan();
        assertUnchanged(edit.current, now.current, file);
        if (now.changed) writeConfig(now.file, now.after, scope === 'user');
      });
      await lockServer(call, name, scope, pin && { ...pin, asked: packageOf(typed)?.wanted ?? null });
    }
    const pinned = pin === undefined ? null : toPinJson(pin);
    const facts = { server: name, scope, file: edit.file.path, diff, variables, optional, pin: pinned };
    const text = edit.changed ? '  nothing was written\n' : `  ${file} already has this server\n`;
    const added = isWritten ? `  added   ${spellOut(name)}\n${nextStep(toolbox, name, target)}` : text;
    return report(call, { ...facts, written: isWritten }, added);
  },
};

// What starts it, or what it needs before; nothing if another server has its name.
function nextStep(toolbox: NodeToolbox, name: string, file: string): string {
  try {
    const { server } = findUsable(toolbox, name);
    return server.position.file === file
      ? `  next    wield mcp refresh ${spellOut(name)} starts it and lists its tools\n`
      : '';
  } catch (error) {
    return `  next    ${toToolError(error).hint}\n`;
  }
}

function printVariables(terminal: Terminal, { variables, optional }: Wanted): void {
  for (const variable of variables)
    terminal.out(`  set     ${variable.name}   ${quoteOutside(variable.description ?? '', 120)}\n`);
  for (const one of optional)
    terminal.out(`  may set ${quoteOutside(one.name, 60)}   ${quoteOutside(one.description ?? '', 120)}\n`);
  if (optional.length > 0) terminal.out('          pass those with --env NAME=VALUE or --header NAME=VALUE\n');
}

interface Wanted extends Omit<RegistryServer, 'version'> {
  readonly command: readonly string[];
  /** Where a registry has it. */
  readonly origin?: string | undefined;
}

// A server by its command or URL, or an entry of a registry (UPS-90).
async function readWanted(
  call: VerbCall,
  [first, ...command]: readonly string[],
  toolbox: NodeToolbox,
): Promise<Wanted> {
  if (first === undefined) throw usageError('missing server name', 'wield mcp add NAME -- COMMAND …');
  // NAME FILE: an entry of a registry under another name.
  const [place = first] = command;
  const isNamed = command.length === 1 && isRegistryEntry(place, call.cwd);
  const isByHand = (command.length > 0 && !isNamed) || call.flags.has('url');
  if (isByHand) assertOwnFlags(call.typed, command);
  if (isByHand || !isRegistryReference(place, call.cwd))
    return { name: checkServerName(first), entry: readEntry(call, command), command, variables: [], optional: [] };
  const registry = String(call.flags.get('registry') ?? REGISTRY);
  const { createFetch } = toolbox.state.network;
  const found = await readRegistryEntry(place, { cwd: call.cwd, registry, signal: call.signal, createFetch });
  const path = searchPath(toolbox.machine.world);
  const server = toServerEntry(found, {
    values: {
      ...readPairs('env', call.repeated('env'), PAIR),
      ...readPairs('header', call.repeated('header'), HEADER),
    },
    local: !place.startsWith('registry:') || registry.startsWith('http://'),
    hasProgram: (program) => findProgram(program, path) !== undefined,
  });
  const { entry } = server;
  const words = typeof entry.command === 'string' ? [entry.command, ...(entry.args as readonly string[])] : [];
  const chosen = isNamed ? first : String(call.flags.get('name') ?? server.name);
  const origin = place.startsWith('registry:') ? toOrigin(String(found.name), registry) : undefined;
  return { ...server, name: checkServerName(chosen), command: words, origin };
}

// `-y` in `wield mcp add files npx -y PACKAGE` is meant for npx, and must not confirm anything.
function assertOwnFlags(typed: readonly string[], [program]: readonly string[]): void {
  if (program === undefined || typed.includes('--')) return;
  const after = typed.slice(typed.lastIndexOf(program) + 1);
  const flag = after.findIndex((word) => /^(?:-[yn]|--yes|--dry-run)$/.test(word));
  if (flag === -1 || !after.slice(flag).some((word) => !word.startsWith('-'))) return;
  throw usageError(`${after[flag]} is in the middle of the command`, STRAY_FLAG);
}

// The program may be installed later, or on another machine.
function warnIfMissing(terminal: Terminal, program: string | undefined, { machine: { world } }: NodeToolbox): void {
  if (program === undefined || /[/$]/.test(program) || findProgram(program, searchPath(world)) !== undefined) return;
  printWarning(terminal, `${spellOut(program)} is not on your PATH`);
}

// The entry of a user applies in every directory.
function warnIfRelative(terminal: Terminal, command: readonly string[], cwd: string): void {
  const isHere = (word: string): boolean => !isAbsolute(word) && statOrNothing(join(cwd, word))?.isFile() === true;
  const file = command.find((word) => /[./]/.test(word) && isHere(word));
  if (file === undefined) return;
  printWarning(
    terminal,
    `${spellOut(file)} is found from this directory only; write ${spellOut(join(cwd, file))}, or pass --scope project`,
  );
}

function readEntry(call: VerbCall, [command, ...args]: readonly string[]): JsonObject {
  const url = call.flags.get('url');
  const env = readPairs('env', call.repeated('env'), PAIR);
  const headers = readPairs('header', call.repeated('header'), HEADER);
  if (url !== undefined) {
    if (command !== undefined || env !== undefined) {
      throw usageError('a server has either a URL or a command', 'omit --url, or the command with its --env');
    }
    return { type: 'http', url: String(url), ...(headers && { headers }) };
  }
  if (command === undefined) {
    throw usageError('missing command or URL', 'wield mcp add NAME -- COMMAND …, or wield mcp add NAME --url URL');
  }
  if (headers !== undefined) {
    throw usageError('--header needs --url', 'use --env for the variables of a command');
  }
  if (args.length === 0 && /^(?:https?|wss?):|^https?\/|:\/\//i.test(command))
    throw usageError(
      `"${quoteOutside(command, 200)}" is not a command`,
      `pass the address of a server with --url ${/^https?:\/\//i.test(command) ? quoteWord(command) : 'https://…'}`,
    );
  return { command, ...(args.length > 0 && { args }), ...(env && { env }) };
}

const PAIR = /^([^=]+)=(.*)$/s;
const HEADER = /^([^=:\s]+)(?:=|:\s*)(.*)$/s;

function readPairs(flag: string, pairs: readonly string[], form: RegExp): Record<string, string> | undefined {
  if (pairs.length === 0) return undefined;
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, key, value] = form.exec(pair) ?? [];
      if (key !== undefined && value !== undefined) return [key, value];
      // Not repeated in the message: it may be a secret.
      throw usageError(`--${flag} must be NAME=VALUE`, `write --${flag} NAME=VALUE`);
    }),
  );
}

// UPS-5: secrets are never written to the file or repeated in messages.
function toServer(
  name: string,
  entry: JsonObject,
  { owner, file }: { readonly owner: ServerEntry['owner']; readonly file: string },
): ServerEntry {
  const source = { owner, position: { file, pointer: null, line: null } };
  const { findings, entry: server } = readServer(name, entry, source);
  const fault = findings.find(({ severity }) => severity === 'error') ?? findings[0];
  if (fault === undefined) return server!;
  const { keyPath, severity, message, hint, isSecret } = fault;
  const where = keyPath.length === 0 ? 'the server' : spellOut(keyPath.join('.'));
  if (severity === 'error' || !isSecret) throw new ToolError('usage', `${where}: ${message}`, { hint });
  throw new ToolError('usage', `${where}: would write a secret to a file in plain text`, {
    // References to secrets are refused in a command line, which other processes see.
    hint: ['command', 'args'].includes(keyPath[0] ?? '')
      ? "if the server can read it from its environment, pass it with --env NAME='${NAME}'"
      : "write '${VAR}' and set that variable, or file:~/path to a file that only you can read",
  });
}

const UNUSED = ['name', 'env', 'header', 'scope'];

/** Returns the exit status. The server is untrusted until a person accepts it, like that of a plugin (INS-62). */
async function addBundle(call: VerbCall, { url, sha256 }: NonNullable<RegistryServer['bundle']>): Promise<number> {
  const { flags, terminal, json, cwd, dryRun } = call;
  const unused = UNUSED.find((name) => flags.has(name));
  if (unused !== undefined)
    throw usageError(
      `the server is a bundle, which is installed without --${unused}`,
      'wield mcp accept asks for values',
    );
  if (!json)
    terminal.out(
      `  ${dryRun ? 'would install' : 'bundle       '}  ${quoteOutside(url, 300)}\n  sha256         ${sha256}\n`,
    );
  else if (dryRun) printJson(terminal, { ok: true, bundle: url, sha256, written: false });
  if (dryRun || !(await confirm(call, 'Install it?', quoteOutside(url, 300)))) return 0;
  return withInstalling(call, async (environment) => {
    const pin = { to: 'commit', name: sha256 } as const;
    const { added } = await addSource({ source: url, cwd, roots: [], pin }, environment);
    const inventory = loadInventory(environment);
    const ids = added.map(({ record }) => record.id);
    const plan = planAvailable(listItems(inventory.sources.filter(({ record }) => ids.includes(record.id))), inventory);
    const applied = await applyPlan(plan, flags.has('force'), inventory);
    if (json)
      printJson(terminal, {
        ...outcomeOf(plan),
        source: toSourceJson(added[0]!),
        installed: applied.map(toAppliedJson),
        written: applied.length > 0,
      });
    else {
      printApplied(terminal, applied, inventory);
      printRefused(terminal, plan);
    }
    return statusOf(plan);
  });
}
