// `wield completions`: prints a shell completion script.

import { report } from '../print.js';
import { isShell, SCRIPTS, SHELLS } from '../shells.js';
import { required, unknownChoice, type Verb } from '../verb.js';

export const completions: Verb = {
  usage: 'completions <bash|zsh|fish>',
  summary: 'Print a shell script that completes verbs, tools, flags and values.',
  examples: ['source <(wield completions bash)', 'wield completions fish > ~/.config/fish/completions/wield.fish'],
  positionals: 1,
  completes: SHELLS,
  async run(call) {
    const shell = required(call.positionals[0], 'shell name', `wield completions ${SHELLS.join('|')}`);
    if (!isShell(shell)) throw unknownChoice('shell', shell, SHELLS, 'wield completions');
    const script = SCRIPTS[shell];
    return report(call, { shell, script }, script);
  },
};
