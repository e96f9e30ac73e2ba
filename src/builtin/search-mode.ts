// Search and code mode: a few built-in tools instead of the whole catalog (SRV-9, COD-1), and when these are shown.

import { memoize } from '../core/memoize.js';
import { estimateTokens } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { type AutoMode, CALL_TOOL, DESCRIBE_TOOL, type Mode, RUN_CODE, SEARCH_TOOLS, type View } from '../core/view.js';
import { isBackgroundTool } from './background.js';
import { QUERY_RESULT } from './query-result.js';
import { READ_RESULT } from './read-result.js';

const BOTH: readonly string[] = [SEARCH_TOOLS, DESCRIBE_TOOL];
const RESULTS: readonly string[] = [READ_RESULT, QUERY_RESULT];
// In mode `auto`, more tools or tokens than these are searched.
const MANY_TOOLS = 40;
const MANY_TOKENS = 8000;

/** Whether a built-in tool belongs to search mode or code mode only. */
export function isModeTool({ name }: Pick<Tool, 'name'>): boolean {
  return name === CALL_TOOL || name === RUN_CODE || BOTH.includes(name);
}

/** Whether a mode uses one of these tools. In mode `auto` they work even while they are not listed (SRV-25). */
export function usesTool(mode: Mode, { name }: Pick<Tool, 'name'>): boolean {
  if (mode === 'all') return false;
  return BOTH.includes(name) || name === (mode === 'code' ? RUN_CODE : CALL_TOOL);
}

/**
 * Returns what a model is shown of the tools that it may call; `isOffered` tells the built-in tools asked for, and
 * `decideMode` what mode `auto` is.
 */
export function showInMode(
  tools: readonly Tool[],
  { mode }: View,
  isOffered: (tool: Tool) => boolean,
  decideMode = (now: AutoMode): AutoMode => now,
): readonly Tool[] {
  if (mode === 'all') return tools;
  const others = tools.filter((tool) => tool.origin.builtin !== true || !isModeTool(tool));
  const isAll = (): boolean => !isMuch(others.filter(({ origin }) => origin.builtin !== true));
  if (mode === 'auto' && decideMode(isAll() ? 'all' : 'search') === 'all') return others;
  const isShown = (tool: Tool): boolean =>
    usesTool(mode, tool) || RESULTS.includes(tool.name) || isBackgroundTool(tool) || isOffered(tool);
  return tools.filter((tool) => tool.origin.builtin === true && isShown(tool));
}

function isMuch(tools: readonly Tool[]): boolean {
  if (tools.length > MANY_TOOLS) return true;
  return tools.reduce((sum, tool) => sum + tokensOf(tool), 0) > MANY_TOKENS;
}

const tokensOf = memoize(({ name, description, input, output }: Tool) =>
  estimateTokens(JSON.stringify({ name, description, input: input.json, output: output?.json })),
);
