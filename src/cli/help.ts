// The first help: what a newcomer needs, on one small screen.

import { VERBS } from './verbs.js';

const FIRST = ['init', 'list', 'call', 'serve', 'doctor'];

export function formatHelp(): string {
  const line = ({ name, summary }: { name: string; summary: string }): string =>
    `  ${name.padEnd(9)} ${summary}`;
  const first = FIRST.map((name) => VERBS.find((verb) => verb.name === name)!);
  const others = VERBS.filter((verb) => !FIRST.includes(verb.name)).map((verb) => verb.name);
  return [
    'wield: every tool, one grip.',
    '',
    ...first.map(line),
    '',
    `  and: ${others.join(', ')}`,
    '',
    'Start here',
    '  wield init',
    '  wield call hello --name Ada',
    '',
    'Every tool is a command too: wield hello --name Ada, or wield <group> <command>.',
    'wield <command> --help explains one.',
    '',
  ].join('\n');
}
