// Stored consent: pinned definitions of tools from packages and upstream servers (POL-21), and approvals.

import { dirname, join } from 'node:path';
import type { Approvals } from '../core/approval.js';
import { lineDiff } from '../core/diff.js';
import { ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import type { JsonSchema } from '../core/schema.js';
import type { Snapshot } from '../core/snapshot.js';
import { revealHidden } from '../core/text.js';
import type { Tool, Traits } from '../core/tool.js';
import type { Caller } from '../core/toolbox.js';
import type { World } from '../core/world.js';
import { digestParts } from '../files/digest.js';
import { createStatCache, readStateFile } from '../files/read.js';
import { checkStateDirectory } from '../files/state.js';
import { writeFileAtomic } from '../files/write.js';
import type { Rules } from './decide.js';

export interface PinStore {
  /**
   * Compares a tool with its pin: never pinned, the same, or changed, with a diff. Tools of the user and of
   * workspaces have no pins and are always the same.
   */
  check(tool: Tool): 'new' | 'same' | { readonly diff: readonly string[] };
  /** Pins the present definitions of tools. */
  pin(tools: readonly Tool[], now: Date): void;
  /** Returns the approved definition of a tool. */
  approved(tool: Tool): ApprovedTool | undefined;
}

export interface ApprovedTool {
  readonly description: string;
  readonly traits: Traits;
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
}

export interface Pin {
  readonly key: string;
  readonly digest: string;
  /** As a person was shown it. */
  readonly definition: string;
  readonly since: string;
}

export type Pins = ReadonlyMap<string, Pin>;

/** Where pins are stored, by source: each package and each server has its own. */
export interface PinPlace {
  read(source: string): Pins;
  write(source: string, pins: Pins): void;
}

const MAX_BYTES = 64 * 1024 * 1024;

export function createPinStore(wieldHome: string, now: () => number): PinStore {
  return createPins(createPinFiles(wieldHome, now));
}

// Each source has its own file, so that a call reads little and parallel pinning does not conflict.
function createPinFiles(wieldHome: string, now: () => number): PinPlace {
  const cache = createStatCache<Pins>({ now, limit: MAX_BYTES, isState: () => true });
  const fileOf = (source: string): string => join(wieldHome, 'pins', `${source}.json`);
  return {
    read(source) {
      const file = fileOf(source);
      return cache.get(source, [file], ([text]) => {
        if (text === undefined) return new Map();
        checkStateDirectory(dirname(file));
        return parsePins(typeof text === 'string' ? text : (readStateFile(file, MAX_BYTES) ?? ''), file);
      });
    },
    write(source, pins) {
      const document = { version: 1, pins: [...pins.values()] };
      writeFileAtomic(fileOf(source), `${JSON.stringify(document, null, 2)}\n`);
    },
  };
}

export function createPins({ read, write }: PinPlace): PinStore {
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
      for (const [source, pins] of changed) write(source, pins);
    },
    approved(tool) {
      const pin = find(tool);
      return pin && readDefinition(pin.definition);
    },
  };
}

// Returns the name of the file for the source of a tool; undefined if it needs no pin.
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

const sources = new Map<string, string>();

// Two tools of a server can have the same name here.
function keyOf({ name, origin: { owner, uri } }: Tool): string {
  return owner === 'upstream' && uri !== null ? uri : name;
}

// One fact per line, so that a diff shows what changed.
function describeTool({ description, input, output, action, traits }: Tool): string {
  return JSON.stringify(
    {
      description: description.split('\n'),
      traits,
      input: input.json,
      output: output?.json,
      // File states and hashes mean nothing to a person.
      action: {
        // First, so that adding it changes no other line.
        described: 'described' in action ? action.described : undefined,
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
    ? 'the configuration of its server changed, or fields that only programs see'
    : 'what it runs changed; its description did not';
}

function readDefinition(definition: string): ApprovedTool {
  const { description, traits, input, output } = JSON.parse(definition) as {
    readonly description: readonly string[];
    readonly traits: Traits;
    readonly input: JsonSchema;
    readonly output?: JsonSchema;
  };
  return { description: description.join('\n'), traits, input, output };
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
    throw new ToolError('io', `${file} is not a valid pins file`, {
      hint: 'move it away; you will be asked to approve its tools again',
    });
  }
  return new Map(pins.map((pin) => [pin.key, pin]));
}

export function isPin(value: unknown): value is Pin {
  return (
    isRecord(value) &&
    typeof value.key === 'string' &&
    typeof value.digest === 'string' &&
    typeof value.definition === 'string'
  );
}

export interface ConsentsOptions {
  readonly approvals: () => Promise<Approvals>;
  readonly pins: PinStore;
  /** Returns how an installed tool differs from what was installed (INS-23). */
  readonly findAlteration: (tool: Tool) => Rules['altered'];
  /** Pins a tool of an upstream server. */
  readonly acceptRemote: (tool: Tool, snapshot: Snapshot) => void;
  readonly warn: (message: string) => void;
  readonly world: World;
}

export function createConsents(options: ConsentsOptions) {
  const { pins, findAlteration, acceptRemote, warn, world } = options;
  return {
    check(tool: Tool, caller: Caller): Pick<Rules, 'changes' | 'altered'> {
      const altered = tool.origin.owner === 'package' ? findAlteration(tool) : undefined;
      if (altered !== undefined) {
        // A person is warned and decides by calling; the pin would ask about the same files again.
        if (caller.kind === 'person') warn(`${tool.name}: ${altered.reason}; ${altered.hint}`);
        return { altered };
      }
      const pin = pins.check(tool);
      return typeof pin === 'string' ? {} : { changes: pin.diff };
    },
    accept(tool: Tool, snapshot: Snapshot): void {
      if (tool.action.kind === 'remote') acceptRemote(tool, snapshot);
      else pins.pin([tool], new Date(world.now()));
    },
    approvals: options.approvals,
  };
}
