// Selects the middleware of a call as a list of steps; hooks come before each entry that they wrap (RUN-9).

import { ToolError } from '../../core/error.js';
import { parseFor } from '../../core/middleware-settings.js';
import type { Plan } from '../../core/plan.js';
import { matchSelector, type Selector } from '../../core/selector.js';
import type { Tool } from '../../core/tool.js';
import type { HookTrigger, Middleware, MiddlewareFunction } from '../../runtime/middleware.js';

/** One middleware function around a run. */
export interface Step {
  readonly name: string;
  readonly run: MiddlewareFunction;
  readonly trigger: HookTrigger | undefined;
  readonly hookTarget: string;
}

export interface Steps {
  readonly list: readonly Step[];
  /** Whether all middleware passes the output on unchanged. */
  readonly streams: boolean;
}

interface Entry extends Middleware {
  readonly selectors: readonly Selector[] | undefined;
}

const HOOKS: readonly unknown[] = [undefined, '$next', '$invoke'];

/** Validates middleware; a bare function applies to every tool. Throws `invalid_definition`. */
export function toMiddleware(given: Middleware | MiddlewareFunction, at: number): Middleware {
  const entry = typeof given === 'function' ? { name: given.name, run: given } : given;
  const name = entry?.name || `middleware ${at + 1}`;
  if (typeof entry?.run !== 'function' || !HOOKS.includes(entry.hook)) {
    const what = typeof entry?.run === 'function' ? 'has an unknown hook' : 'has no function "run"';
    throw new ToolError('invalid_definition', `${name} ${what}`, {
      hint: 'give (call, next) => next(), or { name, run, for?, hook?: "$next" | "$invoke" }',
    });
  }
  if (entry.for !== undefined) parseFor(entry.for);
  return { ...entry, name };
}

/** Creates a function that returns the steps of a call, cached per tool and list of middleware. */
export function createFindSteps() {
  const prepared = new WeakMap<readonly Middleware[], PreparedMiddleware>();
  return (middleware: readonly Middleware[], plan: Plan, nested: boolean): Steps => {
    const { tool } = plan;
    let known = prepared.get(middleware);
    if (known === undefined) {
      known = prepareMiddleware(middleware);
      prepared.set(middleware, known);
    }
    const { entries, byInput, found } = known;
    const memory = found[nested ? 1 : 0];
    let steps = byInput ? undefined : memory.get(tool);
    if (steps === undefined) {
      steps = toSteps(
        entries.filter((entry) => isFor(entry, plan)),
        tool,
        nested,
      );
      memory.set(tool, steps);
    }
    return steps;
  };
}

interface PreparedMiddleware {
  readonly entries: readonly Entry[];
  /** Whether the steps depend on the input. */
  readonly byInput: boolean;
  /** Steps of direct and of nested calls. */
  readonly found: readonly [WeakMap<Tool, Steps>, WeakMap<Tool, Steps>];
}

function prepareMiddleware(middleware: readonly Middleware[]): PreparedMiddleware {
  const entries = middleware.map((entry) => ({
    ...entry,
    selectors: entry.for === undefined ? undefined : parseFor(entry.for),
  }));
  const byInput = entries.some(({ selectors = [] }) => selectors.some((one) => one.arguments.length > 0));
  return { entries, byInput, found: [new WeakMap(), new WeakMap()] };
}

function isFor({ selectors }: Entry, { tool, input }: Plan): boolean {
  if (selectors === undefined) return true;
  const { name, traits } = tool;
  return selectors.some((selector) => matchSelector(selector, { name, tags: traits.tags }, input));
}

function toSteps(entries: readonly Entry[], tool: Tool, nested: boolean): Steps {
  const list: Step[] = [];
  const hooks: Entry[] = [];
  const used = entries.filter(({ hook }) => hook !== '$invoke' || nested);
  const add = ({ name, run, hook }: Entry, hookTarget: string): void => {
    list.push({ name, run, trigger: hook, hookTarget });
  };
  used.forEach((entry, at) => {
    const { hook } = entry;
    const target = used.slice(at + 1).find((other) => other.hook === undefined)?.name ?? tool.name;
    if (hook === '$next') hooks.push(entry);
    else {
      if (hook === undefined) for (const around of hooks) add(around, entry.name);
      add(entry, target);
    }
  });
  for (const around of hooks) add(around, tool.name);
  return { list, streams: used.every((entry) => entry.streams === true) };
}
