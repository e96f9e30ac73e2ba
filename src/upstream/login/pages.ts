// The pages on which users of a server log in to upstream servers: a confirmation, and the answer of the login server (IDN-21).

import { toToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { classifyHost } from '../../net/address.js';
import { isSecret } from '../../net/bearer.js';
import type { CreateFetch } from '../../net/fetch.js';
import type { PageRequest, PageResponse } from '../../net/page.js';
import { describeServer } from '../entries/mask.js';
import type { Identify } from './identify.js';
import { createLinks, createOneTime, createSecret, LINK_MS, type LoginLink, type WantedLogin } from './links.js';
import { toPage, toRedirect } from './page.js';
import { startLogin } from './steps.js';
import type { LoginUser } from './user.js';

export interface LoginPagesOptions {
  /** The origin by which browsers reach this server; undefined if it is not known. */
  readonly origin: () => string | undefined;
  /** A clock that cannot be set back: a link must not stay valid for longer (IDN-21). */
  readonly now: () => number;
  readonly identify: Identify;
  readonly createFetch: CreateFetch;
}

export interface LoginPages {
  /** Returns the page on which a user can log in; undefined without an address for it. */
  open(wanted: WantedLogin): { readonly url: string; readonly done: Promise<void> } | undefined;
  answer(request: PageRequest): Promise<PageResponse>;
}

/** A person who is at a login page, and what to do with its answer. */
interface Step {
  readonly redirectUrl: string;
  /** Only the browser that confirmed has it. */
  readonly cookie: string;
  readonly until: number;
  readonly next: (answer: URLSearchParams) => Promise<PageResponse>;
}

export const LOGIN_PATH = '/login/';
const CALLBACK_PATH = `${LOGIN_PATH}callback/`;
const IDENTITY_PATH = `${LOGIN_PATH}identity`;
const GONE = toPage(404, [
  'This link is not valid: it was used, or is too old.',
  'Call the tool again for another one.',
]);
const FOREIGN = toPage(400, ['This answer belongs to no login of this browser.', 'Call the tool again to start over.']);

/** Creates the login pages of a server process. */
export function createLoginPages({ origin, now, identify, createFetch }: LoginPagesOptions): LoginPages {
  const links = createLinks(now);
  const steps = createOneTime<Step>(now);
  const send = (page: URL, state: string, step: Pick<Step, 'redirectUrl' | 'next'>): PageResponse => {
    const cookie = createSecret();
    steps.add(state, { ...step, cookie, until: now() + LINK_MS });
    return toRedirect(page, toCookie(state, cookie, step.redirectUrl));
  };

  // The way back has the name of the server: the answer of one login server does not fit the login at another.
  const logIn = async ({ wanted, done }: LoginLink): Promise<PageResponse> => {
    const { user, expand, directory, world } = wanted;
    const server = await expand();
    const redirectUrl = `${origin()}${CALLBACK_PATH}${encodeURIComponent(server.name)}`;
    const state = createSecret();
    const { page, finish } = await startLogin(server, { directory, redirectUrl, state, user, world, createFetch });
    const next = async (answer: URLSearchParams): Promise<PageResponse> => {
      try {
        await finish(answer);
      } catch (thrown) {
        return toFailure(thrown, user);
      }
      done.resolve();
      const name = quoteOutside(server.name, 60);
      return toPage(200, [`${nameOf(user)} is logged in to ${name}.`, 'You can close this window.']);
    };
    return send(page, state, { redirectUrl, next });
  };

  // Where the identity provider can say who is at the browser, it must be the user of the link (IDN-26).
  const start = async (link: LoginLink): Promise<PageResponse> => {
    const { user } = link.wanted;
    const redirectUrl = `${origin()}${IDENTITY_PATH}`;
    const state = createSecret();
    try {
      const started = await identify(user.issuer, { redirectUrl, state });
      if (started === undefined) return await logIn(link);
      const next = async (answer: URLSearchParams): Promise<PageResponse> => {
        try {
          if ((await started.finish(answer)) === user.user) return await logIn(link);
        } catch (thrown) {
          return toFailure(thrown, user);
        }
        return toPage(403, [`This link is for ${nameOf(user)}, and you logged in as somebody else.`]);
      };
      return send(started.page, state, { redirectUrl, next });
    } catch (thrown) {
      return toFailure(thrown, user);
    }
  };

  const resume = async (path: string, answer: URLSearchParams, cookies: string): Promise<PageResponse> => {
    const state = answer.get('state') ?? '';
    const step = steps.find(state);
    if (step === undefined || !isSecret(readCookie(cookies, state), step.cookie)) return FOREIGN;
    if (path !== new URL(step.redirectUrl).pathname) return FOREIGN;
    steps.take(state);
    return step.next(answer);
  };

  return {
    open(wanted) {
      const base = origin();
      if (base === undefined) return undefined;
      const { id, done } = links.open(wanted);
      return { url: `${base}${LOGIN_PATH}${id}`, done: done.promise };
    },
    async answer({ method, target, cookie = '' }) {
      const { pathname, searchParams } = new URL(target, 'http://localhost');
      const isAnswer = pathname === IDENTITY_PATH || pathname.startsWith(CALLBACK_PATH);
      if (method === 'GET' && isAnswer) return resume(pathname, searchParams, cookie);
      const id = pathname.slice(LOGIN_PATH.length);
      // Programs that look at links before people do only read the page.
      if (method === 'GET' || method === 'HEAD') {
        const link = links.find(id);
        return link === undefined ? GONE : describe(link);
      }
      if (method !== 'POST') return toPage(405, ['Method not allowed.']);
      const link = links.take(id);
      return link === undefined ? GONE : start(link);
    },
  };
}

function describe({ wanted: { server, user } }: LoginLink): PageResponse {
  const name = quoteOutside(server.name, 60);
  return toPage(
    200,
    [
      `This link is for ${nameOf(user)} only. It connects your account at ${name} (${describeServer(server)}) to them: their agents will act as you there.`,
      'If you are somebody else, or did not ask for this, close this window.',
    ],
    `I am ${nameOf(user)}: log in to ${name}`,
  );
}

function nameOf({ user, issuer }: LoginUser): string {
  const of = issuer !== undefined && URL.canParse(issuer) ? ` (${new URL(issuer).host})` : '';
  return `${quoteOutside(user, 256)}${of}`;
}

function toFailure(thrown: unknown, user: LoginUser): PageResponse {
  const { message, hint = '' } = toToolError(thrown);
  return toPage(502, [`${nameOf(user)} is not logged in.`, message, hint, 'Call the tool again for another link.']);
}

// One for every login, so that several can go on in one browser.
function cookieName(state: string): string {
  return `wield-login-${state.slice(0, 8)}`;
}

function toCookie(state: string, value: string, address: string): string {
  const { protocol, hostname } = new URL(address);
  const secure = protocol === 'https:' || classifyHost(hostname).class !== 'loopback' ? '; Secure' : '';
  return `${cookieName(state)}=${value}; Path=${LOGIN_PATH}; Max-Age=${LINK_MS / 1000}; HttpOnly; SameSite=Lax${secure}`;
}

function readCookie(cookies: string, state: string): string {
  const prefix = `${cookieName(state)}=`;
  const found = cookies.split(/; */).find((one) => one.startsWith(prefix));
  return found?.slice(prefix.length) ?? '';
}
