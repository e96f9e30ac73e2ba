// The name that a server's tool gets here (UPS-2).

import { hashTexts } from '../../files/digest.js';

const LONGEST = 64;
const KEPT = 55;
const HASH_DIGITS = 8;

/** `<server>_<tool>` in the letters of a tool's name; a long one is cut and ends in a hash of the whole. */
export function toToolName(server: string, tool: string): string {
  const whole = `${server}_${tool}`;
  const name = encode(whole);
  if (name.length <= LONGEST) return name;
  return `${name.slice(0, KEPT)}_${hashTexts([whole]).slice(0, HASH_DIGITS)}`;
}

/** What every name of a server's tools begins with. */
export function toPrefix(server: string): string {
  return encode(`${server}_`);
}

/** Whether a name can be that of a server's tool. */
export function mayBeOf(name: string, server: string): boolean {
  const prefix = toPrefix(server);
  return name.startsWith(prefix.slice(0, KEPT));
}

export { toRemoteUri as toUri } from '../../core/upstream.js';

function encode(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/gu, '_').replace(/^-/, '_');
}
