// Scripts with headers of other programs, as they are in their repositories: argc (llm-functions) and Raycast.

import { isUtf8 } from 'node:buffer';
import { extname, join } from 'node:path';
import { type Format, type Reading, rejected } from '../../core/format.js';
import { isToolName } from '../../core/name.js';
import type { Place } from '../../core/origin.js';
import { sanitize } from '../../core/text.js';
import { readHead } from '../../files/read.js';
import { readArgc } from './argc.js';
import { readShebang, type ScriptHeader } from './header.js';
import { toTool } from './index.js';
import { readRaycast } from './raycast.js';
import { FOREIGN_SIGN, HEADER_LINES } from './tags.js';

const FILE = /^[^.]+\.(?:sh|bash|py|rb|js|swift|applescript)$/;
const HEAD_BYTES = 64 * 1024;

/** Reads files such as `search.sh`, named without their extension (SCR-29). */
export function createForeignScriptFormat(): Format {
  return {
    name: 'foreign-script',
    shownAs: 'script',
    places: ['tools'],
    entries: 'files',
    claims: (name) => FILE.test(name),
    read: readForeignScript,
  };
}

// Undefined if the file has no such header.
function readForeignScript(fileName: string, place: Place): Reading | undefined {
  const path = join(place.directory, fileName);
  const head = readHead(path, HEAD_BYTES, { within: place.boundary });
  if ('fault' in head || head.bytes[0] !== 0x23 || !isUtf8(head.bytes)) return undefined;
  const { identity } = head;
  const text = head.bytes.toString('utf8').split(/\r?\n/, HEADER_LINES).join('\n');
  if (!FOREIGN_SIGN.test(text)) return undefined;
  const refuse = (message: string, hint: string): Reading => rejected(path, { message, hint }, [identity]);
  const name = fileName.slice(0, -extname(fileName).length).replaceAll('.', '-');
  if (!isToolName(name)) return refuse('not listed: the file name is not a tool name', 'rename it');
  if ((identity.mode & 0o111) === 0) return refuse('not executable', `run: chmod +x ${path}`);
  const shebang = readShebang(text);
  if (typeof shebang !== 'string') return refuse(shebang.message, shebang.hint);
  const found = readArgc(text) ?? readRaycast(text);
  if (found === undefined || typeof found === 'string') return refuse(found ?? 'has no title', 'fix its header');
  const header: ScriptHeader = { ...found, shebang, description: sanitize(found.description) };
  const tool = toTool(name, path, identity, place, header, found.call);
  return { tools: [tool], problems: [], states: [identity] };
}
