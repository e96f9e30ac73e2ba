// Moves secrets of `docker run -e NAME=value` to variables of the server, which `-e NAME` passes on.

import { isSensitiveName } from '../core/redact.js';
import type { Draft } from './read-entry.js';
import { isSecret } from './secrets.js';

const PROGRAM = /^(?:.*[\\/])?(?:docker|podman|nerdctl)(?:\.exe)?$/i;
const SWITCH =
  /^(?:-[itdPq]+|--(?:rm|interactive|tty|detach|init|privileged|read-only|publish-all|quiet|no-healthcheck|oom-kill-disable|sig-proxy|replace))$/;

/** Changes the options before the image; what follows it belongs to the program in the container. */
export function moveContainerSecrets(draft: Draft): void {
  if (draft.command === undefined || !PROGRAM.test(draft.command)) return;
  const start = draft.args.findIndex((argument) => /^(?:run|create|exec)$/.test(argument)) + 1;
  if (start === 0) return;
  const args = [...draft.args];
  for (let at = start; at < args.length && args[at]!.startsWith('-'); at++) {
    const option = args[at]!;
    const [, joined, text] = /^(-e=?|--env=)(.+)$/s.exec(option) ?? [];
    const takesNext = joined === undefined && !SWITCH.test(option) && !/^--[^=]+=/.test(option);
    if (takesNext) at++;
    if (joined === undefined && option !== '-e' && option !== '--env') continue;
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text ?? args[at] ?? '') ?? [];
    if (name === undefined || value === undefined || value === '') continue;
    if (!isSensitiveName(name) && !isSecret(name, value) && !value.includes('${')) continue;
    draft.env[name] = value;
    args[at] = joined === undefined ? name : joined.startsWith('--') ? `--env=${name}` : `-e${name}`;
    draft.notes.push(`${name}: passed in a variable of the server, not in its command line`);
  }
  draft.args = args;
}
