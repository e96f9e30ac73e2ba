// Problems of servers and their tools, reported at the entry of the server.

import { ToolError } from '../../core/error.js';
import type { Problem } from '../../core/problem.js';
import type { Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import type { FailedStart, Listing } from './listing-file.js';

const REPORT = 'report this to the author of the server';

export function toProblems({ faults }: Listing, server: ServerEntry): readonly Problem[] {
  return faults.map(({ severity, message }) =>
    problemOf(server, { severity, message: `the server ${server.name}: ${message}`, hint: REPORT }),
  );
}

export function failed(server: ServerEntry, { message, hint }: FailedStart): Problem {
  return problemOf(server, { severity: 'error', message, hint });
}

export function untrusted(server: ServerEntry): Problem {
  const { message, hint } = needsTrust(server);
  return problemOf(server, { severity: 'warning', message, hint: hint! });
}

/** The error for a tool of a server that is not started: its workspace is not trusted, or nobody accepted it. */
export function needsTrust({ name, owner }: ServerEntry): ToolError {
  if (owner === 'package')
    return new ToolError('needs_trust', `the server ${name} is not started: you have not accepted it yet`, {
      hint: `wield mcp accept ${name} shows what it runs and asks`,
      data: { server: name },
    });
  return new ToolError('needs_trust', `the server ${name} is not started: the workspace is not trusted`, {
    hint: 'wield mcp shows what it runs; then run: wield trust',
    data: { server: name },
  });
}

/** The error for a tool of a server whose last start failed. */
export function unavailable({ name }: ServerEntry, { message, hint }: FailedStart): ToolError {
  return new ToolError('unavailable', message, { hint, data: { server: name } });
}

export function clash(server: ServerEntry, tool: Tool, taken: Tool): Problem {
  return problemOf(server, {
    severity: 'error',
    message: `${tool.origin.uri} is not offered: its name ${tool.name} is taken by ${taken.origin.uri}`,
    hint: taken.origin.server === server.name ? REPORT : 'rename one of the servers',
  });
}

/** The problem of a tool whose name is that of a tool of another server. */
export function misnamed(server: ServerEntry, tool: Tool): Problem {
  return problemOf(server, {
    severity: 'error',
    message: `${tool.origin.uri} is not offered: its name ${tool.name} begins like those of another server`,
    hint: 'rename one of the servers',
  });
}

function problemOf({ place }: ServerEntry, problem: Omit<Problem, 'path'>): Problem {
  return { path: place.file, pointer: place.pointer ?? undefined, ...problem };
}
