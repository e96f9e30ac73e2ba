// The commands of the system's keychain: `secret-tool` on Linux, `security` on macOS.

import { ToolError } from '../core/error.js';

/** What to run for an action on the keychain; a secret is passed on standard input. */
export interface Keychain {
  read(name: string): readonly string[];
  write(name: string, secret: string): { readonly argv: readonly string[]; readonly stdin: string };
  remove(name: string): readonly string[];
  readonly list: readonly string[];
  /** Returns the names in what `list` prints. */
  parseNames(output: string): readonly string[];
}

const SERVICE = 'wield';
/** The names of secrets: words that need no quotes anywhere. */
export const SECRET_NAME = /^[A-Za-z0-9_][\w.-]{0,63}$/;

const LINUX: Keychain = {
  read: (name) => ['secret-tool', 'lookup', 'service', SERVICE, 'name', name],
  write: (name, secret) => ({
    argv: ['secret-tool', 'store', `--label=wield: ${name}`, 'service', SERVICE, 'name', name],
    stdin: secret,
  }),
  remove: (name) => ['secret-tool', 'clear', 'service', SERVICE, 'name', name],
  list: ['secret-tool', 'search', '--all', 'service', SERVICE],
  parseNames: (output) => [...output.matchAll(/^attribute\.name = (.+)$/gm)].map(([, name]) => name!),
};

const MACOS: Keychain = {
  read: (name) => ['security', 'find-generic-password', '-s', SERVICE, '-a', name, '-w'],
  // With -i it reads its command, which no other user can see there.
  write: (name, secret) => ({
    argv: ['security', '-i'],
    stdin: `add-generic-password -U -s ${SERVICE} -a ${name} -X ${Buffer.from(secret).toString('hex')}\n`,
  }),
  remove: (name) => ['security', 'delete-generic-password', '-s', SERVICE, '-a', name],
  list: ['security', 'dump-keychain'],
  parseNames: (output) =>
    output
      .split(/^keychain: /m)
      .filter((item) => item.includes(`"svce"<blob>="${SERVICE}"`))
      .flatMap((item) => /"acct"<blob>="([^"]+)"/.exec(item)?.[1] ?? []),
};

/** Returns the keychain of a platform. Throws `unavailable` if it has none that is known. */
export function keychainOf(platform: string): Keychain {
  if (platform === 'linux') return LINUX;
  if (platform === 'darwin') return MACOS;
  throw new ToolError('unavailable', `there is no keychain on ${platform}`, {
    hint: 'use file:~/path to a file that only you can read, or a command: { "cmd": ["…"] }',
  });
}
