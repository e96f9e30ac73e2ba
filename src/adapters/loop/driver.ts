// A Driver: how the loop talks to one provider.

import type { Adapter, ModelCallResult } from '../shared/adapter.js';

/** A message in the provider's format. */
export type Message = Readonly<Record<string, unknown>>;

export interface ModelCall {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
}

export interface ModelRequest {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly maxTokens: number | undefined;
  /** Further fields of the request, in the provider's format. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal | undefined;
}

export interface ModelReply {
  readonly messages: readonly Message[];
  readonly calls: readonly ModelCall[];
  readonly text: string;
  /** Cut off at the token limit, so the arguments of its calls may be incomplete. */
  readonly truncated: boolean;
  /** The provider paused and expects to be called again. */
  readonly paused: boolean;
}

export interface Driver {
  readonly adapter: Adapter;
  send(request: ModelRequest): Promise<ModelReply>;
  /** Returns the messages with the results of the calls. */
  toMessages(calls: readonly ModelCall[], results: readonly ModelCallResult[]): readonly Message[];
}
