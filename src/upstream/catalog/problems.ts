// What is wrong with a server or with a tool of one, said at the place where the server is configured.

import { ToolError } from '../../core/error.js';
import type { Problem } from '../../core/problem.js';
import type { Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import type { FailedStart, Listing } from './listing-file.js';

export function toProblems({ faults }: Listing, server: ServerEntry): readonly Problem[] {
  return faults.map(({ severity, message }) =>
    problemOf(server, severity, `the server ${server.name}: ${message}`, 'tell the author of the server'),
  );
}

export function failed(server: ServerEntry, failure: FailedStart): Problem {
  const { message, hint } = unavailable(server, failure);
  return problemOf(server, 'error', message, hint!);
}

export function untrusted(server: ServerEntry): Problem {
  const { message, hint } = needsTrust(server);
  return problemOf(server, 'warning', message, hint!);
}

/** Why a tool of a server is not there: nobody may start it. */
export function needsTrust({ name }: ServerEntry): ToolError {
  return new ToolError('needs_trust', `the server ${name} is not started: the workspace is not trusted`, {
    hint: 'wield mcp shows what it runs; then run: wield trust',
    data: { server: name },
  });
}

/** Why a tool of a server is not there: its last start gave nothing. */
export function unavailable({ name }: ServerEntry, { message, hint }: FailedStart): ToolError {
  // What is wrong with an address or a reference is said without the name of a server.
  const about = message.includes(`server ${name}`) ? message : `the server ${name}: ${message}`;
  return new ToolError('unavailable', about, { hint, data: { server: name } });
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
