// The View: which tools a model is shown, in which mode and under which names; from the configuration and a profile.

import type { Json } from './json.js';

/**
 * `all`: every tool; `search`: tools that search and call the others; `code`: programs call them (COD-1); `auto`: `search`
 * if there are many (SRV-9).
 */
export const MODES = ['all', 'search', 'code', 'auto'] as const;
export type Mode = (typeof MODES)[number];

/** What mode `auto` is for a session. */
export type AutoMode = 'all' | 'search';

export interface View {
  readonly mode: Mode;
  /** The profile in use, if any. */
  readonly profile?: string;
  /** By their original names (RES-48). */
  readonly aliases: ReadonlyMap<string, Alias>;
  /** Original names by new names. */
  readonly originals: ReadonlyMap<string, string>;
}

/** How a tool is shown to models instead of as its author wrote it. */
export interface Alias {
  readonly name?: string;
  readonly description?: string;
  /** Parameters that a model does not see and cannot give. */
  readonly hide?: readonly string[];
  /** Values of parameters that a model does not see and cannot give. */
  readonly fixed?: Readonly<Record<string, Json>>;
}

export const WHOLE_VIEW: View = Object.freeze({ mode: 'all', aliases: new Map(), originals: new Map() });

export const SEARCH_TOOLS = 'search_tools';
export const DESCRIBE_TOOL = 'describe_tool';
/** A call of it is a call of the tool that its input names. */
export const CALL_TOOL = 'call_tool';
export const RUN_SKILL_SCRIPT = 'run_skill_script';
/** Runs a program that calls tools. */
export const RUN_CODE = 'run_code';
