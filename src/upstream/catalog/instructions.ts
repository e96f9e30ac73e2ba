// Instructions of upstream servers, for a model that may use them.

import type { Caller } from '../../core/caller.js';
import type { Snapshot } from '../../core/snapshot.js';
import type { Tool } from '../../core/tool.js';
import type { ServerEntry } from '../../core/upstream.js';
import { findDenial } from '../../policy/decide.js';
import { toRules } from '../../policy/rules.js';
import type { UpstreamFormat } from './format.js';
import { toPrefix } from './name.js';
import type { ServerTools } from './tools.js';

const MODEL: Caller = { kind: 'model', door: 'library' };
// Of one server, and of all together.
const MAX_CHARACTERS = 4000;
const MAX_TOTAL = 16_000;

/** Joins the instructions of servers of which a model sees something, as they were approved, within limits. */
export function joinInstructions(
  format: Pick<UpstreamFormat, 'listed'>,
  snapshot: Snapshot,
  mayStart: (server: ServerEntry, snapshot: Snapshot) => boolean,
): string {
  const denialOf = (tool: Tool) => findDenial(tool, MODEL, toRules(snapshot));
  const isSeen = (tool: Tool): boolean => !tool.traits.hidden && denialOf(tool) === undefined;
  const textOf = ({ offers }: ServerTools): string => {
    const own = offers.find(({ kind }) => kind === 'instructions');
    // A list of tools need not name the instructions, but a rule that denies them hides them.
    return own === undefined || (denialOf(own.tool)?.rule ?? null) !== null ? '' : own.shown.description;
  };
  let left = MAX_TOTAL;
  const texts = format.listed(snapshot).flatMap(({ server, found }) => {
    const isShown = mayStart(server, snapshot) && [...found.tools, ...found.offers.map(toOffered)].some(isSeen);
    const text = isShown ? cut(textOf(found), Math.min(MAX_CHARACTERS, left)) : '';
    left -= text.length;
    return text === '' ? [] : [`${describe(server)}\n${text}`];
  });
  return texts.join('\n\n');
}

function toOffered({ kind, tool }: ServerTools['offers'][number]): Tool {
  return kind === 'instructions' ? { ...tool, traits: { ...tool.traits, hidden: true } } : tool;
}

function describe({ name, prefix }: ServerEntry): string {
  const names = prefix === false ? '' : `, whose tools are named ${toPrefix(name)}… here`;
  return `Instructions of the MCP server ${name}${names}:`;
}

function cut(text: string, limit: number): string {
  if (limit < 2) return '';
  return text.length <= limit ? text : `${text.slice(0, limit - 1)}…`;
}
