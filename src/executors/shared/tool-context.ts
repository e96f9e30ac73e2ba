// The ToolContext that a function receives.

import { lacksCapability } from '../../core/client-request.js';
import type { ClientCapability, NestedOptions, ToolContext, ToolUpstreams } from '../../core/context.js';
import { askText, type Elicitation } from '../../core/elicit.js';
import { ToolError } from '../../core/error.js';
import type { RunContext } from '../../core/executor.js';
import type { JsonObject } from '../../core/json.js';
import { toRemoteUri } from '../../core/name.js';
import type { ToolConfig } from '../../core/settings.js';
import type { ContextStore } from '../../core/store.js';
import type { ScopedStore } from './scoped-store.js';

/** The parts of a call that a function can use. */
export type CallPart = Pick<RunContext, 'call' | 'client' | 'elicit' | 'progress' | 'workdir' | 'remoteTools'>;

export interface FunctionEnvironment {
  /** The name of the tool. */
  readonly name: string;
  readonly config: ToolConfig;
  /** Creates the signal on first use. */
  signal(): AbortSignal;
  /** Creates the scoped store on first use. */
  scope(): ScopedStore;
  /** Whether `scope` returns one with a store. */
  readonly hasStore: boolean;
  /** Replaces the upstream servers of the toolbox. */
  readonly mcp?: ToolUpstreams | null | undefined;
  log(message: string): void;
}

/** Creates the frozen context of a function (MOD-5). */
export function createContext(run: CallPart, environment: FunctionEnvironment): ToolContext {
  const { call, progress, workdir } = run;
  const { name, config, mcp } = environment;
  const elicitFor = (question: string) => {
    if (run.elicit !== undefined) return run.elicit;
    throw new ToolError('unavailable', `${name} asks a question that cannot be answered here: ${question}`, {
      hint: 'call it from a terminal, or pass the answer as a parameter',
    });
  };
  const context: Record<string, unknown> = {
    toolbox: new NestedToolbox(call, environment),
    withStore: <T>(use: (store: ContextStore) => Promise<T>) => environment.scope().withStore(use),
    mcp: mcp === undefined ? toUpstreams(run) : mcp,
    workdir,
    projectDir: workdir,
    config,
    progress: (done: number, total?: number, message?: string) => progress({ done, total, message }),
    log: (message: string) => environment.log(message),
    ask: async (question: string) => askText(elicitFor(question), question, environment.signal()),
    elicit: async (request: Elicitation) => elicitFor(request.message)(request, environment.signal()),
    requestClient: async (capability: ClientCapability, params: JsonObject = {}) => {
      if (run.client === undefined) throw lacksCapability(name, capability);
      return run.client.request({ capability, params }, environment.signal());
    },
  };
  Object.defineProperty(context, 'signal', SIGNAL);
  // Not replaced by a getter: the engine would make a hidden class for each context.
  if (environment.hasStore) Object.defineProperty(context, 'store', STORE);
  else context.store = null;
  return Object.freeze(context) as object as ToolContext;
}

/** The toolbox of a context. Its private field holds the environment for the getters of the context. */
class NestedToolbox {
  readonly call: RunContext['call'];
  readonly #environment: FunctionEnvironment;

  constructor(call: RunContext['call'], environment: FunctionEnvironment) {
    this.call = (ref: string, input: unknown, options?: NestedOptions) => call(ref, input, options);
    this.#environment = environment;
    Object.freeze(this);
  }

  static environmentOf({ toolbox }: ToolContext): FunctionEnvironment {
    return (toolbox as NestedToolbox).#environment;
  }
}

// Creating a signal takes a quarter of a call, and most functions never use it. All contexts share these getters:
// an object with its own getters gets its own hidden class, and a WeakMap of environments doubles the time of a call.
// Each one takes 0.5 µs to define.
const SIGNAL: PropertyDescriptor & ThisType<ToolContext> = {
  enumerable: true,
  get() {
    return NestedToolbox.environmentOf(this).signal();
  },
};
const STORE: PropertyDescriptor & ThisType<ToolContext> = {
  enumerable: true,
  get() {
    return NestedToolbox.environmentOf(this).scope().store;
  },
};

// Upstream tools are called by reference, so that policy applies to them as well.
function toUpstreams({ call, remoteTools }: CallPart): ToolUpstreams | null {
  if (remoteTools === undefined) return null;
  return Object.freeze({
    list: () => remoteTools(),
    call: (server: string, name: string, input: unknown) => call(toRemoteUri(server, name), input),
  });
}
