// Skills as resources of the scheme `skill`: their files by URI, and the entries of Skills over MCP (SKL-11).

import { orNothing } from '../core/error.js';
import type { Json, JsonObject } from '../core/json.js';
import type { FileIdentity } from '../core/origin.js';
import { isSkillDirectory, type Skill } from '../core/skill.js';
import { MAX_SKILL_BYTES } from '../core/skill-entry.js';
import { digestBytes } from '../files/digest.js';
import { readHead, sameIdentity, statIdentity } from '../files/read.js';
import { readFrontmatter } from '../formats/shared/frontmatter.js';
import {
  type Bounds,
  listSkillFiles,
  mimeTypeOf,
  pathInSkill,
  readSkillContent,
  SKILL_FILE,
  type SkillContent,
  toSkillPath,
} from './skill-files.js';

const SCHEME = 'skill://';

/** Returns the URI of a file of a skill: `skill://prefix/name/path`. */
export function toSkillUri({ name }: Skill, path = SKILL_FILE): string {
  return SCHEME + [...name.split(':'), ...path.split('/')].map(encodeURIComponent).join('/');
}

/** Returns the skill and the file that a URI names; undefined if it names none of these skills. */
export function findByUri(uri: string, skills: readonly Skill[]) {
  if (!uri.startsWith(SCHEME)) return undefined;
  let skill: Skill | undefined;
  for (const one of skills)
    if (uri.startsWith(toSkillUri(one, '')) && (skill === undefined || one.name.length > skill.name.length))
      skill = one;
  const path = skill && decode(uri.slice(toSkillUri(skill, '').length));
  return skill === undefined || path === undefined || path === '' ? undefined : { skill, path };
}

function decode(text: string): string | undefined {
  return orNothing(() => text.split('/').map(decodeURIComponent).join('/'));
}

/** Returns the contents of a file as it is stored. A skill that is one file has no others. */
export function readResource(skill: Skill, path: string, bounds: Bounds) {
  const content = readContent(skill, toSkillPath(skill, path), bounds);
  const mimeType = mimeTypeOf(path, content);
  return content.kind === 'text' && content.bytes.equals(Buffer.from(content.text))
    ? { mimeType, text: content.text }
    : { mimeType, blob: content.bytes.toString('base64') };
}

function readContent(skill: Skill, path: string, bounds: Bounds): SkillContent {
  if (isSkillDirectory(skill) || path !== SKILL_FILE) return readSkillContent(skill, path, bounds, MAX_SKILL_BYTES);
  const text = readMain(skill, bounds) ?? '';
  return { kind: 'text', text, bytes: Buffer.from(text) };
}

function readMain(skill: Skill, { boundaryOf }: Bounds): string | undefined {
  const reading = readHead(skill.file, MAX_SKILL_BYTES, { within: boundaryOf(skill) });
  return 'fault' in reading ? undefined : reading.bytes.toString('utf8');
}

/** Returns the entry of a skill; undefined if it cannot be read, or is too large to be listed. */
export function describeSkill(skill: Skill, bounds: Bounds): JsonObject | undefined {
  const { files, isCut } = isSkillDirectory(skill) ? listSkillFiles(skill, bounds) : { files: [], isCut: true };
  if (isCut || files.reduce((sum, { size }) => sum + size, 0) > MAX_SKILL_BYTES) return undefined;
  const read = readFrontmatter(readMain(skill, bounds) ?? '');
  if ('message' in read || read.warnings.length > 0) return undefined;
  try {
    const resources = files.map(({ path }) => ({ uri: toSkillUri(skill, path), ...digestOf(skill, path, bounds) }));
    return { frontmatter: read.fields as Record<string, Json>, resources };
  } catch {
    // A file that was removed or cannot be read: the list would not be complete.
    return undefined;
  }
}

interface Digested {
  readonly identity: FileIdentity;
  readonly digest: string;
}

const MAX_KNOWN = 50_000;
const known = new Map<string, Digested>();

function digestOf(skill: Skill, path: string, bounds: Bounds): { readonly digest: string; readonly size: number } {
  const file = pathInSkill(skill, path);
  const identity = statIdentity(file);
  let found = known.get(file);
  if (identity === undefined || found === undefined || !sameIdentity(found.identity, identity)) {
    const { bytes } = readSkillContent(skill, path, bounds, MAX_SKILL_BYTES);
    found = { identity: { ...identity!, size: bytes.length }, digest: `sha256:${digestBytes(bytes)}` };
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(file, found);
  }
  return { digest: found.digest, size: found.identity.size };
}
