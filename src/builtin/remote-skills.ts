// Reads skills of upstream servers for `read_skill`: each file in a nested call that reads the resource (SKL-14).

import { posix } from 'node:path';
import { reviveError, ToolError } from '../core/error.js';
import { type Part, type ToolResult, textPart } from '../core/result.js';
import type { RemoteSkill } from '../core/skill.js';
import { formatBytes, nearest, quoteOutside } from '../core/text.js';
import type { CallInternals } from '../core/tool.js';
import { describeListed, showContent } from './skill-content.js';
import { MAX_BYTES, SKILL_FILE, toContent } from './skill-files.js';

interface Wanted {
  readonly file: string | undefined;
  readonly page: number;
}

/** Returns a file, by default the text with the list of files, or the files of a directory. */
export async function readRemoteSkill(
  skill: RemoteSkill,
  { file = SKILL_FILE, page }: Wanted,
  internals: CallInternals,
) {
  const path = toPath(skill, file);
  const listed = skill.files === 'dynamic' ? [] : skill.files;
  if (path === '.' || listed.some((one) => one.path.startsWith(`${path}/`)))
    return { content: [textPart(describeFiles(skill, path))] };
  const bytes = await readFile(skill, path, internals);
  const content = toContent(bytes);
  if (content.kind === 'binary') {
    const what = `${quoteOutside(path, 200)} is a binary file of ${formatBytes(bytes.length)}`;
    return { content: [textPart(`${what} of the MCP server ${skill.server}.`)] };
  }
  const isMain = path === SKILL_FILE;
  const shown: readonly Part[] = showContent(skill, content, page, isMain ? undefined : path);
  return { content: isMain && page === 1 ? [...shown, textPart(describeFiles(skill, '.'))] : shown };
}

function toPath({ name, directory }: RemoteSkill, file: string): string {
  const plain = file.trim().replaceAll('\\', '/');
  const path = posix.normalize(plain.startsWith(`${directory}/`) ? plain.slice(directory.length + 1) : plain);
  if (path.startsWith('/') || path === '..' || path.startsWith('../') || /[\0?#]|:\//.test(path))
    throw new ToolError('path_escape', `${quoteOutside(file, 200)} is not inside the skill "${name}"`, {
      hint: 'give a path relative to the directory of the skill',
    });
  return path.replace(/\/$/, '');
}

async function readFile(skill: RemoteSkill, path: string, internals: CallInternals): Promise<Buffer> {
  const result = await internals.read(findUri(skill, path));
  if (result.error !== undefined) throw reviveError(result.error);
  const bytes = toBytes(result);
  if (bytes === undefined)
    throw new ToolError('not_found', `the MCP server ${skill.server} returned nothing for ${quoteOutside(path, 200)}`, {
      hint: 'contact the operator of the server',
    });
  if (bytes.length > MAX_BYTES)
    throw new ToolError('too_large', `${quoteOutside(path, 200)} is larger than ${formatBytes(MAX_BYTES)}`, {
      hint: 'it is not read',
    });
  return bytes;
}

function findUri({ name, directory, files }: RemoteSkill, path: string): string {
  if (files === 'dynamic') return `${directory}/${path.split('/').map(encodeURIComponent).join('/')}`;
  const found = files.find((file) => file.path === path);
  if (found !== undefined) return found.uri;
  const paths = files.map((file) => file.path);
  const sameName = paths.filter((one) => posix.basename(one) === posix.basename(path));
  const close = (sameName.length > 0 ? sameName : nearest(path, paths)).slice(0, 3);
  throw new ToolError('not_found', `the skill "${name}" has no file ${quoteOutside(path, 200)}`, {
    hint:
      close.length > 0
        ? `did you mean ${close.map((one) => quoteOutside(one, 200)).join(', ')}?`
        : 'read the skill without a file to see its files',
  });
}

function toBytes({ content }: ToolResult): Buffer | undefined {
  for (const part of content) {
    if (part.type === 'text') return Buffer.from(part.text);
    if (part.type !== 'resource') continue;
    const { text, blob } = part.resource;
    if (typeof text === 'string') return Buffer.from(text);
    if (typeof blob === 'string') return Buffer.from(blob, 'base64');
  }
  return undefined;
}

function describeFiles({ server, files }: RemoteSkill, below: string): string {
  return [
    `\nA skill of the MCP server ${server}; scripts of it are not run here.`,
    ...(files === 'dynamic' ? [] : describeListed(files, below, false)),
  ].join('\n');
}
