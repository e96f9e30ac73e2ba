// Signs the state of a call that waits for its client, so that it comes back unchanged and in time (SRV-6).

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { RequestState } from './request-context.js';

export interface RequestStates {
  sign(state: RequestState): string;
  /** Throws if the text was not signed by this server process, was altered, or has expired. */
  verify(text: string): RequestState;
}

const PREFIX = 'v1';

/** `shared` returns the keys of all servers of a fleet; without it only this process accepts its states. */
export function createRequestStates(ttlSeconds: number, shared?: () => readonly string[]): RequestStates {
  // Created on first use: loading node:crypto takes 5 ms.
  let own: Buffer | undefined;
  const createOwn = (): readonly Buffer[] => {
    own ??= randomBytes(32);
    return [own];
  };
  const keys: () => readonly (string | Buffer)[] = shared ?? createOwn;
  const tagOf = (body: string, key = keys()[0]!): string =>
    createHmac('sha256', key).update(`${PREFIX}.${body}`).digest('base64url');
  const isTag = (tag: Buffer, expected: Buffer): boolean =>
    tag.length === expected.length && timingSafeEqual(tag, expected);
  const now = (): number => Math.floor(Date.now() / 1000);
  return {
    sign(state) {
      const body = Buffer.from(JSON.stringify({ p: state, exp: now() + ttlSeconds })).toString('base64url');
      return `${PREFIX}.${body}.${tagOf(body)}`;
    },
    verify(text) {
      const [prefix, body = '', tag = '', ...rest] = text.split('.');
      const isSigned = keys().some((key) => isTag(Buffer.from(tag), Buffer.from(tagOf(body, key))));
      if (prefix !== PREFIX || rest.length > 0 || !isSigned) throw new Error('not signed by this server');
      const { p: state, exp } = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as Signed;
      if (exp < now()) throw new Error('expired');
      return state;
    },
  };
}

interface Signed {
  readonly p: RequestState;
  readonly exp: number;
}
