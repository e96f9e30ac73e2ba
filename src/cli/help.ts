// The text of `wield --help`.

import { VERBS } from './verbs.js';

const FIRST = ['init', 'list', 'call', 'serve', 'doctor'];

export function formatHelp(): string {
  const line = ({ name, summary }: { name: string; summary: string }): string => `  ${name.padEnd(9)} ${summary}`;
  const first = FIRST.map((name) => VERBS.find((verb) => verb.name === name)!);
  const others = VERBS.filter((verb) => !FIRST.includes(verb.name)).map((verb) => verb.name);
  return [
    'wield: a tool runtime for AI agents',
    '',
    ...first.map(line),
    '',
    `  Other commands: ${others.join(', ')}`,
    '',
    'Get started',
    '  wield init',
    '  wield call hello --name Ada',
    '',
    'Tools are commands too: wield hello --name Ada, wield <group> <command>.',
    'Run wield <command> --help for details.',
    '',
  ].join('\n');
}
