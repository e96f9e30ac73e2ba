// Checks the entries of Skills over MCP: one that breaks a rule makes clients refuse the whole list (SKL-11).

import type { JsonObject } from './json.js';
import { integer, list, matches, object, oneOf, optional, record, string, text } from './shape.js';

/** The last part of the URI of a skill. */
export const MAIN_FILE = '/SKILL.md';
/** Files of a skill. */
export const MAX_SKILL_FILES = 512;
/** Bytes of the files of a skill together. */
export const MAX_SKILL_BYTES = 16 * 1024 * 1024;

const FRONTMATTER = object(
  {
    name: text('a name of the Agent Skills format', /^(?!.*--)[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/),
    description: text('1 to 1024 characters', /^.{1,1024}$/su),
    compatibility: optional(text('1 to 500 characters', /^.{1,500}$/su)),
    metadata: optional(record(string)),
  },
  { unknown: 'drop' },
);
const FILE = object(
  { uri: string, digest: text('a digest', /^sha256:[0-9a-f]{64}$/), size: integer() },
  { unknown: 'drop' },
);
const FILES = list(FILE);

/** Whether an entry of a skill is one that every client accepts. */
export function isSkillEntry(uri: string, { frontmatter, resources }: JsonObject): boolean {
  if (!uri.endsWith(MAIN_FILE) || !matches(FRONTMATTER, frontmatter)) return false;
  const root = uri.slice(0, -MAIN_FILE.length);
  if (!root.endsWith(`/${frontmatter.name}`)) return false;
  if (matches(oneOf('dynamic'), resources)) return true;
  if (!matches(FILES, resources) || resources.length > MAX_SKILL_FILES) return false;
  const uris = new Set(resources.map((file) => file.uri));
  const isInside = (file: string): boolean => file.startsWith(`${root}/`) && !/[?#]|\/\.{1,2}(?:\/|$)/.test(file);
  const size = resources.reduce((sum, file) => sum + file.size, 0);
  return uris.size === resources.length && uris.has(uri) && [...uris].every(isInside) && size <= MAX_SKILL_BYTES;
}
