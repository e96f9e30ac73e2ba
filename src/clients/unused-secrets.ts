// Finds the files of imported secrets that a removed server leaves behind.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientEnvironment } from './client.js';
import { readConfig } from './config-file.js';
import { jsonForm } from './forms/json.js';
import { type ServerEdit, wieldFile } from './wield-file.js';

/** Returns the files of imported secrets that only the removed server used (UPS-14). */
export function findUnusedSecrets(
  { file, scope, after }: ServerEdit,
  environment: ClientEnvironment,
  wieldHome: string,
): string[] {
  const directory = join(wieldHome, 'secrets');
  const other = readConfig(wieldFile(scope === 'user' ? 'project' : 'user', environment), jsonForm).text ?? '';
  return listFiles(directory)
    .map((name) => join(directory, name))
    .filter((path) => mentions(file.text ?? '', path) && !mentions(after, path) && !mentions(other, path));
}

// The character after the path ends it: a quote, or the brace of a reference.
function mentions(text: string, path: string): boolean {
  const written = JSON.stringify(`file:${path}`).slice(1, -1);
  return [`${written}"`, `${written}}`].some((reference) => text.includes(reference));
}

function listFiles(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
