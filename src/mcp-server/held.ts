// Held calls of the newer era: a call that asks in its midst waits here until its client comes back with the answer (SRV-15).

import { randomBytes } from 'node:crypto';
import {
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Progress } from '../core/context.js';
import type { ElicitAnswer } from '../core/elicit.js';
import type { ToolResult } from '../core/result.js';

/** What came of a request: the end of its call, or what its client must answer first. */
export type Turn = ToolResult | InputRequiredResult;

/** The request that waits for a call, which may be another than the one that began it. */
export interface Waiting {
  readonly context: ServerContext;
  readonly onProgress?: (progress: Progress) => void;
}

/** What a call that may be held is given in place of what its first request has. */
export interface HeldContext {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  /** Asks the client, which answers by another request. Rejects where it never will. */
  hold(request: InputRequest, signal: AbortSignal): Promise<ElicitAnswer>;
}

export interface HeldCalls {
  /** Runs a call until it ends or asks. `binding` names caller, tool and input; few calls ever need it. */
  begin(
    waiting: Waiting,
    binding: () => string,
    run: (held: HeldContext) => Promise<ToolResult>,
  ): Promise<Turn>;
  /** Goes on with the call that the nonce of a state names; undefined where it fits none. */
  resume(waiting: Waiting, binding: () => string, nonce: string): Promise<Turn> | undefined;
  close(): void;
}

interface Asked {
  readonly request: InputRequest;
  answer(answer: ElicitAnswer): void;
  fail(reason: unknown): void;
}

interface HeldCall {
  readonly binding: () => string;
  readonly controller: AbortController;
  /** Questions that no client was told of yet. */
  asked: Asked[];
  /** Those that a client was told of, by their keys. */
  told: Map<string, Asked>;
  waiting?: Waiting | undefined;
  result?: ToolResult;
  /** Nobody will come back for it. */
  left: boolean;
  wake: () => void;
}

interface Round {
  readonly call: HeldCall;
  readonly timer: NodeJS.Timeout;
}

export function createHeldCalls(
  ttlMs: number,
  mint: (nonce: string, context: ServerContext) => Promise<string>,
): HeldCalls {
  // Calls whose client is to come back, by the nonce of the state that it was given.
  const rounds = new Map<string, Round>();

  const take = (nonce: string): HeldCall | undefined => {
    const round = rounds.get(nonce);
    clearTimeout(round?.timer);
    rounds.delete(nonce);
    return round?.call;
  };

  const tell = async (call: HeldCall, context: ServerContext): Promise<InputRequiredResult> => {
    const nonce = randomBytes(16).toString('hex');
    call.told = new Map(call.asked.splice(0).map((asked, at) => [`question${at + 1}`, asked]));
    const timer = setTimeout(() => {
      rounds.delete(nonce);
      leave(call);
    }, ttlMs);
    timer.unref();
    rounds.set(nonce, { call, timer });
    return inputRequired({
      inputRequests: Object.fromEntries([...call.told].map(([key, { request }]) => [key, request])),
      requestState: await mint(nonce, context),
    });
  };

  // Until the call ends or asks. Meanwhile, and only then, whoever waits can cancel it.
  const wait = async (call: HeldCall, waiting: Waiting): Promise<Turn> => {
    const { signal } = waiting.context.mcpReq;
    const onAbort = (): void => call.controller.abort();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    call.waiting = waiting;
    try {
      while (call.result === undefined) {
        if (call.asked.length === 0)
          await new Promise<void>((resolve) => {
            call.wake = resolve;
          });
        // Questions that are asked together are told together.
        if (call.result === undefined) await new Promise((resolve) => setImmediate(resolve));
        if (call.result === undefined && call.asked.length > 0) return await tell(call, waiting.context);
      }
      return call.result;
    } finally {
      call.waiting = undefined;
      signal.removeEventListener('abort', onAbort);
    }
  };

  return {
    begin(waiting, binding, run) {
      const call: HeldCall = {
        binding,
        controller: new AbortController(),
        asked: [],
        told: new Map(),
        left: false,
        wake: () => {},
      };
      const held: HeldContext = {
        signal: call.controller.signal,
        onProgress: (progress) => call.waiting?.onProgress?.(progress),
        hold: (request, signal) => hold(call, request, signal),
      };
      void run(held).then((result) => {
        call.result = result;
        call.wake();
      });
      return wait(call, waiting);
    },
    resume(waiting, binding, nonce) {
      const call = take(nonce);
      if (call === undefined) return undefined;
      if (call.binding() !== binding()) {
        leave(call);
        return undefined;
      }
      for (const [key, asked] of call.told) {
        const response = inputResponse(waiting.context.mcpReq.inputResponses, key);
        // What was not answered is asked again.
        if (response.kind === 'elicit') asked.answer(response as ElicitAnswer);
        else call.asked.push(asked);
      }
      call.told.clear();
      return wait(call, waiting);
    },
    close() {
      for (const nonce of [...rounds.keys()]) {
        const call = take(nonce)!;
        leave(call);
        call.controller.abort();
      }
    },
  };
}

async function hold(call: HeldCall, request: InputRequest, signal: AbortSignal): Promise<ElicitAnswer> {
  if (call.left) throw gone();
  signal.throwIfAborted();
  let onAbort = (): void => {};
  try {
    return await new Promise((answer, fail) => {
      const asked: Asked = { request, answer, fail };
      onAbort = () => {
        call.asked = call.asked.filter((other) => other !== asked);
        for (const [key, other] of call.told) if (other === asked) call.told.delete(key);
        fail(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      call.asked.push(asked);
      call.wake();
    });
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

// The call goes on to its own end; it is told that nobody answers.
function leave(call: HeldCall): void {
  call.left = true;
  for (const { fail } of [...call.told.values(), ...call.asked]) fail(gone());
  call.told.clear();
  call.asked = [];
}

function gone(): Error {
  return new Error('the client did not come back with an answer');
}
