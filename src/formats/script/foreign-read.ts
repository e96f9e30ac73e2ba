// Reads a script with the header of another program; loaded when a directory has a file with an extension.

import { isUtf8 } from 'node:buffer';
import { extname, join } from 'node:path';
import type { Reading } from '../../core/format.js';
import { isToolName } from '../../core/name.js';
import type { Place } from '../../core/origin.js';
import { toProblem } from '../../core/problem.js';
import { sanitize } from '../../core/text.js';
import { readHead } from '../../files/read.js';
import { readArgc } from './argc.js';
import type { ScriptHeader } from './header.js';
import { toTool } from './index.js';
import { readRaycast } from './raycast.js';
import { readShebang } from './shebang.js';
import { HEADER_LINES } from './tags.js';

const HEAD_BYTES = 64 * 1024;
const SIGN = /^\s*(?:#|\/\/|--)\s*@(?:describe\s|raycast\.title\s)/m;

/** Undefined if the file has no such header (SCR-29). */
export function readForeignScript(fileName: string, place: Place): Reading | undefined {
  const path = join(place.directory, fileName);
  const head = readHead(path, HEAD_BYTES, { within: place.boundary });
  if ('fault' in head || head.bytes[0] !== 0x23 || !isUtf8(head.bytes)) return undefined;
  const { identity } = head;
  const text = head.bytes.toString('utf8').split(/\r?\n/, HEADER_LINES).join('\n');
  if (!SIGN.test(text)) return undefined;
  const refuse = (message: string, hint: string): Reading => ({
    tools: [],
    problems: [toProblem(path, 'error', { message, hint })],
    states: [identity],
  });
  const name = fileName.slice(0, -extname(fileName).length).replaceAll('.', '-');
  if (!isToolName(name)) return refuse('not listed: the file name is not a tool name', 'rename it');
  if ((identity.mode & 0o111) === 0) return refuse('not executable', `run: chmod +x ${path}`);
  const shebang = readShebang(text);
  if (typeof shebang !== 'string') return refuse(shebang.message, shebang.hint);
  const found = readArgc(text) ?? readRaycast(text);
  if (found === undefined || typeof found === 'string') return refuse(found ?? 'has no title', 'fix its header');
  const header: ScriptHeader = { ...found, shebang, description: sanitize(found.description), examples: [] };
  const tool = toTool(name, path, identity, place, header, found.call);
  return { tools: [tool], problems: [], states: [identity] };
}
