// Seatbelt, the sandbox of macOS, by sandbox-exec. Untested: no machine of its kind was at hand.

import { type LauncherOptions, SYSTEM } from './bubblewrap.js';
import { visibleSecrets } from './profile.js';

const SYSTEM_OF_MACOS = ['/System', '/Library', '/private/etc', '/private/var/db', '/dev'];
const TEMPORARY = ['/private/tmp', '/private/var/folders', '/dev'];

export function seatbeltLauncher({ program, profile, expose, state = [] }: LauncherOptions): string[] {
  const { read, write, secrets, deny, guarded, network } = profile;
  const paths = (list: readonly string[]): string => list.map((path) => `(subpath ${JSON.stringify(path)})`).join(' ');
  const rules = [
    '(version 1)',
    '(deny default)',
    '(allow process-exec process-fork signal sysctl-read mach-lookup file-read-metadata)',
    read === 'all' ? '(allow file-read*)' : `(allow file-read* ${paths([...SYSTEM, ...SYSTEM_OF_MACOS, ...read])})`,
    write === 'all' ? '(allow file-write*)' : `(allow file-write* ${paths([...TEMPORARY, ...write, ...state])})`,
    ...(guarded.length === 0 ? [] : [`(deny file-write* ${paths(guarded)})`]),
    ...(secrets.length === 0 ? [] : [`(deny file-read* file-write* ${paths(secrets)})`]),
    ...(expose.length + state.length === 0 ? [] : [`(allow file-read* ${paths([...expose, ...state])})`]),
    ...(deny.length === 0 ? [] : [`(deny file-read* file-write* ${paths(deny)})`]),
    ...(network ? ['(allow network*)'] : []),
  ];
  // The last rule that matches applies, so a path that is named inside a secret is allowed again.
  const again = visibleSecrets(profile);
  return [program, '-p', [...rules, ...(again.length === 0 ? [] : [`(allow file-read* ${paths(again)})`])].join('\n')];
}
