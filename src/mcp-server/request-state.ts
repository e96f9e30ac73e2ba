// Signs the state of a call that waits for its client, so that it comes back unchanged and in time (SRV-6).

import { loadCrypto } from '../files/digest.js';

/** Signed state that a client sends back with its answer. */
export interface RequestState {
  readonly nonce: string;
  /** Identifies the call that needs approval: caller, tool, plan, directory and input. */
  readonly binding?: string;
}

const PREFIX = 'v1';
const SKEW_SECONDS = 60;

/** `shared` returns the keys of all servers of a fleet; without it only this process accepts its states. */
export function createRequestStates(ttlSeconds: number, shared?: () => readonly string[]) {
  let own: readonly string[] | undefined;
  const keys = (): readonly string[] => {
    if (shared !== undefined) return shared();
    own ??= [loadCrypto().randomBytes(32).toString('hex')];
    return own;
  };
  const tagOf = (body: string, key: string): Buffer =>
    Buffer.from(loadCrypto().createHmac('sha256', key).update(`${PREFIX}.${body}`).digest('base64url'));
  const isTag = (tag: Buffer, expected: Buffer): boolean =>
    tag.length === expected.length && loadCrypto().timingSafeEqual(tag, expected);
  // The clock of the system can be set back. Only it is the same for all servers of a fleet.
  const now = (): number => Math.floor((shared === undefined ? performance.now() : Date.now()) / 1000);
  return {
    sign(state: RequestState): string {
      const body = Buffer.from(JSON.stringify({ p: state, exp: now() + ttlSeconds })).toString('base64url');
      return `${PREFIX}.${body}.${tagOf(body, keys()[0]!)}`;
    },
    /** Throws if the text was not signed by this server process, was altered, or has expired. */
    verify(text: string): RequestState {
      const [prefix, body = '', tag = '', ...rest] = text.split('.');
      const isSigned = keys().some((key) => isTag(Buffer.from(tag), tagOf(body, key)));
      if (prefix !== PREFIX || rest.length > 0 || !isSigned) throw new Error('not signed by this server');
      const { p: state, exp } = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as Signed;
      const left = exp - now();
      if (left < 0 || left > ttlSeconds + SKEW_SECONDS) throw new Error('expired');
      return state;
    },
  };
}

interface Signed {
  readonly p: RequestState;
  readonly exp: number;
}
