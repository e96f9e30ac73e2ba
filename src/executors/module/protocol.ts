// Messages between wield and the tool host: one JSON object per line, in both directions.

import type { ClientRequest } from '../../core/client-request.js';
import type { Progress } from '../../core/context.js';
import type { Elicitation } from '../../core/elicit.js';
import type { ErrorValue } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import type { Part } from '../../core/result.js';
import type { ToolConfig } from '../../core/settings.js';
import type { InlineModule, ModuleFiles, OfferRequest } from '../../core/tool.js';

/** Messages to the host. */
export type Request =
  | { readonly type: 'describe'; readonly id: number; readonly source: ModuleFiles }
  | {
      readonly type: 'run';
      readonly id: number;
      readonly tool: string;
      readonly source: ModuleFiles | InlineModule;
      readonly export: string;
      readonly offer: OfferRequest | undefined;
      readonly input: Json;
      readonly workdir: string;
      readonly config: ToolConfig;
      /** Whether the call has a store. */
      readonly stores: boolean;
      /** Whether upstream tools are available. */
      readonly upstreams: boolean;
      /** Whether the caller can answer questions. */
      readonly asks: boolean;
      readonly outputBytes: number;
    }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'answer'; readonly id: number; readonly question: number; readonly answer: Answer };

/** The answer to a question of a tool. */
export type Answer = { readonly value: unknown } | { readonly error: ErrorValue };

/** Messages from the host. */
export type Reply =
  | { readonly type: 'described'; readonly id: number; readonly description: Json }
  | {
      readonly type: 'result';
      readonly id: number;
      readonly content: readonly Part[];
      readonly structured?: Json;
      readonly error?: ErrorValue;
    }
  /** Confirms a cancellation: the host is responsive, even if the tool does not stop. */
  | { readonly type: 'cancelling'; readonly id: number }
  | { readonly type: 'progress'; readonly id: number; readonly progress: Progress }
  | { readonly type: 'log'; readonly id: number; readonly message: string }
  | Question;

/** A message that expects an answer. */
export type Question = Asked & { readonly id: number; readonly question: number };

/** What a tool asks for during its call. */
export type Asked =
  | { readonly type: 'call'; readonly ref: string; readonly input: Json }
  | { readonly type: 'elicit'; readonly request: Elicitation }
  | { readonly type: 'client'; readonly request: ClientRequest }
  | { readonly type: 'remote-tools' }
  | { readonly type: 'store'; readonly method: string; readonly args: Json };
