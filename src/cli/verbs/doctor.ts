// `wield doctor`: what is wrong here, and the command or line that mends it.

import { quoteOutside } from '../../core/text.js';
import { commandProblems } from '../commands.js';
import { diagnose, type Finding } from '../diagnose.js';
import { printJson } from '../print.js';
import type { Verb } from '../verb.js';

const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;

export const doctor: Verb = {
  name: 'doctor',
  usage: 'doctor [--json]',
  summary: 'Say what is wrong and how to mend it. Exits 1 where there is a problem.',
  examples: ['wield doctor'],
  flags: {},
  positionals: 0,
  async run({ terminal, json, reserved, toolbox: open }) {
    const toolbox = open();
    const commands = commandProblems(await toolbox.catalog.survey(), reserved);
    const { findings, problems, warnings } = await diagnose(toolbox, commands);
    if (json) {
      printJson(terminal, {
        ok: true,
        problems,
        warnings,
        checks: findings.filter((finding) => finding.level === 'ok'),
      });
    } else {
      const width = Math.max(...findings.map((finding) => finding.about.length));
      const line = ({ level, about, message, hint }: Finding): string => {
        const what = quoteOutside(`${message}${hint ? `; ${hint}` : ''}`, 2000);
        return `  ${terminal.paint(COLOURS[level], level.padEnd(8))} ${quoteOutside(about, 2000).padEnd(width)}  ${what}\n`;
      };
      terminal.out(findings.map(line).join(''));
    }
    return problems.length > 0 ? 1 : 0;
  },
};
