// Stored consent: pinned definitions of tools from packages and upstream servers (POL-21), and approvals.

import { dirname, join } from 'node:path';
import type { Approvals } from '../core/approval.js';
import type { Caller } from '../core/caller.js';
import { ToolError } from '../core/error.js';
import type { JsonSchema } from '../core/schema.js';
import { type Infer, list, matches, object, string } from '../core/shape.js';
import type { Snapshot, World } from '../core/snapshot.js';
import { revealHidden } from '../core/text.js';
import type { Tool, Traits } from '../core/tool.js';
import { changeFile } from '../files/change.js';
import { lineDiff } from '../files/diff.js';
import { digestParts } from '../files/digest.js';
import { createStatCache, readStateFile } from '../files/read.js';
import { checkStateDirectory, readState } from '../files/state.js';
import type { Rules } from './rules.js';

/** Pins of tools. */
export type PinStore = ReturnType<typeof createPins>;

export interface ApprovedTool {
  readonly description: string;
  readonly traits: Traits;
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
}

/** `definition` is the tool as a person was shown it. */
export type Pin = Infer<typeof PIN>;

export type Pins = ReadonlyMap<string, Pin>;

/** Where pins are stored, by source: each package and each server has its own. */
export interface PinStorage {
  read(source: string): Pins;
  /** Replaces the pins of a source by what `change` returns; nothing else changes them meanwhile. */
  change(source: string, change: (pins: Pins) => Pins): Promise<void>;
}

const MAX_BYTES = 64 * 1024 * 1024;

export function createPinStore(wieldHome: string, now: () => number): PinStore {
  return createPins(createPinFiles(wieldHome, now));
}

// Each source has its own file, so that a call reads little and parallel pinning does not conflict.
function createPinFiles(wieldHome: string, now: () => number): PinStorage {
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
    async change(source, change) {
      const file = fileOf(source);
      await changeFile(file, { doing: 'pinning tools' }, (text) => {
        const pins = change(text === undefined ? new Map() : parsePins(text, file));
        return `${JSON.stringify({ version: 1, pins: [...pins.values()] }, null, 2)}\n`;
      });
    },
  };
}

export function createPins({ read, change }: PinStorage) {
  const find = (tool: Tool): Pin | undefined => {
    const source = sourceOf(tool);
    return source === undefined ? undefined : read(source).get(keyOf(tool));
  };

  return {
    /**
     * Compares a tool with its pin: never pinned, the same, or changed, with a diff. Tools of the user and of
     * workspaces have no pins and are always the same.
     */
    check(tool: Tool): 'new' | 'same' | { readonly diff: readonly string[] } {
      if (sourceOf(tool) === undefined) return 'same';
      const pin = find(tool);
      if (pin === undefined) return 'new';
      if (pin.digest === tool.origin.digest) return 'same';
      const diff = lineDiff(pin.definition, describeTool(tool)).map(revealHidden);
      return { diff: diff.length > 0 ? diff : [unseenChange(tool)] };
    },
    /** Pins the present definitions of tools; with `ifNew` only of tools that have no pin. */
    async pin(tools: readonly Tool[], at: Date, { ifNew } = { ifNew: false }): Promise<void> {
      const added = new Map<string, Pin[]>();
      for (const tool of tools) {
        const source = sourceOf(tool);
        const { digest } = tool.origin;
        if (source === undefined || digest === null) continue;
        const pin = { key: keyOf(tool), digest, definition: describeTool(tool), since: at.toISOString() };
        added.set(source, [...(added.get(source) ?? []), pin]);
      }
      for (const [source, pins] of added)
        await change(source, (known) => {
          const after = new Map(known);
          for (const pin of pins) if (!ifNew || !after.has(pin.key)) after.set(pin.key, pin);
          return after;
        });
    },
    approved(tool: Tool): ApprovedTool | undefined {
      const pin = find(tool);
      return pin && readDefinition(pin.definition);
    },
    /** Throws if the pins of tools that were installed from one of these sources cannot be read. */
    checkInstalled(from: readonly string[]): void {
      for (const source of from) read(nameOf('package', source, source));
    },
  };
}

// Returns the name of the file for the source of a tool; undefined if it needs no pin.
function sourceOf({ origin: { owner, source, server } }: Tool): string | undefined {
  if (owner !== 'package' && owner !== 'upstream') return undefined;
  return nameOf(owner, source ?? '', server ?? '');
}

function nameOf(owner: 'package' | 'upstream', source: string, server: string): string {
  const parts = [owner, source, server];
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

const PIN = object({ key: string, digest: string, definition: string, since: string }, { unknown: 'keep' });
const FILE = object({ pins: list(PIN) }, { unknown: 'drop' });

function parsePins(text: string, file: string): Pins {
  const { pins } = readState(FILE, text, file, () => {
    const hint = 'move it away; you will be asked to approve its tools again';
    return new ToolError('io', `${file} is not a valid pins file`, { hint });
  });
  return new Map(pins.map((pin) => [pin.key, pin]));
}

export function isPin(value: unknown): value is Pin {
  return matches(PIN, value);
}

export interface ConsentsOptions {
  readonly approvals: Approvals;
  /** Whether this process was started by a tool. */
  readonly isInsideCall: () => boolean;
  readonly pins: PinStore;
  /** Returns how an installed tool differs from what was installed (INS-23). */
  readonly findAlteration: (tool: Tool) => Rules['altered'];
  /** Pins a tool of an upstream server. */
  readonly acceptRemote: (tool: Tool, snapshot: Snapshot) => Promise<void>;
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
    async accept(tool: Tool, snapshot: Snapshot): Promise<void> {
      if (tool.action.kind === 'remote') await acceptRemote(tool, snapshot);
      else await pins.pin([tool], new Date(world.now()));
    },
    approvals: options.approvals,
    isInsideCall: options.isInsideCall,
  };
}
