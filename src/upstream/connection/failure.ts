// What went wrong with a server, in words that name it, with the last that it said.

import { isToolError, ToolError } from '../../core/error.js';
import { formatDuration, quoteOutside } from '../../core/text.js';
import type { Ending } from './process-transport.js';

/** What is known of a server where something went wrong. */
export interface Circumstances {
  readonly server: string;
  readonly ending?: Ending | undefined;
  readonly lastLines?: readonly string[] | undefined;
}

// How much of what a server said stands in a message; all of it is in the error's data.
const SHOWN_LINES = 3;

/** A server that could not be started or reached. */
export function startFailure(error: unknown, about: Circumstances): ToolError {
  const own = ownError(error);
  if (own !== undefined) return own;
  const { server, ending } = about;
  const why = ending === undefined ? inWords(error, server) : { message: ending.why };
  return say(
    'unavailable',
    `the server ${server} could not be started: ${why.message}`,
    why.hint ?? `wield mcp refresh ${server} tries again and shows what it says`,
    about,
  );
}

/** A server that did not answer in time when it was started. */
export function startTimeout(milliseconds: number, about: Circumstances): ToolError {
  return say(
    'unavailable',
    `the server ${about.server} did not answer within ${formatDuration(milliseconds)} of its start`,
    'run its command by hand; startTimeout of its entry gives it longer',
    about,
  );
}

/** A server that went while it was used. */
export function serverLost(about: Circumstances): ToolError {
  const why = about.ending?.why ?? 'the connection was lost';
  return say(
    'unavailable',
    `the server ${about.server} went in the midst of a call: ${why}`,
    `wield mcp refresh ${about.server} starts it and shows what it says`,
    about,
  );
}

/** A call that got no answer, since its server went. */
export function callLost(tool: string, error: unknown, about: Circumstances): ToolError {
  const own = ownError(error);
  if (own !== undefined) return own;
  const { server, ending } = about;
  const why = ending === undefined ? inWords(error, server) : { message: ending.why };
  return say(
    'exec_failed',
    `the server ${server} was lost while it ran ${tool}: ${why.message}`,
    why.hint ??
      'call it again: the server is started anew; whether the first call did something is not known',
    about,
  );
}

function say(
  code: 'unavailable' | 'exec_failed',
  message: string,
  hint: string,
  about: Circumstances,
): ToolError {
  const lines = about.ending?.lastLines ?? about.lastLines ?? [];
  const said = lines.length === 0 ? '' : `; it said: ${lines.slice(-SHOWN_LINES).join(' | ')}`;
  return new ToolError(code, message + said, { hint, data: { server: about.server, lastLines: lines } });
}

// What our own code said on the way, below the protocol's client.
function ownError(error: unknown): ToolError | undefined {
  for (let here = error; here instanceof Error; here = here.cause) if (isToolError(here)) return here;
  return undefined;
}

/** Whether another way to begin would end the same: what we refused ourselves, and what wants a person. */
export function isSettled(error: unknown): boolean {
  return ownError(error) !== undefined || isUnauthorized(error);
}

function isUnauthorized(error: unknown): boolean {
  const { name, data } = error as Error & { readonly data?: { readonly status?: unknown } };
  return name === 'UnauthorizedError' || data?.status === 401;
}

function inWords(error: unknown, server: string): { readonly message: string; readonly hint?: string } {
  const { message, data } = error as Error & { readonly data?: { readonly status?: unknown } };
  const status = typeof data?.status === 'number' ? data.status : undefined;
  if (isUnauthorized(error))
    return { message: 'it wants you to log in', hint: `a person must run: wield mcp login ${server}` };
  if (status === 403)
    return { message: 'it denies access (HTTP 403)', hint: 'check its headers and your rights there' };
  if (status !== undefined) return { message: `it answered with HTTP ${status}` };
  return { message: quoteOutside(message, 300) };
}
