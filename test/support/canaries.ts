// Secrets whose every trace is searched, and the password managers that have them.

import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Workspace } from './workspace.js';

/** Where a secret comes from: a variable, a file, a command or the keychain. */
export const KINDS = ['variable', 'file', 'command', 'keychain'] as const;

export type Canaries = Readonly<Record<string, string>>;

// With characters that every encoding changes, and random in every part.
export function createCanary(): string {
  const random = (): string => randomBytes(9).toString('base64url');
  return `${random()}"/+&=% ${random()}`;
}

/**
 * Returns what is searched: both halves of a secret as it is, in JSON, in a URL, in hexadecimal, and in Base64 after anything.
 * A half is what is left of a secret that was cut before it was redacted.
 */
function formsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const hex = Buffer.from(secret).toString('hex');
  const base64 = ['', 'x', 'xx'].map((before) => {
    const text = Buffer.from(before + secret).toString('base64url');
    // Without the characters that depend on what is around the secret.
    return text.slice(before === '' ? 0 : before.length + 1, -2);
  });
  const forms = [secret, inJson, encodeURIComponent(secret), hex, hex.toUpperCase(), ...base64];
  return forms.flatMap((form) => [form.slice(0, form.length / 2), form.slice(form.length / 2)]);
}

/** Collects the places that were searched, and what was found in them. */
export function createSearch(canaries: Canaries) {
  const forms = Object.entries(canaries).map(([name, secret]) => [name, formsOf(secret)] as const);
  const places = new Set<string>();
  const found: string[] = [];
  return {
    canaries,
    places,
    found,
    /** Searches a text; `mayHave` are the secrets that belong there. */
    look(place: string, text: string, mayHave: (name: string) => boolean = () => false): void {
      places.add(place);
      const plain = text.replaceAll('+', '-').replaceAll('/', '_');
      for (const [name, all] of forms)
        for (const [at, form] of all.entries())
          if (!mayHave(name) && (text.includes(form) || (at > 9 && plain.includes(form))))
            found.push(`${name} in ${place}, form ${at}`);
    },
  };
}

export type Search = ReturnType<typeof createSearch>;

/** Returns the reference to a secret of this kind. */
export function refer(name: string, vault: string): { readonly json: unknown; readonly toml: string } {
  if (name.endsWith('command')) return { json: { cmd: ['vault', name] }, toml: `{ cmd = ["vault", "${name}"] }` };
  const text = name.endsWith('variable')
    ? `\${CANARY_${name}}`
    : name.endsWith('file')
      ? `file:${vault}/${name}`
      : `keychain:${name}`;
  return { json: text, toml: JSON.stringify(text) };
}

/** Puts secrets, whose names end in their kind, where references lead. Returns the directory of the files. */
export function createVault(workspace: Workspace, canaries: Canaries): string {
  const vault = join(workspace.home, '..', 'vault');
  const bin = join(workspace.home, '..', 'bin');
  for (const directory of [vault, bin]) mkdirSync(directory);
  for (const [name, secret] of Object.entries(canaries)) writeFileSync(join(vault, name), `${secret}\n`);
  // Both password managers print the secret that their last argument names.
  for (const name of ['vault', 'secret-tool']) {
    writeFileSync(
      join(bin, name),
      `#!/bin/sh\nfor last; do :; done\nenv > "${bin}/$last.seen"\ncat "${vault}/$last"\n`,
    );
    chmodSync(join(bin, name), 0o755);
  }
  const variables = Object.entries(canaries).filter(([name]) => name.endsWith('variable'));
  for (const [name, secret] of variables) workspace.env[`CANARY_${name}`] = secret;
  workspace.env.PATH = `${bin}:${workspace.env.PATH}`;
  return vault;
}

/** Command lines and names, which core dumps are called by, of all processes, and the environments of those without secrets. */
export function searchProcesses(others: readonly number[], { look }: Pick<Search, 'look'>): void {
  const read = (path: string): string => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return '';
    }
  };
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  for (const file of ['cmdline', 'comm', 'stat'])
    look(`/proc/*/${file}`, pids.map((pid) => read(`/proc/${pid}/${file}`)).join('\n'));
  for (const pid of others) look('the environment of another server', read(`/proc/${pid}/environ`));
}

/** Every file below the home and the project, with its name. */
export function searchFiles(workspace: Workspace, { look }: Search): void {
  for (const root of [workspace.home, workspace.dir, join(workspace.home, '../bin')])
    for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      look(`the name of ${path}`, path);
      // The commands of a person have the variables of that person.
      const mayHave = path.endsWith('.seen') ? (name: string) => name.endsWith('variable') : undefined;
      if (entry.isFile()) look(path, readFileSync(path, 'latin1'), mayHave);
    }
}
