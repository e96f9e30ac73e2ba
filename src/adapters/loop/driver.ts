// What the loop needs of a provider: ask the model, read its calls, write down the answers.

import type { ModelAnswer, ModelDoor } from '../shared/door.js';

/** A message in the provider's own form; the loop only keeps them in order. */
export type Message = Readonly<Record<string, unknown>>;

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
}

export interface AskOptions {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly maxTokens: number | undefined;
  /** What else the request holds, as the provider names it. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal | undefined;
}

/** What a model said when it was asked once. */
export interface Said {
  readonly messages: readonly Message[];
  readonly calls: readonly Call[];
  readonly text: string;
  /** Cut off at a limit: the arguments of a call may be half of what was meant. */
  readonly cut: boolean;
  /** The provider stopped in between and wants to be asked to go on. */
  readonly paused: boolean;
}

export interface Driver {
  readonly door: ModelDoor;
  ask(options: AskOptions): Promise<Said>;
  answer(calls: readonly Call[], answers: readonly ModelAnswer[]): readonly Message[];
}
