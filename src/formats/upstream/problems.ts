// What is wrong with a server or with a tool of one, said at the place where the server is configured.

import type { Problem, Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import type { FailedStart, Listing } from './listing-file.js';

export function toProblems({ faults }: Listing, server: ServerEntry): readonly Problem[] {
  return faults.map(({ severity, message }) =>
    problemOf(server, severity, `the server ${server.name}: ${message}`, 'tell the author of the server'),
  );
}

// What is wrong with an address or a reference is said without the name of a server.
export function failed(server: ServerEntry, { message, hint }: FailedStart): Problem {
  const about = message.includes(`server ${server.name}`) ? message : `the server ${server.name}: ${message}`;
  return problemOf(server, 'error', about, hint);
}

export function untrusted(server: ServerEntry): Problem {
  return problemOf(
    server,
    'warning',
    `the server ${server.name} is not started: the workspace is not trusted`,
    'wield mcp shows what it runs; then: wield trust',
  );
}

export function clash(server: ServerEntry, tool: Tool, taken: Tool): Problem {
  const isOwn = taken.origin.server === server.name;
  return problemOf(
    server,
    'error',
    `${tool.origin.uri} is not offered: its name here would be ${tool.name}, as that of ${taken.origin.uri}`,
    isOwn ? 'tell the author of the server' : 'give one of the servers another name',
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
