// Pins: what a tool of a package or an upstream server was when someone approved it (POL-21).

import { join } from 'node:path';
import { lineDiff } from '../core/diff.js';
import { ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import type { JsonSchema } from '../core/schema.js';
import { revealHidden } from '../core/text.js';
import { type FileIdentity, sameIdentity, type Tool } from '../core/tool.js';
import { readTextFile, statIdentity } from '../files/read.js';
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

export function createPinStore(wieldHome: string): PinStore {
  const file = join(wieldHome, 'pins.json');
  let known: { readonly state: FileIdentity | undefined; readonly pins: Map<string, Pin> } | undefined;

  // Asked at every call of such a tool: read again only where the file changed.
  const read = (): Map<string, Pin> => {
    const state = statIdentity(file);
    if (known === undefined || !sameIdentity(known.state, state)) {
      const text = readTextFile(file);
      known = { state, pins: text === undefined ? new Map() : parsePins(text, file) };
    }
    return known.pins;
  };

  return {
    check(tool) {
      const key = keyOf(tool);
      if (key === undefined) return 'same';
      const pin = read().get(key);
      if (pin === undefined) return 'new';
      if (pin.digest === tool.origin.digest) return 'same';
      const diff = lineDiff(pin.definition, describeTool(tool)).map(revealHidden);
      return { diff: diff.length > 0 ? diff : [unseenChange(tool)] };
    },
    pin(tools, now) {
      const kept = tools.filter((tool) => keyOf(tool) !== undefined);
      if (kept.length === 0) return;
      const pins = new Map(read());
      for (const tool of kept) {
        const key = keyOf(tool);
        const { digest } = tool.origin;
        if (key === undefined || digest === null) continue;
        pins.set(key, { key, digest, definition: describeTool(tool), since: now.toISOString() });
      }
      writeFileAtomic(file, `${JSON.stringify({ version: 1, pins: [...pins.values()] }, null, 2)}\n`);
      known = undefined;
    },
    approved(tool) {
      const key = keyOf(tool);
      const pin = key === undefined ? undefined : read().get(key);
      return pin === undefined ? undefined : readDefinition(pin.definition);
    },
  };
}

function keyOf({ name, origin }: Tool): string | undefined {
  if (origin.owner !== 'package' && origin.owner !== 'upstream') return undefined;
  return JSON.stringify([origin.owner, origin.source ?? origin.server, name]);
}

// A line a fact, so that a diff shows which of them changed.
function describeTool({ description, input, output, action, traits }: Tool): string {
  const { title, readOnly, destructive, idempotent, openWorld } = traits;
  return JSON.stringify(
    {
      description: description.split('\n'),
      input: input.json,
      output: output?.json,
      traits: { title, readOnly, destructive, idempotent, openWorld },
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
  const { description, input, output } = JSON.parse(definition) as {
    readonly description: readonly string[];
    readonly input: JsonSchema;
    readonly output?: JsonSchema;
  };
  return { description: description.join('\n'), input, ...(output === undefined ? {} : { output }) };
}

function parsePins(text: string, file: string): Map<string, Pin> {
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
