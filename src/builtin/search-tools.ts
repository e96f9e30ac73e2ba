// The built-in tools `search_tools`, `describe_tool` and `call_tool` of search mode (SRV-9).

import { type Catalog, readSettled } from '../catalog/catalog.js';
import { resolveName } from '../code/host/calls.js';
import { anyToolOf } from '../core/any-tool.js';
import type { Caller } from '../core/caller.js';
import { isToolError } from '../core/error.js';
import type { JsonObject } from '../core/json.js';
import { createProgramNames, toProgramExpression, toRemoteUri } from '../core/name.js';
import { textPart } from '../core/result.js';
import type { Skill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';
import { describeForModel, type ForeseenCall, type Tool } from '../core/tool.js';
import { CALL_TOOL, DESCRIBE_TOOL, SEARCH_TOOLS, WHOLE_VIEW } from '../core/view.js';
import { type BuiltinDefinition, defineBuiltin } from '../formats/module/builtin.js';
import { newNameOf, withAlias } from '../policy/view.js';
import { listTools, splitDenied } from '../runtime/list.js';
import { defineForwarding, type GetParts } from './builtin.js';
import { toResultType, toSignature } from './signature.js';

type Run<Input> = BuiltinDefinition<Input>['run'];

// Tools that a search shows by default: for one query, and for each of several.
const LIMIT = 10;
const LIMIT_EACH = 6;
// The first tools are shown with their signature, the others as names with the beginning of the description.
const COMPLETE_LINES = 5;
const MAX_SIGNATURE = 300;
const MAX_DESCRIPTION = 140;
const MAX_SHORT_DESCRIPTION = 40;

const NAME = { type: 'string' } as const;

/** Creates the three tools. `call_tool` has no function of its own: its call goes on as that of the tool that it names. */
export function createSearchModeTools(parts: GetParts): Tool[] {
  // Starts no servers.
  const list = (caller: Caller, snapshot: Snapshot) => listTools(parts(), snapshot, { caller, knownOnly: true });
  const mayName = (tool: Tool, caller: Caller, snapshot: Snapshot, skills: readonly Skill[]): boolean => {
    const narrowingOf = (one: Tool) => parts().cascade.narrowingAbove(one, skills, snapshot);
    return splitDenied([tool], caller, snapshot, narrowingOf).denied.length === 0;
  };
  // Throws `not_found`, or `unavailable` if the tool may be one of a server that is down.
  const find = async (name: string, caller: Caller, snapshot: Snapshot): Promise<Tool> => {
    const { view } = snapshot.settings;
    const isModel = caller.kind === 'model';
    const target = (isModel ? view.originals.get(name) : undefined) ?? name;
    const reach = {
      snapshot,
      shownAs: name,
      visibleOnly: isModel,
      offeredOnly: isModel,
      namedOnly: true,
      mayName: (tool: Tool, skills: readonly Skill[]) =>
        mayName(tool, caller, snapshot, skills) && (!isModel || target !== name || newNameOf(tool, view) === undefined),
    };
    const { catalog } = parts();
    const read = (): Tool => withAlias(catalog.find(target, reach), isModel ? view : WHOLE_VIEW);
    return readSettled(catalog, snapshot, read, target);
  };

  const search: Run<{ queries: readonly string[]; limit?: number }> = async (
    { queries, limit = Math.max(LIMIT, LIMIT_EACH * queries.length) },
    _context,
    { caller, snapshot },
  ) => {
    const { catalog } = parts();
    const found = await parts().search(queries, limit, caller, snapshot);
    const { skills } = catalog.list(snapshot);
    const down = findDown(catalog, snapshot).filter((server) => mayName(anyToolOf(server), caller, snapshot, skills));
    const writing = isCodeMode(snapshot) ? inPrograms(await list(caller, snapshot)) : plainly;
    const lines = [
      ...(found.length === 0
        ? ['No tool matches. Try other words.']
        : found.map((tool, at) => (at < COMPLETE_LINES ? toLine(tool, writing) : toShortLine(tool, writing)))),
      ...(down.length === 0 ? [] : [`Not searched, because the server is not available: ${down.join(', ')}`]),
    ];
    return { content: [textPart(lines.join('\n'))], structured: { tools: found.map(({ name }) => name) } };
  };
  const describe: Run<{ name: string; input?: JsonObject }> = async ({ name, input }, _context, internals) => {
    const { caller, snapshot } = internals;
    const listed = isCodeMode(snapshot) ? await list(caller, snapshot) : undefined;
    // In code mode also as in programs, which is what `search_tools` shows.
    const named = listed === undefined ? name : resolveName(name.replace(/^tools(?:\.|\[")|"\]$/g, ''), listed);
    const tool = await find(named, caller, snapshot);
    const { readOnly, destructive, idempotent, openWorld } = tool.traits;
    return {
      name: tool.name,
      signature: toCallText(tool, listed === undefined ? plainly : inPrograms(listed)),
      description: describeForModel(tool, snapshot.trusted),
      input: tool.input.json,
      ...(tool.output === undefined ? {} : { output: tool.output.json }),
      ...Object.fromEntries(
        Object.entries({ readOnly, destructive, idempotent, openWorld }).filter(([, hint]) => hint !== undefined),
      ),
      ...(input === undefined ? {} : { call: describeForeseen(await internals.foresee(named, input), caller) }),
    };
  };
  return [
    defineBuiltin({
      name: SEARCH_TOOLS,
      description: 'Find tools by what they do. Give one query per step of the task.',
      inputSchema: {
        type: 'object',
        properties: {
          queries: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 5 },
          limit: { type: 'integer', minimum: 1, maximum: 50, description: 'Default 10, or 6 per query' },
        },
        required: ['queries'],
      },
      traits: { readOnly: true, positional: ['queries'] },
      run: search,
    }),
    defineBuiltin({
      name: DESCRIBE_TOOL,
      description: 'Show the full description and input schema of a tool.',
      inputSchema: {
        type: 'object',
        properties: {
          name: NAME,
          input: { type: 'object', additionalProperties: true, description: 'Also say whether a call with it may run' },
        },
        required: ['name'],
      },
      traits: { readOnly: true },
      run: describe,
    }),
    defineForwarding(
      {
        name: CALL_TOOL,
        description: 'Call a tool that search_tools found.',
        inputSchema: {
          type: 'object',
          properties: { name: NAME, input: { type: 'object', additionalProperties: true } },
          required: ['name'],
        },
      },
      ({ name, input = {} }) => ({ ref: String(name), input }),
    ),
  ];
}

const OUTCOMES = { allow: 'runs', ask: 'asks a person', deny: 'is denied' } as const;

// SRV-98: what a model learns from the error of such a call, and no paths, variables or fixed values of the plan.
function describeForeseen({ plan, verdict, repairs }: ForeseenCall, { kind }: Caller) {
  const { reason, rule, hint } = verdict;
  return {
    outcome: OUTCOMES[verdict.verdict],
    reason,
    ...(rule === null ? {} : { rule }),
    ...(hint === undefined ? {} : { hint }),
    ...(repairs.length === 0 ? {} : { repaired: repairs }),
    ...(plan && { plan: kind === 'model' ? { kind: plan.kind, timeoutMs: plan.timeoutMs } : plan }),
  };
}

function isCodeMode({ settings }: Snapshot): boolean {
  return settings.view.mode === 'code';
}

/** How calls of tools are written. */
interface Writing {
  readonly name: (tool: Tool) => string;
  readonly result: (tool: Tool) => string;
}

const plainly: Writing = { name: ({ name }) => name, result: () => '' };

// COD-5: as in programs, with the type of the result.
function inPrograms(tools: readonly Tool[]): Writing {
  const programName = createProgramNames(tools);
  return {
    name: ({ name }) => toProgramExpression(programName(name)),
    result: ({ output }) => `: Promise<${toResultType(output?.json)}>`,
  };
}

function toCallText(tool: Tool, { name, result }: Writing, maxLength = Number.POSITIVE_INFINITY): string {
  return name(tool) + quoteOutside(toSignature(tool.input.json) + result(tool), maxLength);
}

function toLine(tool: Tool, writing: Writing): string {
  return describeCall(toCallText(tool, writing, MAX_SIGNATURE), tool, MAX_DESCRIPTION);
}

// `name(…)` has parameters, which `describe_tool` shows.
function toShortLine(tool: Tool, { name }: Writing): string {
  const parameters = toSignature(tool.input.json) === '()' ? '()' : '(…)';
  return describeCall(name(tool) + parameters, tool, MAX_SHORT_DESCRIPTION);
}

function describeCall(call: string, tool: Tool, maxLength: number): string {
  const description = quoteOutside(tool.description, maxLength);
  return description === '' ? call : `${call} — ${description}`;
}

// Servers whose tools are not known because they could not be started or may not be.
function findDown(catalog: Catalog, snapshot: Snapshot): string[] {
  const { servers } = snapshot.servers;
  if (servers.length === 0) return [];
  const known = new Set(catalog.list(snapshot).tools.map(({ origin }) => origin.server));
  return servers.flatMap(({ name }) => {
    if (known.has(name)) return [];
    try {
      catalog.find(toRemoteUri(name, 'any'), { snapshot });
    } catch (error) {
      if (isToolError(error) && error.code !== 'not_found') return [name];
    }
    return [];
  });
}
