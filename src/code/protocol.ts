// Messages between wield and the engine of a program: one JSON object per line, in both directions.

import type { ErrorValue } from '../core/error.js';
import type { Json } from '../core/json.js';
import type { Handle } from '../core/store.js';

/** Limits that the engine enforces itself; the parent process enforces them again. */
export interface EngineLimits {
  readonly memoryBytes: number;
  /** What is left of its own time. */
  readonly cpuMs: number;
  readonly calls: number;
  /** How much can still be logged, in characters. */
  readonly logCharacters: number;
}

/** Messages to the engine. All but `snapshot` are answered by a turn. */
export type EngineRequest =
  | {
      readonly type: 'start';
      readonly source: string;
      readonly seed: number;
      readonly now: number;
      readonly limits: EngineLimits;
    }
  | { readonly type: 'restore'; readonly snapshot: string; readonly now: number; readonly limits: EngineLimits }
  | { readonly type: 'deliver'; readonly id: number; readonly now: number; readonly outcome: Outcome }
  | { readonly type: 'snapshot' };

/** `ready` comes first. A turn ends when the program can only wait for calls, or makes one more than it may. */
export type EngineReply =
  | { readonly type: 'ready'; readonly engine: string }
  | Turn
  | { readonly type: 'snapshot'; readonly snapshot?: string }
  /** It used more processor time than it may, and ends. */
  | { readonly type: 'limit' };

export interface Turn {
  readonly type: 'turn';
  readonly calls: readonly EngineCall[];
  readonly logs: readonly string[];
  /** Set once the program has returned or thrown. */
  readonly end?: ProgramEnd;
  /** Its own time so far, without the start of the engine. */
  readonly cpuMs: number;
}

/** What a program can ask for: a call of a tool, a search, and parts of a large result. */
export type CallKind = 'call' | 'search' | 'json' | 'page' | 'query';

export interface EngineCall {
  /** Counted from 1. */
  readonly id: number;
  readonly kind: CallKind;
  /** The name of the tool as written, or the id of a result. */
  readonly name: string;
  readonly input: Json;
  /** Set instead of an input that is too large to be read by wield (TOOL-24). */
  readonly isLarge?: true;
}

/** What a call ends with, as delivered to the program. */
export type Outcome =
  | { readonly value: Json | null }
  /** JSON text that is too large to be read by wield. */
  | { readonly json: string }
  | { readonly handle: Handle }
  | {
      /** `output`: what the tool printed, shortened. */
      readonly error: ErrorValue & { readonly tool: string; readonly output?: string };
    };

export type ProgramEnd =
  /** Absent if the program returned nothing. */
  | { readonly value?: Json }
  /** The value as JSON text, if it is too large to be read by wield. */
  | { readonly text: string }
  | { readonly error: ProgramError };

export interface ProgramError {
  readonly name: string;
  readonly message: string;
  /** Of the program, from 1. */
  readonly line?: number;
  /** The call that failed, if the error is that of a call. */
  readonly call?: number;
  /** Set if the program could not be compiled, and nothing ran. */
  readonly isSyntax?: true;
}
