// What `read_skill` returns of a file and of the list of files, for skills of any place.

import { ToolError } from '../core/error.js';
import { type Part, textPart } from '../core/result.js';
import type { Skill } from '../core/skill.js';
import { formatBytes, quoteOutside } from '../core/text.js';
import { SKILL_FILE, type SkillContent, type SkillFile, toPages } from './skill-files.js';

export const READ_SKILL = 'read_skill';

/** Returns a page, and how to read the others (SKL-10). */
export function toPageContent(skill: Pick<Skill, 'name'>, text: string, page: number, file?: string): Part[] {
  const pages = toPages(text);
  const shown = pages[page - 1];
  if (shown === undefined)
    throw new ToolError('invalid_input', `there is no page ${page}: the text has ${pages.length}`, {
      hint: `page must be from 1 to ${pages.length}`,
    });
  if (pages.length === 1) return [textPart(text)];
  const input = (at: number) => JSON.stringify({ skill_name: skill.name, file, page: at });
  const others = pages.flatMap(({ heading }, at) =>
    at + 1 === page
      ? []
      : [`  ${READ_SKILL} ${input(at + 1)}${heading ? ` begins at: ${quoteOutside(heading, 100)}` : ''}`],
  );
  return [textPart(shown.text), textPart([`[page ${page} of ${pages.length}; the others:`, ...others, ']'].join('\n'))];
}

/** Returns the content of a text or an image of a skill. */
export function showContent(
  skill: Pick<Skill, 'name'>,
  content: Exclude<SkillContent, { kind: 'binary' }>,
  page: number,
  path?: string,
): readonly Part[] {
  if (content.kind === 'text') return toPageContent(skill, content.text, page, path);
  return [{ type: 'image', data: content.bytes.toString('base64'), mimeType: content.mimeType }];
}

/** Returns lines about the files of a skill, or of a directory of it. */
export function describeListed(files: readonly SkillFile[], below: string, isCut: boolean): readonly string[] {
  const listed = files.filter(({ path }) => path !== SKILL_FILE && (below === '.' || path.startsWith(`${below}/`)));
  const lines = listed.map(({ path, size }) => `  ${quoteOutside(path, 300)} (${formatBytes(size)})`);
  const shown = lines.slice(0, MAX_LINES);
  return [
    ...(lines.length === 0 ? [] : [`Files, read with ${READ_SKILL} and file:`, ...shown]),
    ...(isCut || lines.length > shown.length ? ['  … and more; give a directory as file to list it'] : []),
  ];
}

const MAX_LINES = 200;
