// Messages between wield and its helper process: one JSON object per line, in both directions.

import type { ErrorValue } from '../core/error.js';
import type { ProcessEnd, RunRequest, Stop } from './request.js';

/** Messages to the helper; `run` is the number of a run. */
export type HelperRequest =
  | {
      readonly type: 'start';
      readonly run: number;
      readonly request: RunRequest;
      /** The file to pass on, as a path to the descriptor that wield holds. */
      readonly source?: string | undefined;
      readonly debugging: boolean;
    }
  | { readonly type: 'stop'; readonly run: number; readonly why: Stop }
  /** Wield wants no more output for now. */
  | { readonly type: 'hold'; readonly run: number }
  | { readonly type: 'release'; readonly run: number }
  | { readonly type: 'close' };

/** Messages about a run. The last two end it. */
export type RunMessage =
  | { readonly type: 'started'; readonly run: number; readonly pid: number }
  | { readonly type: 'output'; readonly run: number; readonly from: 'stdout' | 'stderr'; readonly base64: string }
  | { readonly type: 'ended'; readonly run: number; readonly end: ProcessEnd }
  | { readonly type: 'failed'; readonly run: number; readonly error: ErrorValue };

/** Messages from the helper; `ready` comes first. */
export type HelperMessage = { readonly type: 'ready' } | { readonly type: 'debug'; readonly text: string } | RunMessage;
