// Shared by the actions of `wield mcp`: their definition, and finding and describing servers.

import { findJsonLine } from '../../../clients/forms/json.js';
import { orNothing, ToolError } from '../../../core/error.js';
import { unescapePointer } from '../../../core/json.js';
import { formatPosition, type Problem } from '../../../core/problem.js';
import { nearest, quoteOutside, spellOut } from '../../../core/text.js';
import { type HttpServer, mayStart, type ServerEntry } from '../../../core/upstream.js';
import { readTextFile } from '../../../files/read.js';
import type { NodeToolbox } from '../../../node.js';
import { needsTrust } from '../../../upstream/catalog/format.js';
import { blocked } from '../../../upstream/entries/allowed.js';
import { isAboutServer } from '../../../upstream/entries/file.js';
import { SCOPES } from '../../clients.js';
import { shortPath } from '../../print.js';
import { type FlagHelp, option, required, usageError, type VerbCall } from '../../verb.js';

/** Selects one of the two files that wield writes. */
export const SCOPE: FlagHelp = option(
  'SCOPE',
  'user (default): ~/.agents/mcp.json; project: .agents/mcp.json of this directory',
  { choices: SCOPES },
);

export const STRAY_FLAG =
  'put the command of a server after --: wield mcp add NAME -- COMMAND …; wield mcp --help shows all flags';

export interface McpAction {
  /** The usage after `wield mcp`. */
  readonly usage: string;
  readonly example: string;
  /** None by default. */
  readonly flags?: Readonly<Record<string, FlagHelp>>;
  /** The maximum number of positionals after its name; none by default. */
  readonly positionals?: number;
  /** Returns the exit status. */
  run(call: VerbCall, positionals: readonly string[]): Promise<number>;
}

const SHOWN_NAMES = 3;

export type ServerState = ReturnType<NodeToolbox['state']['upstreams']['states']>[number];

/** Finds a server with its state by name. Throws `not_found`, or what is wrong with its entry. */
export function findState(toolbox: NodeToolbox, name: string): ServerState {
  const { upstreams, snapshot } = toolbox.state;
  const states = upstreams.states();
  const found = states.find(({ server }) => server.name === name);
  if (found !== undefined) return found;
  const { servers, problems } = snapshot();
  const faults = [...servers.problems, ...problems].filter(({ severity }) => severity === 'error');
  const own = faults.find((fault) => isAboutServer(fault, name));
  if (own !== undefined) throw invalidFile(own, toolbox);
  const unread = servers.problems.find(isUnread);
  if (unread !== undefined)
    throw new ToolError('not_found', `unknown server "${quoteOutside(name, 60)}"`, {
      hint: `not read: ${describeProblem(unread, toolbox)}\nwield doctor shows all problems`,
    });
  const [close] = nearest(
    name,
    states.map(({ server }) => server.name),
  );
  throw new ToolError('not_found', `unknown server "${quoteOutside(name, 60)}"`, {
    hint:
      close === undefined
        ? 'wield mcp shows the servers'
        : `did you mean ${quoteOutside(close, 60)}? wield mcp shows all`,
  });
}

// The file as a whole could not be read.
function isUnread({ severity, pointer = '' }: Problem): boolean {
  return severity === 'error' && pointer === '';
}

function describeProblem(problem: Problem, toolbox: NodeToolbox): string {
  return `${formatPosition(spellOut(shortPath(problem.path, toolbox)), problem)}: ${problem.message}`;
}

function invalidFile(problem: Problem, toolbox: NodeToolbox): ToolError {
  return new ToolError('invalid_definition', describeProblem(problem, toolbox), { hint: problem.hint });
}

/**
 * Reads the servers with these names from the text that a file gets, and returns warnings about them. Throws if that text, or
 * the entry of one, cannot be used (UPS-14).
 */
export function previewServers(toolbox: NodeToolbox, file: string, text: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const { servers, disabled, problems } = toolbox.state.upstreams.preview(file, text);
  const own = problems.filter(({ path }) => path === file);
  const unread = own.find(isUnread);
  if (unread !== undefined) {
    // Where it is now, if it was there before.
    const before = toolbox.state.snapshot().servers.problems.find((one) => one.path === file && isUnread(one));
    throw invalidFile(before ?? unread, toolbox);
  }
  return names.flatMap((name) => {
    const about = own.filter((problem) => isAboutServer(problem, name));
    const fault = about.find(({ severity }) => severity === 'error');
    const isNamed = (server: ServerEntry): boolean => server.name === name;
    if (fault !== undefined && ![...servers, ...disabled].some(isNamed)) throw invalidFile(fault, toolbox);
    const isOff = disabled.some((server) => isNamed(server) && server.disabled !== true);
    return [
      ...about.map(({ message, hint }) => quoteOutside(`${message}; ${hint}`, 1000)),
      ...(isOff ? [`${spellOut(name)} is disabled: mcp.disabled has its name`] : []),
    ];
  });
}

/** Finds a server that may be started. Throws `unavailable` or `needs_trust`. */
export function findUsable(toolbox: NodeToolbox, name: string): ServerState {
  const found = findState(toolbox, name);
  const { server, state, block } = found;
  if (block !== undefined) throw blocked(server, block);
  if (state === 'off') {
    throw new ToolError('unavailable', `the server ${spellOut(name)} is disabled`, {
      hint: `remove "disabled" from its entry (${describePlace(server, toolbox)}), or its name from mcp.disabled`,
    });
  }
  if (!mayStart(server, toolbox.workspace)) throw needsTrust(server);
  return found;
}

/** Returns the server that an action names. Throws `usage` without one. */
export function requireName(name: string | undefined, action: string): string {
  return required(name, `server name; usage: wield mcp ${action} NAME`, 'wield mcp shows the servers');
}

/** Finds an HTTP server and expands the references in its entry. Throws `usage` for a process. */
export async function findAddressed(
  toolbox: NodeToolbox,
  named: string | undefined,
  action: 'login' | 'logout',
): Promise<HttpServer> {
  const name = requireName(named, action);
  const { server } = findUsable(toolbox, name);
  if (server.kind !== 'http') {
    throw usageError(
      `${spellOut(name)} is a local process and has no login`,
      'pass credentials in env of its entry, as a reference',
    );
  }
  const { expandWithSecrets } = await import('../../../upstream/entries/expand.js');
  const {
    machine: { world },
    workspace: { workdir },
  } = toolbox;
  // Trust was checked above.
  const resolved = (await expandWithSecrets(server, { world, workdir })).server as HttpServer;
  toolbox.state.upstreams.assertAllowed(server, { resolved });
  return resolved;
}

/** Lists the first names and counts the rest. */
export function someOf(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN_NAMES).map(spellOut).join(', ');
  return names.length > SHOWN_NAMES ? `${shown} and ${names.length - SHOWN_NAMES} more` : shown;
}

/** Returns the line of a server's entry in its file, or null if unknown. */
export function findLine({ position }: ServerEntry): number | null {
  if (position.line !== null || position.pointer === null) return position.line;
  const steps = position.pointer.split('/').slice(1);
  return orNothing(() => findJsonLine(readTextFile(position.file) ?? '', steps.map(unescapePointer))) ?? null;
}

/** Formats where a server is configured: `.mcp.json:4`. */
export function describePlace(server: ServerEntry, toolbox: NodeToolbox): string {
  const line = findLine(server);
  const file = spellOut(shortPath(server.position.file, toolbox));
  return line === null ? file : `${file}:${line}`;
}
