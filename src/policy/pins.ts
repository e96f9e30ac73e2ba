// Pins: what a tool of a package or an upstream server was when someone approved it (POL-21).

import { join } from 'node:path';
import { lineDiff } from '../core/diff.js';
import { ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import type { JsonSchema } from '../core/schema.js';
import { revealHidden } from '../core/text.js';
import type { Tool, Traits } from '../core/tool.js';
import { digestParts } from '../files/digest.js';
import { createStatCache } from '../files/stat-cache.js';
import { writeFileAtomic } from '../files/write.js';

export interface PinStore {
  /**
   * How a tool stands to its pin: never pinned, the same, or changed, with lines that say how. A tool that needs
   * no pin, because it is the user's own or trusted with its workspace, is always the same.
   */
  check(tool: Tool): 'new' | 'same' | { readonly diff: readonly string[] };
  /** Remembers found tools as they are now. */
  pin(tools: readonly Tool[], now: Date): void;
  /** What was approved of a tool, where something was. */
  approved(tool: Tool): ApprovedTool | undefined;
}

export interface ApprovedTool {
  readonly description: string;
  readonly traits: Traits;
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
}

interface Pin {
  readonly key: string;
  readonly digest: string;
  /** What a person was shown of it. */
  readonly definition: string;
  readonly since: string;
}

type Pins = ReadonlyMap<string, Pin>;

// A package or a server has a file of its own: a call reads no other's, and whoever pins at the same time writes another.
const MAX_BYTES = 64 * 1024 * 1024;

export function createPinStore(wieldHome: string, now: () => number): PinStore {
  const cache = createStatCache<Pins>({ now, limit: MAX_BYTES });
  const fileOf = (source: string): string => join(wieldHome, 'pins', `${source}.json`);
  const read = (source: string): Pins => {
    const file = fileOf(source);
    return cache.get(source, [file], ([text]) => {
      if (typeof text === 'object') throw new Error(text.message);
      return text === undefined ? new Map() : parsePins(text, file);
    });
  };
  const find = (tool: Tool): Pin | undefined => {
    const source = sourceOf(tool);
    return source === undefined ? undefined : read(source).get(keyOf(tool));
  };

  return {
    check(tool) {
      if (sourceOf(tool) === undefined) return 'same';
      const pin = find(tool);
      if (pin === undefined) return 'new';
      if (pin.digest === tool.origin.digest) return 'same';
      const diff = lineDiff(pin.definition, describeTool(tool)).map(revealHidden);
      return { diff: diff.length > 0 ? diff : [unseenChange(tool)] };
    },
    pin(tools, at) {
      const changed = new Map<string, Map<string, Pin>>();
      for (const tool of tools) {
        const source = sourceOf(tool);
        const { digest } = tool.origin;
        if (source === undefined || digest === null) continue;
        const pins = changed.get(source) ?? new Map(read(source));
        const key = keyOf(tool);
        pins.set(key, { key, digest, definition: describeTool(tool), since: at.toISOString() });
        changed.set(source, pins);
      }
      for (const [source, pins] of changed) {
        const document = { version: 1, pins: [...pins.values()] };
        writeFileAtomic(fileOf(source), `${JSON.stringify(document, null, 2)}\n`);
      }
    },
    approved(tool) {
      const pin = find(tool);
      return pin && readDefinition(pin.definition);
    },
  };
}

// Whose tool it is, as the name of a file; undefined where it needs no pin.
function sourceOf({ origin: { owner, source, server } }: Tool): string | undefined {
  if (owner !== 'package' && owner !== 'upstream') return undefined;
  const parts = [owner, source ?? '', server ?? ''];
  const key = JSON.stringify(parts);
  let name = sources.get(key);
  if (name === undefined) {
    name = digestParts(parts).slice(0, 32);
    sources.set(key, name);
  }
  return name;
}

// As many as there are packages and servers.
const sources = new Map<string, string>();

// Two tools of a server can have one name here, and only one of them gets it.
function keyOf({ name, origin: { owner, uri } }: Tool): string {
  return owner === 'upstream' && uri !== null ? uri : name;
}

// A line a fact, so that a diff shows which of them changed.
function describeTool({ description, input, output, action, traits }: Tool): string {
  return JSON.stringify(
    {
      description: description.split('\n'),
      traits,
      input: input.json,
      output: output?.json,
      // The state of a file is not what it says, and a hash says nothing to a person.
      action: {
        // First, so that no other line changes with it.
        ...('described' in action ? { described: action.described } : {}),
        ...action,
        identity: undefined,
        configuration: undefined,
        definition: undefined,
      },
    },
    null,
    1,
  );
}

function unseenChange({ action }: Tool): string {
  return action.kind === 'remote'
    ? 'how its server is configured changed, or what its server adds for programs'
    : 'what it runs changed, and nothing of its description';
}

function readDefinition(definition: string): ApprovedTool {
  const { description, traits, input, output } = JSON.parse(definition) as {
    readonly description: readonly string[];
    readonly traits: Traits;
    readonly input: JsonSchema;
    readonly output?: JsonSchema;
  };
  return { description: description.join('\n'), traits, input, ...(output === undefined ? {} : { output }) };
}

function parsePins(text: string, file: string): Pins {
  let pins: unknown;
  try {
    const document = JSON.parse(text) as unknown;
    pins = isRecord(document) ? document.pins : undefined;
  } catch {
    pins = undefined;
  }
  if (!Array.isArray(pins) || !pins.every(isPin)) {
    throw new ToolError('io', `${file} cannot be read as a record of pins`, {
      hint: 'move it away; what was approved is then asked for again',
    });
  }
  return new Map(pins.map((pin) => [pin.key, pin]));
}

function isPin(value: unknown): value is Pin {
  return (
    isRecord(value) &&
    typeof value.key === 'string' &&
    typeof value.digest === 'string' &&
    typeof value.definition === 'string'
  );
}
