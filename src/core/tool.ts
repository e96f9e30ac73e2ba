// The Tool: one model for every format, executor and door.

import type { Allowlist, Execution } from './command.js';
import type { ToolContext } from './context.js';
import type { Json } from './json.js';
import type { Schema } from './schema.js';
import type { Snapshot } from './snapshot.js';
import type { Caller } from './toolbox.js';

export interface Tool {
  /** What a caller sees; grammar in `name.ts`. */
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
  readonly output?: Schema;
  /** What running it means, as data. */
  readonly action: Action;
  readonly origin: Origin;
  readonly traits: Traits;
}

export type Action =
  | ProcessAction
  | FunctionAction
  | ModuleAction
  | TextAction
  | DelegateAction
  | RemoteAction;

/** Runs a program of the machine in a process of its own. */
export type ProcessAction = ScriptAction | CommandAction;

/** A file with a shebang, given its input as variables and on standard input. */
export interface ScriptAction {
  readonly kind: 'process';
  readonly runs: 'script';
  /** Absolute path of the script. */
  readonly file: string;
  /** The state of the file that the definition was read from; another state is another tool. */
  readonly identity: FileIdentity;
  /** Its interpreter line, without `#!`; empty for a program that needs none. */
  readonly shebang: string;
  /** Variables that the script declares it needs and the user's configuration must grant (SCR-24). */
  readonly needs: readonly string[];
  /** The sandbox profile that the script demands, if any. */
  readonly sandbox?: string;
}

/** A program of the search path, given its input as arguments by a declaration. */
export interface CommandAction {
  readonly kind: 'process';
  readonly runs: 'command';
  /** The directory of the skill that declares it. */
  readonly directory: string;
  readonly allowlist: Allowlist;
  readonly executions: readonly Execution[];
  /** Alternatives of programs that the skill says it needs; the first that is whole decides `binGroup`. */
  readonly binGroups: readonly (readonly string[])[];
}

/** What a built-in tool knows about the call besides its context. */
export interface CallInternals {
  readonly caller: Caller;
  readonly snapshot: Snapshot;
}

/** Runs code of this process; the only action that is not data. */
export interface FunctionAction {
  readonly kind: 'function';
  readonly run: (input: Json, context: ToolContext, internals?: CallInternals) => unknown;
  /** Whether `run` gets the internals of the call: for built-in tools. */
  readonly builtin?: boolean;
  /** The author's own function, where `run` wraps it: its text counts for the digest. */
  readonly body?: (input: never, context: ToolContext) => unknown;
}

/** Runs code of a file, or a piece of code, in the tool host. */
export interface ModuleAction {
  readonly kind: 'module';
  readonly source: ModuleFiles | InlineModule;
  /** The export that is the tool; null where that is not known, since nobody may load the file yet (POL-20). */
  readonly export: string | null;
}

/** A file and all that it imports by a relative path. */
export interface ModuleFiles {
  readonly file: string;
  /** The file itself first; other bytes than these are not run. */
  readonly files: readonly ModuleFile[];
}

export interface ModuleFile {
  /** Absolute. */
  readonly path: string;
  readonly sha256: string;
}

/** Code that stands inside something else. */
export interface InlineModule {
  readonly inline: string;
  /** The file that the code stands in: relative imports begin there, and errors name it. */
  readonly file: string;
  /** What the code imports by a relative path. */
  readonly files: readonly ModuleFile[];
}

/** Answers with the text of a file, rendered with the input; nothing runs. */
export interface TextAction {
  readonly kind: 'text';
  /** Absolute path of the file. */
  readonly file: string;
  /** The state of the file that the definition was read from; another state is another tool. */
  readonly identity: FileIdentity;
  /** Where the text begins, in characters. */
  readonly start: number;
}

/** Calls another tool in its place: a nested call, decided again. */
export interface DelegateAction {
  readonly kind: 'delegate';
  /** The reference of the tool that runs. */
  readonly ref: string;
  /** Whether the tool describes its input itself; otherwise it is what the other takes. */
  readonly ownInput: boolean;
}

/** Asks a server of the protocol to run it. */
export interface RemoteAction {
  readonly kind: 'remote';
  readonly server: string;
  /** What the server calls it. */
  readonly tool: string;
  /** The command line or the address of the server, with references as they were written. */
  readonly target: string;
  /** Names the configuration of the server; another one is another server. */
  readonly configuration: string;
  /** SHA-256 of the tool as the server described it; another description is another tool. */
  readonly definition: string;
  /** What the server says of it, where that has characters that nobody sees. */
  readonly described?: string;
}

/** `person`: at a shell, whose call is consent. `model`: chooses names and input, trusted with nothing. */
export type CallerKind = 'person' | 'model' | 'code';

/** Where a tool comes from (TOOL-6). */
export interface Origin {
  readonly format: string;
  /** `file://…`, `mcp://server/tool`, `inline://id`, or null for a purely programmatic tool. */
  readonly uri: string | null;
  readonly directory: string | null;
  /** The installed package it belongs to. */
  readonly source: string | null;
  /** SHA-256 over the definition and, for files, the bytes that will run; null in listings, which read no bytes. */
  readonly digest: string | null;
  /** Under which server name listings show it; scripts stand under `local` (SCR-21). */
  readonly server: string | null;
  /** Whose files these are. Those of a workspace run for a model only where it is trusted (POL-20). */
  readonly owner: Owner;
  /** For a tool of a server: who configured it, where that is the workspace (POL-20). */
  readonly configuredBy?: 'workspace';
  /** Part of wield itself; only such a tool is meant by a selector that begins with `$` (SEL-4). */
  readonly builtin?: true;
}

/** `library`: named by the user or the program as one, and outside the workspace (RES-5). */
export type Owner = 'program' | 'user' | 'library' | 'workspace' | 'package' | 'upstream';

/** What tells one state of a file from another without reading it; `changedMs` moves with every change, of mode too. */
export interface FileIdentity {
  readonly device: number;
  readonly inode: number;
  readonly size: number;
  readonly changedMs: number;
  readonly mode: number;
}

/** Whether two looks saw the same state; two looks at nothing did too. */
export function sameIdentity(a: FileIdentity | undefined, b: FileIdentity | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.inode === b.inode &&
    a.size === b.size &&
    a.changedMs === b.changedMs &&
    a.mode === b.mode &&
    a.device === b.device
  );
}

export interface Traits {
  /** What it is called where people read. */
  readonly title?: string;
  readonly group?: string;
  /** Normalised (RES-30). */
  readonly tags: readonly string[];
  readonly hidden: boolean;
  readonly terminal: boolean;
  /** Hints that a definition gives about itself: shown, and never a reason to allow more (TOOL-5). */
  readonly readOnly?: boolean;
  readonly destructive?: boolean;
  readonly idempotent?: boolean;
  readonly openWorld?: boolean;
  readonly timeoutMs?: number;
  /** Calling it only reads a text: no code of its owner runs, so it needs no trust. */
  readonly text?: boolean;
  /** Selectors of the tools it may call in turn; absent: no limit of its own (SKL-4). */
  readonly allowedTools?: readonly string[];
  /** How it takes part in what surrounds it, in its author's word (MOD-14). */
  readonly role?: string;
  readonly examples: readonly Json[];
  /** Parameters that a command line takes without a flag, in this order (MOD-21). */
  readonly positional?: readonly string[];
  /** What else its author says of it; changes nothing. */
  readonly metadata?: Readonly<Record<string, Json>>;
}

/** Traits of a tool that says nothing about itself. */
export const NO_TRAITS: Traits = Object.freeze({
  tags: Object.freeze([]),
  hidden: false,
  terminal: false,
  examples: Object.freeze([]),
});

/** Whether a model can call it only where its workspace is trusted: it runs what the workspace brings (POL-20). */
export function needsTrust({ origin, traits }: Tool): boolean {
  return (origin.owner === 'workspace' || origin.configuredBy === 'workspace') && traits.text !== true;
}

/** A tool that was found and is not offered because of another of the same name (RES-12). */
export interface ShadowedTool {
  readonly tool: Tool;
  readonly by: Tool;
}
