// The built-in tool `run_code`: runs a program that calls tools (COD-1).

import type { AskedCode, RunCodeOptions } from '../code/run-code.js';
import { createProgramNames } from '../core/name.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { RUN_CODE } from '../core/view.js';
import { defineBuiltin } from '../formats/module/builtin.js';
import { listTools } from '../runtime/list.js';
import type { BuiltinParts } from './builtin.js';
import { toResultType, toSignature } from './signature.js';

// The program has a limit of its own, which does not count the time that a person takes to answer.
const TIMEOUT_MS = 24 * 3_600_000;

export function createRunCodeTool(
  parts: () => Pick<BuiltinParts, 'catalog' | 'cascade' | 'search'>,
  options: Omit<RunCodeOptions, 'list' | 'search'>,
): Tool {
  const list: RunCodeOptions['list'] = (caller, snapshot, knownOnly) =>
    listTools(parts(), snapshot, { caller, knownOnly });
  const search: RunCodeOptions['search'] = async (query, limit, caller, snapshot) => {
    const found = await parts().search(query, limit, caller, snapshot);
    const programName = createProgramNames(await list(caller, snapshot, true));
    return found.map(({ name, description, input, output }) => ({
      name: programName(name),
      signature: `${toSignature(input.json)}: Promise<${toResultType(output?.json)}>`,
      description: quoteOutside(description.trim(), 200),
    }));
  };
  return defineBuiltin<AskedCode>({
    name: RUN_CODE,
    description:
      'Run TypeScript that calls tools: const a = await tools.NAME({ … }); return a. search_tools has the names and ' +
      'signatures. Promise.all runs calls in parallel; a failed call throws an error with code and hint. A large ' +
      'result is a handle: await a.json(), a.page(n), a.query(jsonata). You see only what is returned or logged.',
    inputSchema: {
      type: 'object',
      properties: {
        code: { type: 'string', description: 'Body of an async function' },
        resume: { type: 'string', description: 'Instead of code: p_…, a program that waited for approval' },
      },
    },
    traits: { timeoutMs: TIMEOUT_MS, positional: ['code'] },
    // Most commands run no programs.
    async run(...call) {
      const { runCode } = await import('../code/run-code.js');
      return runCode({ ...options, list, search }, ...call);
    },
  });
}
