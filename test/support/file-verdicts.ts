// What the code and the schemas for editors say about a file, and which faults only the code can find.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { stringify as stringifyToml } from 'smol-toml';
import { stringify as stringifyYaml } from 'yaml';
import { readConfigFile } from '../../src/config/read.js';
import { isToolError } from '../../src/core/error.js';
import { isRecord, type Json, mapValues } from '../../src/core/json.js';
import { parseSkillFile } from '../../src/formats/shared/skill-file.js';
import { readSkillMetadata } from '../../src/formats/skill/metadata.js';
import { isSplitLayout, readToolsDescriptor } from '../../src/formats/tools-json/parse.js';
import { readLock } from '../../src/install/lock-file.js';
import { HEAD, parseRecording } from '../../src/ui/recording/recording.js';
import { readServers } from '../../src/upstream/entries/file.js';
import { FILE_SCHEMAS } from './file-schemas.js';

export type FileKind = keyof typeof FILE_SCHEMAS;

const ajv = new Ajv2020({ strict: false, validateFormats: false });
const validators = mapValues(FILE_SCHEMAS, (schema) => ajv.compile(schema));

/** Returns what the schema says, or undefined. */
export function findSchemaFault(kind: FileKind, document: Json): string | undefined {
  const validate = validators[kind]!;
  return validate(document) ? undefined : ajv.errorsText(validate.errors);
}

const isError = ({ severity }: { readonly severity: string }): boolean => severity === 'error';
const messageOf = ({ message }: { readonly message: string }): string => message;

function attempt(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (!isToolError(error)) throw error;
    return [error.message];
  }
}

/** Returns what the code says; `directory` is for files. */
export function findCodeFaults(kind: FileKind, document: Json, directory: string): readonly string[] {
  const text = JSON.stringify(document);
  switch (kind) {
    case 'config':
      return readConfigFile('config.toml', 'user', isRecord(document) ? stringifyToml(document) : '=')
        .problems.filter(isError)
        .map(messageOf);
    case 'tools':
      return readToolsDescriptor(isSplitLayout(document) ? withParts(document) : { tools: document }).findings.map(
        ({ pointer, message }) => `${pointer} ${message}`,
      );
    case 'skill':
      return findSkillFaults(`---\n${stringifyYaml(document)}---\n`);
    case 'mcp':
      return readServers(text, { file: 'mcp.json', owner: 'user' }).problems.filter(isError).map(messageOf);
    case 'lock': {
      const file = join(directory, 'wield.lock');
      writeFileSync(file, text);
      return attempt(() => readLock(file));
    }
    case 'recording': {
      const isHead = isRecord(document) && document.type === HEAD.type;
      return attempt(() => parseRecording(isHead ? text : `${JSON.stringify(HEAD)}\n${text}`, 'recording.jsonl'));
    }
  }
}

/** Returns what `wield check` reports for the text of a SKILL.md. */
function findSkillFaults(text: string): readonly string[] {
  const { skill, errors, warnings } = parseSkillFile(text, 'directory');
  const metadata = skill === undefined ? undefined : readSkillMetadata(skill.metadata);
  const found = [...errors, ...warnings, ...(metadata?.warnings ?? []), ...(metadata?.error ? [metadata.error] : [])];
  return found.map(messageOf);
}

// The other files of the split layout, for the tools that it declares.
function withParts(tools: Json) {
  const names = (tools as readonly Json[]).flatMap((tool) => (isRecord(tool) ? [tool.name] : []));
  const execution = names
    .filter((name) => typeof name === 'string' && name.trim() !== '')
    .map((tool) => ({ tool, binary: 'cat', subcommand: '' }));
  return { tools, allowlist: { cat: [''] }, execution };
}

/** Faults that JSON Schema cannot express, and why. */
const ONLY_CODE: readonly (readonly [kinds: readonly FileKind[], message: RegExp, reason: string])[] = [
  [
    ['config', 'mcp', 'skill'],
    /selector|rules|allowed-tools|match is|"for" of|cannot be used/,
    'the grammar of selectors',
  ],
  [
    ['config', 'mcp', 'skill'],
    /must be a duration|must be a size|is not a duration/,
    'the range of a number with a unit',
  ],
  [['config', 'skill'], /must be an array of directories|metadata\.paths/, 'globs'],
  [['config', 'mcp'], /may restrict the server/, 'names that are similar to others'],
  [['config', 'mcp'], /\$\{|reference|secret|process list/, 'references inside of strings'],
  [['config', 'mcp'], /must begin with https|must be an address/, 'the grammar of URLs'],
  [['mcp'], /duplicate server/, 'a name in two tables'],
  [['mcp'], /sandbox/, 'the sandbox of the file, which applies to entries without their own'],
  [['tools'], /is declared twice|is not declared|has no execution|allowlist|same condition/, 'references between keys'],
  [['tools'], /is not a regular expression/, 'the grammar of regular expressions'],
  [['tools'], /cannot be set by a parameter/, 'a variable that is named by its parameter'],
  [['skill'], /invisible characters|name ".*" is not allowed/, 'characters that are not visible, and numbers as names'],
  [['skill'], /is read as allowed-tools/, 'misspelled keys'],
  [['lock'], /must be a repository/, 'addresses of repositories'],
];

/** Returns the disagreement of schema and code about a document, if there is one. */
export function findDisagreement(kind: FileKind, document: Json, faults: readonly string[]): string | undefined {
  const bySchema = findSchemaFault(kind, document);
  if (faults.length === 0) return bySchema === undefined ? undefined : `only the schema: ${bySchema}`;
  if (bySchema !== undefined) return undefined;
  const others = faults.filter(
    (fault) => !ONLY_CODE.some(([kinds, message]) => kinds.includes(kind) && message.test(fault)),
  );
  return others.length === 0 ? undefined : `only the code: ${others.join('; ')}`;
}
