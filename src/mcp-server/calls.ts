// Calls of tools: how a request becomes a call, and a result its answer.

import { type ErrorValue, formatError, ToolError } from '../core/error.js';
import type { Json } from '../core/json.js';
import { decodeName } from '../core/name.js';
import type { Plan } from '../core/plan.js';
import { isFailedOutput, type ToolResult } from '../core/result.js';
import type { Toolbox } from '../core/toolbox.js';
import { ERROR, RpcError } from '../net/mcp.js';
import { resolveAppTool, showsApps } from './apps.js';
import type { AutoModes } from './auto-mode.js';
import type { InputRequiredResult } from './client-requests.js';
import type { InteractiveCalls } from './interaction.js';
import type { Listing, LiveListing } from './listing.js';
import type { Listings } from './live-listing.js';
import type { Params } from './message.js';
import type { RequestScope } from './request.js';
import { type CallResult, projectResult, toCallResult } from './result.js';
import { needsTasks, wantsTask } from './tasks.js';

export interface ToolCallsOptions {
  readonly toolbox: Toolbox;
  readonly listings: Listings;
  readonly modes: AutoModes;
  readonly serve: InteractiveCalls['serve'];
  /** In a fleet there are no tasks, so that every tool runs as any other. */
  readonly isFleet: boolean;
}

/** Returns a function that answers `tools/call`, to its end. */
export function createToolCalls({ toolbox, listings, modes, serve, isFleet }: ToolCallsOptions) {
  return async (params: Params, scope: RequestScope): Promise<CallResult | InputRequiredResult> => {
    const listed = params.name as string;
    const listing = listings.of(scope.identity, modes.of(scope.client));
    const known = listing.newest ?? (await listing.known());
    const asked = known.names.has(listed) ? listed : await toAppTool(listing, known, listed, scope);
    const name = known.names.get(asked) ?? decodeName(asked);
    const input = (params.arguments ?? {}) as Json;
    // A request that resumes a call does not begin one, which would say so.
    if (known.names.has(asked) && scope.operation !== undefined) scope.operation.target = name;
    const mayBeTask = isFleet || wantsTask(params, scope);
    let isRefused = false;
    // SRV-83: the listing may not know the tool yet.
    const checkPlan = ({ tool }: Plan): void => {
      if (mayBeTask || tool.traits.taskOnly !== true) return;
      isRefused = true;
      throw new ToolError('unavailable', `${tool.name} can only be called as a task`, {
        hint: 'use a client that supports tasks',
      });
    };
    const outcome = await serve({
      scope,
      id: name,
      input,
      run: (options) => toolbox.call(name, input, options),
      checkPlan,
    });
    if (isRefused) throw needsTasks(scope);
    if ('resultType' in outcome) return outcome;
    const { refusal } = outcome.meta;
    if (refusal !== undefined) throw new RpcError(refusal.code, refusal.message, refusal.data);
    // This call may have been the first to connect to the tool's upstream server.
    const { names, outputs, structured } = known.outputs.has(asked) ? known : await listing.rereadKnown();
    if (outcome.error !== undefined && !names.has(asked)) rejectUnknown(outcome.error);
    const schema = outputs.get(asked);
    const mayBeInText = !structured.has(asked) && !isFailedOutput(outcome.structured);
    // A client that does not know an output schema needs no structured content beside a handle.
    const withStructured =
      !mayBeInText &&
      (outcome.meta.handle === undefined || schema !== undefined) &&
      (outcome.ok || schema === undefined || (await matchesOutput(toolbox, name, outcome)));
    return projectResult(toCallResult(outcome, withStructured), scope.isNewer, schema);
  };
}

// The listing may be older than the rules that now allow the tool.
async function toAppTool(listing: LiveListing, known: Listing, name: string, scope: RequestScope): Promise<string> {
  if (!showsApps(scope.capabilities)) return name;
  const found = resolveAppTool(known.appTools, name, scope);
  return found ?? resolveAppTool((await listing.rereadKnown()).appTools, name, scope) ?? name;
}

// An unknown tool is a protocol error; what else goes wrong with a call is a result.
function rejectUnknown(error: ErrorValue): void {
  if (error.code !== 'not_found' && error.code !== 'invalid_ref') return;
  throw new RpcError(ERROR.invalidParams, formatError(error), { 'wield/error': error });
}

// Older clients validate the structured content of a failed call too.
async function matchesOutput(toolbox: Toolbox, name: string, { structured }: ToolResult): Promise<boolean> {
  if (structured === undefined) return false;
  const tool = await toolbox.find(name).catch(() => undefined);
  return (await tool?.output?.check(structured))?.ok === true;
}
