// Which redirects are followed: within their origin, without losing the message, and not for ever (A54).

import type { IncomingMessage } from 'node:http';
import type { ToolError } from '../../core/error.js';
import { showUrl, unreachable } from './fault.js';

const MAX_REDIRECTS = 3;

/** Where an answer leads; undefined where it is none that leads on. */
export function findTarget({ statusCode = 0, headers }: IncomingMessage, from: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(statusCode) || headers.location === undefined) return undefined;
  try {
    const target = new URL(headers.location, from);
    target.hash = '';
    return target;
  } catch {
    return undefined;
  }
}

/** Throws where a redirect may not be followed. */
export function assertFollowable(redirect: {
  readonly from: URL;
  readonly to: URL;
  readonly status: number;
  readonly method: string;
  readonly followed: number;
}): void {
  const { from, to, status, method, followed } = redirect;
  if (to.origin !== from.origin) throw otherOrigin(from, to);
  const facts = { from: showUrl(from), to: showUrl(to), status };
  if (to.username !== '' || to.password !== '') {
    throw unreachable(
      `${facts.from} leads to ${facts.to} with credentials of its own choice; it was not followed`,
      'look at the configuration of the server',
      facts,
    );
  }
  if (status < 307 && method !== 'GET') {
    throw unreachable(
      `${facts.from} answers a ${method} with ${status} to ${facts.to}, which would lose the message; it was not followed`,
      'if that address is right, configure it as the url of the server',
      facts,
    );
  }
  if (followed >= MAX_REDIRECTS) {
    throw unreachable(
      `${facts.from} redirects again and again, at last to ${facts.to}`,
      'configure the address at the end of the redirects as the url of the server',
      facts,
    );
  }
}

export function otherOrigin(from: URL, to: URL): ToolError {
  const facts = { from: showUrl(from), to: showUrl(to) };
  return unreachable(
    `${facts.from} leads to ${facts.to}, which is another origin; it was not followed`,
    'if that address is right, configure it as the url of the server',
    facts,
  );
}
