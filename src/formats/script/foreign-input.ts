// How scripts of other programs get their input: from a function `argc`, or by the position of arguments.

import { ToolError } from '../../core/error.js';
import type { Json, JsonObject } from '../../core/json.js';
import type { ProcessPlan } from '../../core/plan.js';
import type { ArgcParameter, ScriptCall } from '../../core/tool.js';

const MAX_BYTES = 96 * 1024;

/** Adds the arguments and variables of such a script to its plan. Throws `invalid_input` for values it cannot get. */
export function withForeignInput(plan: ProcessPlan, call: ScriptCall): ProcessPlan {
  const input = plan.input as JsonObject;
  if (call.kind === 'arguments') return withArguments(plan, call.directory);
  const texts =
    call.kind === 'positions'
      ? call.positions.map(({ name, encoded }) => encode(toText(input[name] ?? ''), encoded))
      : [toEvaluated(call, input)];
  if (texts.some((text) => text.includes('\0') || Buffer.byteLength(text) > MAX_BYTES))
    throw new ToolError('invalid_input', 'a value is longer than 96 KiB, or contains a NUL character', {
      hint: 'pass a shorter text',
    });
  if (call.kind === 'positions') return { ...plan, argv: [...plan.argv, ...texts] };
  // Bash takes over exported functions. What it prints is evaluated by the last line of the script.
  const own = { 'BASH_FUNC_argc%%': '() { printf %s "$WIELD_ARGC"; }', WIELD_ARGC: texts[0]! };
  return { ...plan, environment: { ...call.defaults, ...plan.environment, ...own } };
}

// SKL-13: a script of a skill runs in its directory, as its text says, and leaves no caches there.
function withArguments(plan: ProcessPlan, cwd: string): ProcessPlan {
  const { args = [], stdin = '' } = plan.input as { readonly args?: readonly string[]; readonly stdin?: string };
  if (args.some((text) => text.includes('\0') || Buffer.byteLength(text) > MAX_BYTES))
    throw new ToolError('invalid_input', 'an argument is longer than 96 KiB, or contains a NUL character', {
      hint: 'pass a shorter text, or use stdin',
    });
  const environment = { PYTHONDONTWRITEBYTECODE: '1', ...plan.environment };
  return { ...plan, argv: [...plan.argv, ...args], stdin, cwd, environment };
}

function toText(value: Json): string {
  return typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
}

function encode(text: string, isEncoded: boolean): string {
  return isEncoded ? encodeURIComponent(text) : text;
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

// The output of functions of llm-functions is the file LLM_OUTPUT: /dev/stdout cannot be opened if it is a socket.
const WITH_OUTPUT = `LLM_OUTPUT=$(mktemp); export LLM_OUTPUT; wield_flags=$-; set +e
( [[ $wield_flags == *e* ]] && set -e; MAIN ); wield_status=$?
cat -- "$LLM_OUTPUT"; rm -f -- "$LLM_OUTPUT"; exit "$wield_status"`;

// Of an option and an argument that set the same variable, the argument is later.
const byPlace = (a: ArgcParameter, b: ArgcParameter): number => Number(a.kind === 'arg') - Number(b.kind === 'arg');

function toEvaluated({ parameters, defaults }: Extract<ScriptCall, { kind: 'argc' }>, input: JsonObject): string {
  const lines: string[] = [];
  const positional: string[] = [];
  for (const { name, kind, variable } of parameters.toSorted(byPlace)) {
    const value = input[name];
    if (value === undefined || value === null || value === false) continue;
    const texts = (Array.isArray(value) ? value : [value]).map((one) => (kind === 'flag' ? '1' : toText(one)));
    if (kind === 'arg') positional.push(...texts);
    const words = texts.map(quote).join(' ');
    lines.push(`argc_${variable}=${Array.isArray(value) ? `( ${words} )` : words}`);
  }
  const main = ['main', ...positional.map(quote)].join(' ');
  return [...lines, defaults.LLM_OUTPUT === undefined ? main : WITH_OUTPUT.replace('MAIN', () => main)].join('\n');
}
