// What is told of servers that give no tools, or fewer than they list, and of names that could have been theirs.

import { ToolError } from '../../core/error.js';
import type { Problem, Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import type { FailedStart, Listing } from './listing-file.js';

export function toProblems({ faults }: Listing, server: ServerEntry): readonly Problem[] {
  return faults.map(({ severity, message }) =>
    problemOf(server, severity, `the server ${server.name}: ${message}`, 'tell the author of the server'),
  );
}

function problemOf(
  server: ServerEntry,
  severity: Problem['severity'],
  message: string,
  hint: string,
): Problem {
  const { file, pointer } = server.place;
  return { severity, path: file, ...(pointer === null ? {} : { pointer }), message, hint };
}

export function untrusted(server: ServerEntry): Problem {
  return problemOf(
    server,
    'warning',
    `the server ${server.name} is not started: the workspace is not trusted`,
    'wield mcp shows what it runs; then: wield trust',
  );
}

// What is wrong with an address or a reference is said without the name of a server.
export function failed(server: ServerEntry, { message, hint }: FailedStart): Problem {
  const about = message.includes(`server ${server.name}`) ? message : `the server ${server.name}: ${message}`;
  return problemOf(server, 'error', about, hint);
}

export function clash(server: ServerEntry, tool: Tool, taken: Tool): Problem {
  return problemOf(
    server,
    'error',
    `${tool.origin.uri} is not offered: its name here would be ${tool.name}, as that of ${taken.origin.uri}`,
    'give one of the servers another name',
  );
}

/** A name that could be that of a server's tool, where the server gives none. */
export function absent(
  code: 'needs_trust' | 'unavailable',
  name: string,
  { message, hint }: Problem,
): ToolError {
  return new ToolError(code, `there is no tool "${name}" yet: ${message}`, { hint });
}
