// Seatbelt, the sandbox of macOS, by sandbox-exec. Untested: no machine of its kind was at hand.

import type { SandboxAccess } from '../../core/sandbox.js';
import type { LauncherOptions } from './bubblewrap.js';

const SYSTEM_OF_MACOS = ['/System', '/Library', '/private/etc', '/private/var/db', '/dev'];
const TEMPORARY = ['/private/tmp', '/private/var/folders', '/dev'];

const RULES: Readonly<Record<SandboxAccess, readonly string[]>> = {
  hidden: ['(deny file-read* file-write* PATH)'],
  read: ['(allow file-read* PATH)', '(deny file-write* PATH)'],
  write: ['(allow file-read* file-write* PATH)'],
  // It has no private directories.
  private: ['(allow file-read* file-write* PATH)'],
};

export function seatbeltLauncher({ program, profile, rules }: LauncherOptions): string[] {
  const toRule = (path: string, access: SandboxAccess): string[] =>
    RULES[access].map((rule) => rule.replace('PATH', () => `(subpath ${JSON.stringify(path)})`));
  // The last rule that matches applies, so a longer path comes later.
  const own = [...rules].sort(([a], [b]) => a.length - b.length);
  const text = [
    '(version 1)',
    '(deny default)',
    '(allow process-exec process-fork signal sysctl-read mach-lookup file-read-metadata)',
    ...SYSTEM_OF_MACOS.flatMap((path) => toRule(path, 'read')),
    ...TEMPORARY.flatMap((path) => toRule(path, 'write')),
    ...own.flatMap(([path, access]) => toRule(path, access)),
    ...(profile.network === true ? ['(allow network*)'] : []),
  ];
  return [program, '-p', text.join('\n')];
}
