// Parses the YAML frontmatter of a Markdown file; simple `key: value` lines are read without a YAML parser.

import { isRecord } from '../../core/json.js';
import type { Finding } from '../../core/problem.js';
import { parseYaml, type YamlFault } from '../../files/yaml.js';

export interface Frontmatter {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The text below the frontmatter. */
  readonly body: string;
  readonly warnings: readonly Finding[];
}

const FENCE = /^---[ \t]*\r?\n([\s\S]*?)(?:\r?\n)?^(?:---|\.\.\.)[ \t]*$/m;
const PLAIN_LINE = /^([A-Za-z_][\w-]*):[ \t]+([A-Za-z][^#:"'`&*!|>%@{}[\],]*)$/;
const YAML_KEYWORD = /^(?:true|false|null|yes|no|on|off|True|False|Null|TRUE|FALSE|NULL)$/;
const MAX_CHARACTERS = 64 * 1024;
// What to do about a fault, by the code of the YAML parser.
const HINTS: readonly (readonly [codes: readonly string[], hint: string])[] = [
  [['BLOCK_AS_IMPLICIT_KEY', 'BLOCK_IN_FLOW'], 'put values that contain a colon in quotes'],
  [['TAB_AS_INDENT'], 'indent with spaces, not with tabs'],
  [['BAD_INDENT'], 'indent the lines of a list or mapping equally, and close every quote and bracket'],
  [['DUPLICATE_KEY'], 'remove one of the two keys'],
  [['MISSING_CHAR'], 'close the quote or bracket, or add the missing colon'],
  [['MULTILINE_IMPLICIT_KEY'], 'indent the following lines, or write the value in one line'],
  [['BAD_ALIAS'], 'put values that start with * or & in quotes'],
  [['BAD_SCALAR_START'], 'put values that start with @ or ` in quotes'],
];

/** Returns the frontmatter of a text, or what is wrong with it. */
export function readFrontmatter(text: string): Frontmatter | Finding {
  const source = text.startsWith('\ufeff') ? text.slice(1) : text;
  const match = source.startsWith('---') ? FENCE.exec(source) : null;
  if (match === null || match.index !== 0) {
    return {
      message: 'has no frontmatter',
      hint: 'start the file with name: and description: between two lines of ---',
    };
  }
  const block = match[1]!;
  const body = source.slice(match[0].length).replace(/^\r?\n/, '');
  if (block.length > MAX_CHARACTERS) return { message: 'frontmatter is over 64 KiB', hint: 'shorten it' };
  const plain = readPlain(block);
  return plain ? { fields: plain, body, warnings: [] } : readYaml(block, body);
}

// Most frontmatter is simple, and needs no YAML parser.
function readPlain(block: string): Record<string, string> | undefined {
  const fields: Record<string, string> = {};
  for (const line of block.split(/\r?\n/)) {
    if (line.trim() === '') continue;
    const match = PLAIN_LINE.exec(line);
    if (match === null || YAML_KEYWORD.test(match[2]!.trim()) || Object.hasOwn(fields, match[1]!)) return undefined;
    fields[match[1]!] = match[2]!.trim();
  }
  return fields;
}

function readYaml(block: string, body: string): Frontmatter | Finding {
  const parsed = parseYaml(block, { maxAliasCount: 20 });
  if ('document' in parsed) {
    const { document: fields } = parsed;
    if (isRecord(fields)) return { fields, body, warnings: [] };
    return { message: 'frontmatter must be a YAML mapping', hint: 'write name: … and description: …' };
  }
  const problem = toProblem(parsed);
  const fields = readLoose(block);
  return fields === undefined ? problem : { fields, body, warnings: [problem] };
}

// The frontmatter starts in the second line of the file.
function toProblem({ message, code, line, column }: YamlFault): Finding {
  return {
    message: `frontmatter is not valid YAML: ${message}`,
    hint: HINTS.find(([codes]) => codes.includes(code))?.[1] ?? 'put the value in quotes, or fix the line',
    ...(line === undefined ? {} : { line: line + 1, column }),
  };
}

// Fallback for invalid YAML, most often an unquoted colon in a description: takes top-level lines literally.
function readLoose(block: string): Record<string, string> | undefined {
  const fields: Record<string, string> = {};
  let last: string | undefined;
  for (const line of block.split(/\r?\n/)) {
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue;
    const match = /^([A-Za-z_][\w-]*):(?:[ \t]+(.*))?$/.exec(line);
    if (match) {
      last = match[1]!;
      fields[last] = (match[2] ?? '').trim().replace(/^(["'])(.*)\1$/, '$2');
    } else if (last !== undefined && /^\s/.test(line)) fields[last] = `${fields[last]} ${line.trim()}`.trim();
    else return undefined;
  }
  return fields;
}
