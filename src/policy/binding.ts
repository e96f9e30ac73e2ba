// Binds an approval to a call: creates its record, and checks that a record matches its id.

import type { ApprovalRecord } from '../core/approval.js';
import type { Caller, Verdict } from '../core/caller.js';
import { canonicalJson } from '../core/json.js';
import { callerKey } from '../core/name.js';
import type { Plan, ProcessPlan } from '../core/plan.js';
import { findSensitiveValues, redactJson, redactKnown, redactText } from '../core/redact.js';
import type { Tool } from '../core/tool.js';
import { digestKeyed, digestParts } from '../files/digest.js';
import { readHead, sameIdentity } from '../files/read.js';

export interface BindOptions {
  readonly plan: Plan;
  readonly caller: Caller;
  readonly verdict: Verdict;
  readonly workdir: string;
  /** What it starts or loads besides the tool (POL-25). */
  readonly programs: readonly string[];
  /** The key of digests over values that are not stored. */
  readonly key: string;
  /** Known secrets, which are not stored. */
  readonly secrets: readonly string[];
  /** Milliseconds since 1970. */
  readonly now: number;
}

const ID_LENGTH = 16;
const MAX_SOURCE_BYTES = 64 * 1024;

/** Returns the record of a planned call (POL-7). */
export function toRecord(options: BindOptions): ApprovalRecord {
  const { plan, caller, verdict, workdir, programs, key, secrets: known, now } = options;
  const { tool } = plan;
  const { source } = verdict;
  const isProcess = plan.kind === 'process';
  const secrets = [...known, ...findSensitiveValues(plan.input)];
  const bound = {
    principal: callerKey(caller),
    tool: tool.name,
    uri: tool.origin.uri,
    toolDigest: tool.origin.digest!,
    planDigest: digestPlan(plan, key),
    workdir,
    programs: programs.map((line) => redactKnown(line, known)),
    ...(verdict.after === undefined ? {} : { after: verdict.after }),
    inputDigest: digestKeyed(key, [canonicalJson(plan.input)]),
    // Bound as well, so that nobody approves a call by what another one shows.
    input: redactJson(plan.input, secrets, Number.POSITIVE_INFINITY),
  };
  const redact = (text: string): string => redactText(text, secrets, MAX_SOURCE_BYTES);
  return {
    binding: digestBound(bound),
    ...bound,
    description: tool.description,
    owner: tool.origin.owner,
    command: isProcess
      ? [...plan.launcher, plan.binary, ...plan.argv.slice(1)].map(redact)
      : describeSent(plan, redact),
    interpreter: (isProcess && plan.interpreter) || null,
    others: isProcess ? otherCommands(plan).map((argv) => argv.map(redact)) : [],
    ...(tool.traits.background === true ? { background: true as const } : {}),
    variables: isProcess ? Object.keys(plan.environment).sort() : [],
    definition: redactKnown(describeDefinition(tool), secrets),
    rule: verdict.rule,
    reason: source === undefined ? verdict.reason : `${verdict.reason} (${source.file}:${source.line})`,
    created: now,
  };
}

function describeSent(plan: Plan, redact: (text: string) => string): string[] | null {
  return plan.kind === 'http' ? [plan.method, plan.url].map(redact) : null;
}

/** Returns the id of a recorded call, which is the same for the same call. */
export function idOf({ binding }: ApprovalRecord): string {
  return binding.slice(0, ID_LENGTH);
}

/** Returns the id of a standing approval: this version of the tool and its programs, this caller, this directory. */
export function standingIdOf(record: ApprovalRecord): string {
  const { principal, tool, uri, toolDigest, workdir, programs } = record;
  const bound = ['standing', principal, tool, uri ?? '', toolDigest, workdir, ...programs, ...afterOf(record)];
  return digestParts(bound).slice(0, ID_LENGTH);
}

/** Returns the id of the `last` record of a tool, the same for all its versions. */
export function toolIdOf({ tool, uri }: ApprovalRecord): string {
  return digestParts(['tool', tool, uri ?? '']).slice(0, ID_LENGTH);
}

/** Whether the binding of a record matches its fields. */
export function isIntact(record: ApprovalRecord): boolean {
  return digestBound(record) === record.binding;
}

type Bound = Pick<
  ApprovalRecord,
  | 'principal'
  | 'tool'
  | 'uri'
  | 'toolDigest'
  | 'planDigest'
  | 'workdir'
  | 'programs'
  | 'after'
  | 'inputDigest'
  | 'input'
>;

// No line of `programs` begins like this.
function afterOf({ after = [] }: Pick<Bound, 'after'>): readonly string[] {
  return after.map((label) => `after ${label}`);
}

function digestBound({ principal, tool, uri, toolDigest, planDigest, workdir, ...given }: Bound): string {
  const { programs, inputDigest, input } = given;
  const shown = [canonicalJson(input), ...programs, ...afterOf(given)];
  return digestParts(['call', principal, tool, uri ?? '', toolDigest, planDigest, workdir, inputDigest, ...shown]);
}

// Includes the values of variables; the digest of the tool includes its bytes.
export function digestPlan({ tool, ...plan }: Plan, key: string): string {
  return digestKeyed(key, ['plan', tool.name, tool.origin.digest ?? '', canonicalJson(plan)]);
}

function otherCommands({ command }: ProcessPlan): (readonly string[])[] {
  const steps = [...(command?.resolvers ?? []), ...(command?.postProcess ? [command.postProcess] : [])];
  return steps.filter(({ skipped }) => skipped === null).map(({ argv }) => argv);
}

function describeDefinition(tool: Tool): string {
  const source = readSource(tool);
  const schema = JSON.stringify(tool.input.json, null, 2);
  return source ?? (schema.length > MAX_SOURCE_BYTES ? '' : `${tool.description}\n${schema}`);
}

// Returns the text of a script, empty if the file is no longer the planned one.
function readSource({ action }: Tool): string | undefined {
  if (action.kind !== 'process' || action.runs !== 'script') return undefined;
  const reading = readHead(action.file, MAX_SOURCE_BYTES);
  if ('fault' in reading || !reading.complete || !sameIdentity(reading.identity, action.identity)) return '';
  return reading.bytes.toString('utf8');
}
