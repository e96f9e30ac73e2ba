// Formats, which turn files into tools without executing anything, and the other sources of the catalog.

import type { ToolError } from './error.js';
import type { JsonObject } from './json.js';
import type { FileIdentity, Origin, Place, PlaceKind } from './origin.js';
import { type Finding, type Problem, toProblem } from './problem.js';
import type { Prompt, Resource, SkillOffer } from './resource.js';
import type { JsonSchema } from './schema.js';
import type { RemoteSkill, Skill } from './skill.js';
import type { Snapshot } from './snapshot.js';
import type { ModuleAction, Tool } from './tool.js';
import type { ProtocolVersion } from './upstream.js';

/** The state of a file; undefined if it is missing or unreachable. */
export type FileState = FileIdentity | undefined;

/** The result of reading one entry. */
export interface Reading {
  /** The tools that were found. */
  readonly tools: readonly Tool[];
  /** What is wrong with the files. */
  readonly problems: readonly Problem[];
  /** The skills that were found, in a place of kind `skills` or `packages`. */
  readonly skills?: readonly Skill[];
  /** The resources and prompts that were found. */
  readonly offers?: readonly ModuleOffer[];
  /** States of the files when they were read, in the order of `filesOf`. */
  readonly states: readonly FileState[];
  /** The files that were read, relative to the place, if `filesOf` cannot know them; `states` belong to them. */
  readonly files?: readonly string[];
  /** More may be known later although no file changed: read again next time. */
  readonly pending?: boolean;
  /** The file was not loaded or not read, so what it offers is not known. */
  readonly unread?: boolean;
}

/** Returns the reading of a file that cannot be used. */
export function rejected(path: string, finding: Finding, states: Reading['states'] = [undefined]): Reading {
  return { tools: [], problems: [toProblem(path, 'error', finding)], states };
}

/** The part of a snapshot that a format may depend on. */
export type FormatSnapshot = Pick<Snapshot, 'workdir' | 'settings' | 'trusted'>;

/** Turns files into tools; runs nothing. */
export interface Format {
  /** The name of the format. */
  readonly name: string;
  /** What its tools show as their format, if it is not the name. */
  readonly shownAs?: string;
  /** The kinds of place that it reads. */
  readonly places: readonly PlaceKind[];
  /** Kind of its entries. */
  readonly entries: 'files' | 'directories';
  /** Whether its tools give way to other tools of the same name. */
  readonly yields?: boolean;
  /** Whether an entry of this name can belong to the format; reads nothing. */
  claims(entry: string): boolean;
  /** Returns the entry of a tool name, if the name determines it. */
  entryOf?(toolName: string): string;
  /**
   * Returns the files of an entry, relative to the place; default: the entry itself. A path to the first one refers to
   * the entry (RES-2).
   */
  filesOf?(entry: string): readonly string[];
  /** Reads a claimed entry; undefined if it does not belong to the format. Reports problems, never throws. */
  read(entry: string, place: Place, snapshot?: FormatSnapshot): Reading | undefined;
  /** Readings that can be completed; `settle` is called only if there are any. */
  readonly pending?: { readonly size: number };
  /** Completes pending readings. Trusted code may run here, but never in `read`. */
  settle?(snapshot: FormatSnapshot): Promise<void>;
}

/** Tools of servers for the catalog: what is known without starting a server. */
export interface Upstream {
  /** `isTaken` says which names other tools have; a tool that keeps its own name gives way to them. */
  list(
    snapshot: Snapshot,
    isTaken?: (name: string) => boolean,
  ): { readonly tools: readonly Tool[]; readonly problems: readonly Problem[] };
  /** Returns the tool that gives way to others: one that keeps its own name, or a skill; undefined if no known server has it. */
  findOriginal(name: string, snapshot: Snapshot): Tool | undefined;
  /** Returns the tool of a name; undefined if no known server has it. */
  find(name: string, snapshot: Snapshot): Tool | undefined;
  /** Returns the tool of a URI. */
  at(uri: string, snapshot: Snapshot): Tool | undefined;
  /** Returns the skills of known servers that can be read by name (SKL-14). */
  skills(snapshot: Snapshot): readonly RemoteSkill[];
  /** Returns why the tools of the server of a reference are not known. */
  why(ref: string, snapshot: Snapshot): ToolError | undefined;
  /**
   * Lists the tools of servers that are not known yet: all, or those that a reference may belong to. Undefined if there
   * is nothing to wait for.
   */
  settle(snapshot: Snapshot, ref?: string): Promise<unknown> | undefined;
}

export interface OfferSource {
  resources(snapshot: Snapshot): Promise<readonly Resource[]>;
  prompts(snapshot: Snapshot): readonly Prompt[];
  /** Returns skills with their files (SKL-11). */
  skills?(snapshot: Snapshot): readonly SkillOffer[];
  /** Returns the tool that reads a resource, also one that is not listed; undefined if the URI is not of this source. */
  findResource(uri: string, snapshot: Snapshot): Tool | undefined;
  /** Returns the tool that starts a subscription to a resource; by default the one that reads it. */
  findSubscription?(uri: string, snapshot: Snapshot): Tool | undefined;
  /** Calls the listener when a resource changes. Returns a function that stops it; undefined if it never changes. */
  follow?(
    uri: string,
    snapshot: () => Snapshot,
    onUpdate: () => void,
    protocol?: ProtocolVersion,
  ): (() => void) | undefined;
  findPrompt(name: string, snapshot: Snapshot): Tool | undefined;
  /** Returns the tool that completes arguments of a prompt, by name, or of a template. */
  findCompletion?(ref: string, snapshot: Snapshot): Tool | undefined;
}

/** A resource or prompt that a module file exports, as data. */
export interface ModuleOffer {
  readonly kind: 'resource' | 'prompt';
  /** The URI, the URI template or the name. */
  readonly id: string;
  readonly fields: JsonObject;
  /** Schema of the arguments. */
  readonly input: JsonSchema;
  readonly action: ModuleAction;
  readonly origin: Origin;
}
