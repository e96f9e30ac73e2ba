// Finds what the page names: tools, prompts and resources of the catalog. Never a path, URI or command of the request.

import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import type { DoorOptions, Survey, Toolbox } from '../../core/toolbox.js';
import { PERSON } from './parts.js';

export interface Named {
  readonly tool: Tool;
  /** What `toolbox.call` takes. */
  readonly ref: string;
  readonly as?: DoorOptions['as'];
  /** What was listed to find it. */
  readonly survey: Survey;
}

/** Finds a tool by its exact name, `prompt:NAME` or `resource:URI`. Throws `not_found` (UI-6). */
export async function findNamed(toolbox: Toolbox, name: string): Promise<Named> {
  const survey = await toolbox.catalog.survey({ caller: PERSON });
  const { tools, denied, unlisted } = survey;
  const tool = [...tools, ...denied.map((one) => one.tool), ...unlisted].find((one) => one.name === name);
  if (tool !== undefined) return { tool, ref: name, survey };
  const options = { knownOnly: true, denied: true };
  const prompt = (await toolbox.catalog.prompts.list(options)).find((one) => one.tool.name === name);
  if (prompt !== undefined) return { tool: prompt.tool, ref: prompt.name, as: 'prompt', survey };
  const resource = (await toolbox.catalog.resources.list(options)).find((one) => one.tool.name === name);
  if (resource !== undefined) return { tool: resource.tool, ref: resource.uri, as: 'resource', survey };
  throw new ToolError('not_found', `not in the catalog: ${quoteOutside(name, 200)}`, { hint: 'reload the page' });
}
