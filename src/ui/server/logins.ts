// Logins of browsers: the code of an address works once, and gives the browser a cookie and a key (UI-3).

import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { ToolError } from '../../core/error.js';
import { isSecret } from '../../net/bearer.js';
import type { Handlers } from './route.js';

interface Login {
  readonly cookie: string;
  readonly key: string;
}

export type Logins = ReturnType<typeof createLogins>;

export interface LoginsOptions {
  readonly port: number;
  readonly monotonic: () => number;
  /** Called if a code was used before or has expired, and no other one is open. */
  readonly onRefused: () => void;
}

/** Carries the key: not a cookie, which all ports of an address share, and not a header that a form can send. */
const KEY_HEADER = 'x-wield-key';

const CODE_MS = 10 * 60_000;
// The oldest is dropped: a browser that was closed never ends its login.
const MAX_LOGINS = 32;

const newSecret = (): string => randomBytes(32).toString('base64url');

export function createLogins({ port, monotonic, onRefused }: LoginsOptions) {
  // Cookies are sent to all ports of an address, so each server has its own.
  const name = `wield-${port}`;
  let logins: Login[] = [];
  let open: { readonly code: string; readonly until: number } | undefined;
  // Another server of this address may have set one with the same name too.
  const find = (cookies: string | undefined): Login | undefined => {
    const values = (cookies ?? '').split(/; */).flatMap((pair) => {
      const [key, value = ''] = pair.split('=', 2);
      return key === name ? [value] : [];
    });
    return logins.find(({ cookie }) => values.some((value) => isSecret(value, cookie)));
  };
  return {
    /** Returns a new code; the one before is no longer valid. */
    issue(): string {
      open = { code: newSecret(), until: monotonic() + CODE_MS };
      return open.code;
    },
    /** Whether a request has a cookie of a login and its key. */
    has(headers: IncomingHttpHeaders): boolean {
      const login = find(headers.cookie);
      return login !== undefined && isSecret(String(headers[KEY_HEADER] ?? ''), login.key);
    },
    routes: {
      'POST /api/login': async ({ body, cookies, setCookie }) => {
        const isOpen = open !== undefined && monotonic() <= open.until;
        if (!isOpen) onRefused();
        if (!isOpen || !isSecret(body.code, open!.code)) throw usedCode();
        open = undefined;
        // Other tabs of the browser keep their key.
        const known = find(cookies);
        if (known !== undefined) return { key: known.key };
        const login: Login = { cookie: newSecret(), key: newSecret() };
        logins = [...logins, login].slice(-MAX_LOGINS);
        setCookie(`${name}=${login.cookie}; Path=/api; HttpOnly; SameSite=Strict`);
        return { key: login.key };
      },
    } satisfies Handlers<'POST /api/login'>,
  };
}

function usedCode(): ToolError {
  return new ToolError('denied', 'this address was used before, or has expired', {
    hint: 'open the new address that wield shows in its terminal',
  });
}
