// Redirect rules: same origin only, no change of method, a limited number (A54).

import type { IncomingMessage } from 'node:http';
import type { ToolError } from '../core/error.js';
import { showUrl, unreachable } from './fault.js';

const MAX_REDIRECTS = 3;

/** Returns the target of a redirect response. */
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

/** Throws if a redirect must not be followed. */
export function assertFollowable(redirect: {
  readonly from: URL;
  readonly to: URL;
  readonly status: number;
  readonly method: string;
  readonly followed: number;
  /** Follows a redirect to another origin over https. */
  readonly anyHttps: boolean;
}): void {
  const { from, to, status, method, followed, anyHttps } = redirect;
  if (to.origin !== from.origin && !(anyHttps && to.protocol === 'https:')) throw otherOrigin(from, to);
  const facts = { from: showUrl(from), to: showUrl(to), status };
  if (to.username !== '' || to.password !== '') {
    throw unreachable(
      `${facts.from} refers to ${facts.to} with credentials in the URL; not followed`,
      'check the configuration of the server',
      facts,
    );
  }
  if (status < 307 && method !== 'GET') {
    throw unreachable(
      `${facts.from} redirects a ${method} with ${status} to ${facts.to}, which would drop the body; not followed`,
      'if that URL is correct, configure it as the url of the server',
      facts,
    );
  }
  if (followed >= MAX_REDIRECTS) {
    throw unreachable(
      `${facts.from} has too many redirects, the last one to ${facts.to}`,
      'configure the final URL as the url of the server',
      facts,
    );
  }
}

export function otherOrigin(from: URL, to: URL): ToolError {
  const facts = { from: showUrl(from), to: showUrl(to) };
  return unreachable(
    `${facts.from} refers to ${facts.to}, which is another origin; not followed`,
    'if that URL is correct, configure it as the url of the server',
    facts,
  );
}
