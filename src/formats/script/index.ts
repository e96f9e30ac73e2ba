// The script format: a file with a shebang and a comment header is a tool.

import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Format, Place, Reading } from '../../core/format.js';
import { isToolName } from '../../core/name.js';
import type { Problem } from '../../core/problem.js';
import { type JsonSchema, NO_PARAMETERS } from '../../core/schema.js';
import { formatBytes } from '../../core/text.js';
import type { FileIdentity, Tool, Traits } from '../../core/tool.js';
import type { World } from '../../core/world.js';
import { type ReadFault, readHead } from '../../files/read.js';
import { createJsonSchema } from '../../schema/json.js';
import { type Complaint, HEADER_LINES, readScriptHeader, type ScriptHeader } from './header.js';

const MAX_FILE_BYTES = 64 * 1024 * 1024;
// Nearly every header fits the first read; the second covers 80 lines of any sane length (SCR-19).
const HEAD_BYTES = 8 * 1024;
const LONG_HEAD_BYTES = 1024 * 1024;
const ANY_EXECUTE = 0o111;

/** Reads scripts of `.agents/tools` directories (SCR). */
export function createScriptFormat(world: World): Format {
  return {
    name: 'script',
    places: ['tools'],
    entries: 'files',
    claims: (fileName) => !fileName.startsWith('.'),
    entryOf: (toolName) => toolName,
    read: (fileName, place) => readScript(fileName, place, world),
  };
}

function readScript(fileName: string, place: Place, world: World): Reading | undefined {
  const path = join(place.directory, fileName);
  const head = readScriptHead(path);
  if ('fault' in head) {
    if (fileName.includes('.')) return undefined;
    if (head.fault === 'not-a-file') {
      world.debug(`${path}: passed over, not a regular file`);
      return undefined;
    }
    return refuse(path, undefined, describeFault(head));
  }
  const { identity } = head;
  if (fileName.includes('.')) return readDotted(fileName, path, head.bytes, identity);
  const complaint = findFileFault(fileName, head.bytes, identity);
  if (complaint) return refuse(path, identity, complaint);

  const reading = readScriptHeader(firstLines(head.bytes).toString('utf8'));
  for (const tag of reading.unknownTags) world.debug(`${path}: unknown tag @${tag} ignored`);
  const problems: Problem[] = [
    ...reading.errors.map((error) => toProblem('error', path, error)),
    ...reading.warnings.map((warning) => toProblem('warning', path, warning)),
  ];
  const tools = reading.header ? [toTool(fileName, path, identity, place, reading.header)] : [];
  return { tools, problems, states: [identity] };
}

// SCR-1: a dotted name is no tool; only one whose header says that it was meant as one earns a word.
function readDotted(
  fileName: string,
  path: string,
  head: Buffer,
  identity: FileIdentity,
): Reading | undefined {
  if (head[0] !== 0x23 || readScriptHeader(firstLines(head).toString('utf8')).header === undefined)
    return undefined;
  const name = fileName.slice(0, fileName.indexOf('.'));
  return refuse(path, identity, {
    message: 'not listed: a dot in the name',
    hint: `rename it to "${isToolName(name) ? name : 'a name without a dot'}"`,
  });
}

function readScriptHead(path: string): ReturnType<typeof readHead> {
  const head = readHead(path, HEAD_BYTES);
  if ('fault' in head || head.complete || head.bytes[0] !== 0x23 || countLines(head.bytes) >= HEADER_LINES)
    return head;
  const long = readHead(path, LONG_HEAD_BYTES);
  if ('fault' in long || long.complete) return long;
  // The cut may fall into a character: an unfinished last line is left out.
  return { ...long, bytes: long.bytes.subarray(0, long.bytes.lastIndexOf(0x0a) + 1) };
}

function findFileFault(fileName: string, head: Buffer, identity: FileIdentity): Complaint | undefined {
  if (!isToolName(fileName)) {
    return {
      message: 'not listed: the file name is not a tool name',
      hint: 'use at most 64 letters, digits, _ and -, and do not begin with -',
    };
  }
  if (identity.size > MAX_FILE_BYTES) {
    return {
      message: `larger than ${formatBytes(MAX_FILE_BYTES)}`,
      hint: 'keep the script small and let it start the large program',
    };
  }
  if ((identity.mode & ANY_EXECUTE) === 0)
    return { message: 'not executable', hint: 'let it be run', command: 'chmod +x' };
  // An executable that is no script has no shebang either, and that is the more useful thing to say.
  if (head[0] === 0x23 && !isUtf8(firstLines(head))) {
    return {
      message: `not UTF-8 in its first ${HEADER_LINES} lines`,
      hint: 'save the file as UTF-8',
    };
  }
  return undefined;
}

function describeFault(fault: ReadFault): Complaint {
  return fault.fault === 'missing'
    ? { message: 'a link that leads nowhere', hint: 'remove the link, or make it point to a script' }
    : {
        message: `cannot be read: ${fault.message}`,
        hint: 'check the permissions of the file and its directory',
      };
}

function toTool(
  name: string,
  file: string,
  identity: FileIdentity,
  place: Place,
  header: ScriptHeader,
): Tool {
  const output = toOutputSchema(header);
  return {
    name,
    description: header.description,
    input: createJsonSchema(toInputSchema(header), { closed: true }),
    ...(output === undefined ? {} : { output: createJsonSchema(output) }),
    action: {
      kind: 'process',
      runs: 'script',
      file,
      identity,
      shebang: header.shebang,
      needs: header.needs,
      ...(header.sandbox === undefined ? {} : { sandbox: header.sandbox }),
    },
    origin: {
      format: 'script',
      get uri() {
        return pathToFileURL(file).href;
      },
      directory: place.directory,
      source: null,
      digest: null,
      server: 'local',
      owner: place.owner,
    },
    traits: toTraits(header),
  };
}

// SCR-8: one property a parameter, in header order.
function toInputSchema(header: ScriptHeader): JsonSchema {
  if (header.parameters.length === 0) return NO_PARAMETERS;
  const required = header.parameters
    .filter((parameter) => parameter.required)
    .map((parameter) => parameter.name);
  return {
    type: 'object',
    properties: Object.fromEntries(
      header.parameters.map(({ name, type, description }) => [name, { type, description }]),
    ),
    ...(required.length > 0 ? { required } : {}),
  };
}

function toOutputSchema(header: ScriptHeader): JsonSchema | undefined {
  if (header.returns === undefined) return undefined;
  const { type, description } = header.returns;
  return description === '' ? { type } : { type, description };
}

function toTraits(header: ScriptHeader): Traits {
  return {
    ...(header.group === undefined ? {} : { group: header.group }),
    tags: header.tags,
    hidden: header.flags.has('hidden'),
    terminal: header.flags.has('terminal'),
    ...(header.flags.has('readonly') ? { readOnly: true } : {}),
    ...(header.flags.has('destructive') ? { destructive: true } : {}),
    ...(header.timeoutMs === undefined ? {} : { timeoutMs: header.timeoutMs }),
    examples: header.examples,
  };
}

function refuse(path: string, identity: FileIdentity | undefined, complaint: Complaint): Reading {
  return { tools: [], problems: [toProblem('error', path, complaint)], states: [identity] };
}

function toProblem(severity: Problem['severity'], path: string, complaint: Complaint): Problem {
  const { message, hint, command } = complaint;
  return {
    severity,
    path,
    message,
    hint: command === undefined ? hint : `${hint}: ${command} ${shellWord(path)}`,
  };
}

function shellWord(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replace(/'/g, `'\\''`)}'`;
}

function firstLines(bytes: Buffer): Buffer {
  let end = 0;
  for (let line = 0; line < HEADER_LINES; line++) {
    const next = bytes.indexOf(0x0a, end);
    if (next === -1) return bytes;
    end = next + 1;
  }
  return bytes.subarray(0, end);
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) lines++;
  return lines;
}
