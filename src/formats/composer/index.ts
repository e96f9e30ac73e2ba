// The composer.json format: scripts of Composer.

import type { Format } from '../../core/format.js';
import { isRecord } from '../../core/json.js';
import { createTaskFormat, type Task } from '../shared/task-file.js';
import { ARGS, describeTask } from '../shared/task-input.js';
import { parseObject, readTable, toSteps } from '../shared/task-text.js';

export function createComposerFormat(): Format {
  return createTaskFormat({
    name: 'composer',
    prefix: 'composer',
    runner: ['composer', '@'],
    files: ['composer.json'],
    parse: ({ text }) => ({ tasks: parse(text) }),
  });
}

// Composer runs these itself.
const EVENT =
  /^(?:pre|post)-(?:install|update|status|archive|autoload|root-package-install|create-project|operations|package|dependencies|file|command|pool)\b/;

function parse(text: string): Task[] {
  const document = parseObject(text);
  const descriptions = isRecord(document['scripts-descriptions']) ? document['scripts-descriptions'] : {};
  const toOffer = (name: string, value: unknown): Task['offer'] => {
    if (EVENT.test(name) || name === 'command' || name === 'init') return undefined;
    const lines = Array.isArray(value) ? value : [value];
    if (!lines.every((line) => typeof line === 'string')) return 'not a string or a list of strings';
    return {
      description: describeTask(descriptions[name], lines.join(' && ')),
      argv: ['composer', 'run-script', name, { param: 'args' }],
      input: ARGS,
      endOfOptions: true,
    };
  };
  return readTable(document.scripts, toOffer, (commands) => toSteps({ commands }, { commands: ['commands'] }));
}
