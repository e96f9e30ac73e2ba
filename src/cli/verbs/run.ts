// `wield run`: runs a program that calls tools.

import { ToolError } from '../../core/error.js';
import { INPUT_BOUNDS } from '../../core/json.js';
import { isToolName } from '../../core/name.js';
import type { CallOptions, Toolbox } from '../../core/toolbox.js';
import { RUN_CODE } from '../../core/view.js';
import { readHead } from '../../files/read.js';
import { readStdin } from '../input.js';
import { resolvePath } from '../io.js';
import { option, toggle, usageError, type Verb, type VerbCall } from '../verb.js';
import { callForJson, callForPerson, toCallOptions } from './call.js';

export const run: Verb = {
  usage: 'run FILE | --resume ID [--yes] [--json]',
  summary: 'Run a TypeScript program that calls tools: await tools.NAME({ … }).',
  examples: ['wield run stale-issues.ts', 'echo \'return tools.hello({ name: "Ada" })\' | wield run -'],
  flags: {
    resume: option('ID', 'Continue a program that waited for approval'),
    trust: toggle('Trust this workspace for this program only'),
    yes: toggle('Approve without asking'),
  },
  positionals: 1,
  completes: 'files',
  async run(call) {
    const { flags, terminal, json } = call;
    const resume = flags.get('resume');
    const [file] = call.positionals;
    if ((file === undefined) === (resume === undefined))
      throw usageError('give a file, or --resume', 'for example: wield run program.ts');
    const toolbox = call.toolbox({ trust: flags.has('trust') });
    const input = file === undefined ? { resume } : { code: await readProgram(call, file) };
    const options = toCallOptions(call, toolbox, flags);
    const named = file === undefined || file === '-' ? toolbox : namingFile(toolbox, file);
    return (json ? callForJson : callForPerson)({ terminal, toolbox: named, ref: RUN_CODE, input, options });
  },
};

// Errors have the line of the program.
function namingFile(toolbox: Toolbox, file: string): Pick<Toolbox, 'call'> {
  return {
    async call(ref: string, input: unknown, options?: CallOptions) {
      const result = await toolbox.call(ref, input, options);
      if (result.ok) return result;
      return { ...result, error: { ...result.error, message: `${file}: ${result.error.message}` } };
    },
  };
}

async function readProgram({ terminal, signal }: VerbCall, file: string): Promise<string> {
  if (file === '-') return readStdin(terminal, signal);
  const reading = readHead(resolvePath(terminal.io, file), INPUT_BOUNDS.maxBytes);
  if ('fault' in reading)
    throw new ToolError('io', `cannot read ${file}: ${reading.message}`, {
      hint: isToolName(file)
        ? `check the path of the program; if it is a tool: wield call ${file}`
        : 'check the path of the program',
    });
  return reading.bytes.toString('utf8');
}
