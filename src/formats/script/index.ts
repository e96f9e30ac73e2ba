// The script format: an executable file with a shebang and a comment header is a tool.

import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import type { Format, Reading } from '../../core/format.js';
import { isToolName } from '../../core/name.js';
import { type FileIdentity, type Place, toOrigin } from '../../core/origin.js';
import { type Problem, toProblem } from '../../core/problem.js';
import type { World } from '../../core/snapshot.js';
import { formatBytes, quoteWord } from '../../core/text.js';
import type { ScriptCall, Tool } from '../../core/tool.js';
import { type ReadFault, readHead } from '../../files/read.js';
import { toFileUri } from '../../files/within.js';
import { createJsonSchema } from '../../schema/json.js';
import { type HeaderFinding, readScriptHeader, type ScriptHeader, toInputSchema } from './header.js';
import { FOREIGN_SIGN, HEADER_LINES } from './tags.js';

const MAX_FILE_BYTES = 64 * 1024 * 1024;
// 80 lines of reasonable length (SCR-19).
const HEAD_BYTES = 1024 * 1024;
const ANY_EXECUTE = 0o111;

/** Reads scripts in `.agents/tools` directories (SCR). */
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
  const head = readScriptHead(path, place);
  if ('fault' in head) {
    if (fileName.includes('.')) return undefined;
    if (head.fault === 'not-a-file') {
      world.debug(`${path}: skipped, not a regular file`);
      return undefined;
    }
    return reject(path, undefined, describeFault(head));
  }
  const { identity } = head;
  if (fileName.includes('.')) return readDotted(fileName, path, head.bytes, identity);
  const finding = checkFile(fileName, head.bytes, identity);
  if (finding) return reject(path, identity, finding);

  const text = firstLines(head.bytes).toString('utf8');
  const { header, errors, warnings, unknownTags } = readScriptHeader(text);
  if (header === undefined && FOREIGN_SIGN.test(text))
    return reject(path, identity, {
      message: 'has the header of another program, but not its extension',
      hint: `rename it as it was, such as ${fileName}.sh, or write @description`,
    });
  for (const tag of unknownTags) world.debug(`${path}: unknown tag @${tag} ignored`);
  const problems = [
    ...errors.map((error) => placeIn(path, 'error', error)),
    ...warnings.map((warning) => placeIn(path, 'warning', warning)),
  ];
  const tools = header ? [toTool(fileName, path, identity, place, header)] : [];
  return { tools, problems, states: [identity] };
}

// SCR-1: a file with a dot in its name is not a tool; warn only if it has a valid header.
function readDotted(fileName: string, path: string, head: Buffer, identity: FileIdentity): Reading | undefined {
  if (head[0] !== 0x23 || readScriptHeader(firstLines(head).toString('utf8')).header === undefined) return undefined;
  const name = fileName.slice(0, fileName.indexOf('.'));
  return reject(path, identity, {
    message: 'not listed: a dot in the name',
    hint: `rename it to "${isToolName(name) ? name : 'a name without a dot'}"`,
  });
}

function readScriptHead(path: string, { boundary: within }: Place): ReturnType<typeof readHead> {
  const head = readHead(path, HEAD_BYTES, { within });
  if ('fault' in head || head.complete) return head;
  // Drops an incomplete last line, which may end within a character.
  return { ...head, bytes: head.bytes.subarray(0, head.bytes.lastIndexOf(0x0a) + 1) };
}

function checkFile(fileName: string, head: Buffer, identity: FileIdentity): HeaderFinding | undefined {
  if (!isToolName(fileName)) {
    return {
      message: 'not listed: the file name is not a tool name',
      hint: 'use at most 64 letters, digits, _ and -, and do not start with -',
    };
  }
  if (identity.size > MAX_FILE_BYTES) {
    return {
      message: `larger than ${formatBytes(MAX_FILE_BYTES)}`,
      hint: 'keep the script small and start the large program from it',
    };
  }
  if ((identity.mode & ANY_EXECUTE) === 0) return { message: 'not executable', hint: 'run', command: 'chmod +x' };
  // A binary has no shebang either, and the message about the shebang is more useful.
  if (head[0] === 0x23 && !isUtf8(firstLines(head)))
    return { message: `not UTF-8 in its first ${HEADER_LINES} lines`, hint: 'save the file as UTF-8' };
  return undefined;
}

/** `call` is how a script with a header of another program is called. */
export function toTool(
  name: string,
  file: string,
  identity: FileIdentity,
  place: Place,
  header: ScriptHeader,
  call?: ScriptCall,
): Tool {
  const { description, shebang, needs, output, traits } = header;
  return {
    name,
    description,
    input: createJsonSchema(toInputSchema(header), { closed: true }),
    output: output && createJsonSchema(output),
    action: { kind: 'process', runs: 'script', file, identity, shebang, needs, ...(call && { call }) },
    origin: { ...toOrigin('script', toFileUri(file), place), server: 'local' },
    traits,
  };
}

function describeFault({ fault, message }: ReadFault): HeaderFinding {
  return fault === 'missing'
    ? { message: 'broken symbolic link', hint: 'remove the link, or point it to a script' }
    : { message: `cannot be read: ${message}`, hint: 'check the permissions of the file and its directory' };
}

function reject(path: string, identity: FileIdentity | undefined, finding: HeaderFinding): Reading {
  return { tools: [], problems: [placeIn(path, 'error', finding)], states: [identity] };
}

function placeIn(path: string, severity: Problem['severity'], finding: HeaderFinding): Problem {
  const { hint, command } = finding;
  return toProblem(path, severity, {
    ...finding,
    hint: command === undefined ? hint : `${hint}: ${command} ${quoteWord(path)}`,
  });
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
