// The users of `wield serve --http`: by named tokens, or by tokens of identity providers (IDN-1).

import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { toToolError } from '../core/error.js';
import type { ServeSettings } from '../core/settings.js';
import { quoteOutside } from '../core/text.js';
import { expandHome } from '../files/home.js';
import type { AccessOptions } from '../mcp-server/access.js';
import type { Identity } from '../mcp-server/identity.js';
import { isSecret } from '../net/bearer.js';
import type { TokenFault } from '../net/claims.js';
import { createVerifier } from '../net/tokens.js';
import type { NodeToolbox } from '../node.js';
import { expandCredentials } from '../upstream/entries/expand.js';
import { type LoginUser, toUserKey } from '../upstream/login/user.js';
import { printWarning } from './print.js';
import { openTokenFile } from './tokens.js';
import { usageError, type VerbCall } from './verb.js';

/** Whose users the names of token files are; no issuer can have this name. */
const TOKEN_FILES = 'token';

type Users = NonNullable<AccessOptions['users']>;

const MAX_SUBJECTS = 1000;

/** The last verified token of each user of an identity provider, which some servers exchange; in memory only (IDN-27). */
export function createSubjects() {
  const tokens = new Map<string, string>();
  return {
    remember({ user, issuer }: Identity, token: string): void {
      const key = toUserKey({ user, issuer });
      tokens.delete(key);
      tokens.set(key, token);
      if (tokens.size > MAX_SUBJECTS) tokens.delete(tokens.keys().next().value!);
    },
    find: (user: LoginUser): string | undefined => tokens.get(toUserKey(user)),
  };
}

/**
 * Returns how the users of a server are recognised. Changes of the configuration count from the next request; if it
 * becomes invalid with other users, or was never valid, nobody is let in.
 */
export function openUsers(
  call: VerbCall,
  toolbox: NodeToolbox,
  publicUrl: URL | undefined,
  subjects: ReturnType<typeof createSubjects>,
) {
  const { configuration } = toolbox.state;
  const hasUsers = ({ auth, tokens }: ServeSettings): boolean => auth.length + tokens.length > 0;
  const started = configuration();
  let settings = started.settings.serve;
  const { auth } = settings;
  let users = createUsers(call, toolbox, settings, publicUrl, true);
  let failure: string | undefined;
  // An invalid file may name users.
  let isKnown = started.fault === undefined;
  let isNeeded = hasUsers(settings);
  const findUser: Users = async (token) => {
    const { fault, settings: now } = configuration();
    const isOther = !isDeepStrictEqual(now.serve, settings);
    if (fault !== undefined && (isOther || !isKnown)) return { error: 'unavailable', reason: fault };
    if (isOther) {
      try {
        users = createUsers(call, toolbox, now.serve, publicUrl, false);
        settings = now.serve;
        failure = undefined;
      } catch (error) {
        const { message } = toToolError(error);
        if (message !== failure) printWarning(call.terminal, `${message}: nobody is let in`);
        failure = message;
        return { error: 'unavailable', reason: message };
      }
    }
    const found = await users(token);
    if (!('error' in found) && found.issuer !== TOKEN_FILES) subjects.remember(found, token);
    return found;
  };
  return {
    /** Returns what finds the user of a token; undefined while nobody needs to log in. */
    current(): Users | undefined {
      const { fault, settings: now } = configuration();
      isKnown ||= fault === undefined;
      // A server whose last user is removed is not open to everyone.
      isNeeded ||= hasUsers(now.serve);
      return isKnown && !isNeeded ? undefined : findUser;
    },
    resource:
      auth.length === 0
        ? undefined
        : {
            url: publicUrl ?? new URL(auth[0]!.audience!),
            issuers: auth.map(({ issuer }) => issuer),
            scopes: [...new Set(auth.flatMap(({ scopes }) => scopes))],
          },
  };
}

// The start of a server fails if a token file cannot be read.
function createUsers(
  call: VerbCall,
  { machine, state }: NodeToolbox,
  { auth, tokens }: ServeSettings,
  publicUrl: URL | undefined,
  isStart: boolean,
): Users {
  const { debug, home } = machine.world;
  const { createFetch } = state.network;
  const named = tokens.map(({ user, file, groups, profile }) => ({
    identity: { user, groups: [...groups].sort(), issuer: TOKEN_FILES, profile },
    read: openTokenFile(expandHome(file, home), call.terminal, isStart),
  }));
  // Read again for every use, so that a new secret needs no restart.
  const expand = async (secret: string): Promise<string> => {
    const from = {
      name: 'serve.auth',
      url: 'https://localhost',
      values: [secret],
      file: join(machine.wieldHome, 'config.toml'),
    };
    const { values } = await expandCredentials(from, { world: machine.world, workdir: machine.wieldHome });
    return values[0]!;
  };
  const verify =
    auth.length === 0
      ? undefined
      : createVerifier({ issuers: auth, audience: audienceOf(auth, publicUrl), expand, createFetch, debug });
  // IDN-12: one that is unknown would not limit anything.
  const isLimited = ({ profile }: Identity): boolean =>
    profile === undefined || state.configuration().profiles.has(profile);
  for (const { identity } of named) {
    if (isLimited(identity)) continue;
    const what = `[serve.tokens.${identity.user}] names the unknown profile "${quoteOutside(identity.profile!, 60)}"`;
    printWarning(call.terminal, `${what}: its token lets nobody in`);
  }
  const refuse = (reason: string): TokenFault => {
    debug(`a token was refused: ${reason}`);
    return { error: 'invalid_token', reason };
  };
  return async (token) => {
    const found = named.find(({ read }) => read().some((one) => isSecret(token, one)));
    if (found !== undefined) return isLimited(found.identity) ? found.identity : refuse('its profile is unknown');
    const verified = await verify?.(token);
    if (verified === undefined) return refuse('it is not known');
    if ('error' in verified) debug(`a token was refused: ${verified.reason}`);
    return verified;
  };
}

// Tokens must be made for this server: otherwise one that another server got would be accepted here.
function audienceOf(auth: ServeSettings['auth'], publicUrl: URL | undefined): string {
  if (publicUrl !== undefined) return publicUrl.href;
  const without = auth.find(({ audience }) => audience === undefined || !URL.canParse(audience));
  if (without === undefined) return '';
  throw usageError(
    `[serve.auth] of ${without.issuer} does not say for whom its tokens are made`,
    'pass --public-url https://…/mcp, the address that clients use',
  );
}
