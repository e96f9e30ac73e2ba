// Splits the frontmatter from a Markdown text and reads it: plain lines by hand, anything more by a YAML parser.

import { isRecord } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import type { Complaint } from '../script/header.js';

export interface Frontmatter {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The text below it. */
  readonly body: string;
  readonly warnings: readonly Complaint[];
}

const FENCE = /^---[ \t]*\r?\n([\s\S]*?)(?:\r?\n)?^(?:---|\.\.\.)[ \t]*$/m;
const PLAIN_LINE = /^([A-Za-z_][\w-]*):[ \t]+([A-Za-z][^#:"'`&*!|>%@{}[\],]*)$/;
const WORDS = new Set([
  'true',
  'false',
  'null',
  'yes',
  'no',
  'on',
  'off',
  'True',
  'False',
  'Null',
  'TRUE',
  'FALSE',
  'NULL',
]);
const MAX_CHARACTERS = 64 * 1024;

/** The frontmatter of a text, or what is wrong with it. */
export function readFrontmatter(text: string): Frontmatter | Complaint {
  const source = text.startsWith('\ufeff') ? text.slice(1) : text;
  const match = source.startsWith('---') ? FENCE.exec(source) : null;
  if (match === null || match.index !== 0) {
    return {
      message: 'has no frontmatter',
      hint: 'begin it with a block between two lines of ---, with name: and description:',
    };
  }
  const block = match[1]!;
  const body = source.slice(match[0].length).replace(/^\r?\n/, '');
  if (block.length > MAX_CHARACTERS)
    return { message: 'has a frontmatter of over 64 KiB', hint: 'shorten it' };
  const plain = readPlain(block);
  if (plain) return { fields: plain, body, warnings: [] };
  return readYaml(block, body);
}

// Most frontmatters are a few lines of `key: words`; those need no parser, whose loading takes longer than a listing.
function readPlain(block: string): Record<string, string> | undefined {
  const fields: Record<string, string> = {};
  for (const line of block.split(/\r?\n/)) {
    if (line.trim() === '') continue;
    const match = PLAIN_LINE.exec(line);
    if (match === null || WORDS.has(match[2]!.trim()) || Object.hasOwn(fields, match[1]!)) return undefined;
    fields[match[1]!] = match[2]!.trim();
  }
  return fields;
}

function readYaml(block: string, body: string): Frontmatter | Complaint {
  const { createRequire } = process.getBuiltinModule('node:module');
  const yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  try {
    const fields = yaml.parse(block, { maxAliasCount: 20, schema: 'core' }) as unknown;
    if (isRecord(fields)) return { fields, body, warnings: [] };
    return {
      message: 'has a frontmatter that is no list of fields',
      hint: 'write name: … and description: …',
    };
  } catch (error) {
    const reason = quoteOutside((error as Error).message.split('\n')[0]!.replace(/:$/, ''), 160);
    const fields = readLoose(block);
    if (fields === undefined) {
      return {
        message: `has a frontmatter that is not YAML: ${reason}`,
        hint: 'put values with a colon in quotes',
      };
    }
    return {
      fields,
      body,
      warnings: [
        {
          message: `has a frontmatter that is not quite YAML: ${reason}`,
          hint: 'put values with a colon in quotes',
        },
      ],
    };
  }
}

// An unquoted colon in a description is the commonest slip: a line at the margin is then taken as it stands.
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
