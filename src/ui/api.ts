// The API of the page: every route with its response, and the event stream. Types only.

import type { AuditRecord } from '../audit/line.js';
import type { Caller, CallerKind, Verdict } from '../core/caller.js';
import type { Progress } from '../core/context.js';
import type { Json, JsonObject } from '../core/json.js';
import type { Problem } from '../core/problem.js';
import type { ToolResult } from '../core/result.js';
import type { RuleText } from '../core/toolbox.js';

/**
 * Every route, by method and path. `:name` is one segment, encoded with `encodeURIComponent`. All but the first need the
 * cookie of a browser and its key in the header `x-wield-key`, or `authorization: Bearer TOKEN`; a POST also
 * `content-type: application/json`. An error has a status of 400 or more and the body `{ error: ErrorValue }`.
 */
export interface Routes {
  /** Exchanges the code of an address, once, for a cookie and its key. */
  'POST /api/login': { response: { readonly key: string } };
  /** The page itself, for the header. */
  'GET /api/session': { response: Session };
  /** 1. Catalog, as one kind of caller sees it. */
  'GET /api/catalog/:as': { response: Catalog };
  /** A tool by name; hidden and denied ones too. */
  'GET /api/tools/:name': { response: ToolDetails };
  /** 2. What a model sees of a tool. */
  'GET /api/tools/:name/sent/:provider': { response: SentTool };
  /** 4. What a call would run, and the verdict; runs nothing. */
  'POST /api/plan': { response: PlannedCall };
  /** 4. Runs a call as a person. The response is a stream of `RunEvent`, one JSON document per line; closing it cancels the call. */
  'POST /api/run': { response: RunEvent };
  /** 4. Answers a question of a tool that runs. A form with faults is refused, and can be answered again. */
  'POST /api/answers': { response: { readonly answered: string } };
  /** 4. A page of a stored result, from 1. */
  'GET /api/results/:handle/:page': { response: { readonly result: ToolResult } };
  /** 5. Approvals of all processes. */
  'GET /api/approvals': { response: { readonly approvals: readonly ApprovalItem[] } };
  'POST /api/approvals/:id': { response: { readonly approval: ApprovalItem } };
  /** 5. Denies several pending calls. */
  'POST /api/approvals': { response: { readonly denied: readonly string[] } };
  /** 5. What sessions have read, which rules depend on. */
  'GET /api/labels': { response: { readonly sessions: readonly SessionItem[] } };
  /** 6. Which rule decides, for any caller and input. */
  'POST /api/explain': { response: Explained };
  /** 7. The newest calls of the audit log, oldest first, and calls that run now, of all processes. */
  'GET /api/calls': { response: LiveCalls };
  /** 8. Calls of this process with input and result, oldest first. */
  'GET /api/recording': { response: { readonly calls: readonly RecordedCall[] } };
  'GET /api/recording/:call/export': { response: CallExport };
  /** 8. Saves a call as a case for `wield replay` and `wield diff`. */
  'POST /api/cases': { response: SavedCase };
  /** 9. Tools of servers and packages that differ from what was approved. */
  'GET /api/changes': { response: { readonly changes: readonly ChangedItem[] } };
  'POST /api/changes': { response: { readonly accepted: string } };
  /** 10. */
  'GET /api/tokens': { response: TokenLedger };
  /** 11. */
  'GET /api/servers': { response: { readonly servers: readonly ServerItem[] } };
  'POST /api/servers/:name/restart': { response: { readonly server: ServerItem } };
  /** Opens the login in the browser of this machine; the response comes when it is done. */
  'POST /api/servers/:name/login': { response: { readonly server: ServerItem } };
  /** 12. */
  'GET /api/health': { response: { readonly checks: readonly HealthCheck[] } };
  'GET /api/settings': { response: SettingsList };
  /** A stream of `PageEvent`, one JSON document per line, until it is closed. */
  'GET /api/events': { response: PageEvent };
}

export interface Session {
  readonly version: string;
  readonly workdir: string;
  readonly trusted: boolean;
  /** Providers of `sent`. */
  readonly providers: readonly string[];
}

export type CallerName = Pick<Caller, 'kind' | 'door' | 'name'>;

export interface Catalog {
  readonly items: readonly CatalogItem[];
  readonly problems: readonly ProblemItem[];
}

/**
 * `listed` is what the caller is shown. `unlisted`: a built-in tool that is callable but not shown. `untrusted`: not
 * callable by a model until the workspace is trusted. `changed`: differs from what was approved. `failed`: a server that
 * could not be started.
 */
export type CatalogState =
  | 'listed'
  | 'unlisted'
  | 'hidden'
  | 'shadowed'
  | 'denied'
  | 'untrusted'
  | 'changed'
  | 'starting'
  | 'failed';

export interface CatalogItem {
  /** Unique in the catalog. */
  readonly id: string;
  readonly kind: 'tool' | 'skill' | 'prompt' | 'resource' | 'server';
  readonly name: string;
  readonly title?: string;
  /** The first line. */
  readonly description: string;
  readonly state: CatalogState;
  /** Why it has that state; absent if it is listed. */
  readonly why?: string;
  /** The rule, declaration or file behind `why`, or the file of the item. */
  readonly position?: Position;
  readonly format?: string;
  readonly server?: string;
  /** Package that it was installed from. */
  readonly source?: string;
  readonly group?: string;
  readonly tags: readonly string[];
  readonly marks: readonly Mark[];
}

export type Mark = 'destructive' | 'read-only' | 'idempotent' | 'open-world' | 'terminal' | 'sandbox' | 'built-in';

export interface Position {
  readonly file: string;
  readonly line: number | null;
}

export type ProblemItem = Pick<Problem, 'severity' | 'path' | 'message' | 'hint'>;

export interface ToolDetails {
  readonly item: CatalogItem;
  readonly description: string;
  /** JSON Schema of the input, as declared. */
  readonly input: JsonObject;
  readonly output?: JsonObject;
  readonly examples: readonly Json[];
  readonly origin: string | null;
  readonly digest: string | null;
  /** What running it means: `process`, `module`, `remote`, … */
  readonly action: string;
}

export interface SentTool {
  readonly provider: string;
  /** The name that the provider gets; null if the tool is not sent, for the reason `why`. */
  readonly name: string | null;
  readonly why?: string;
  /** Exactly what is sent, as JSON text, indented for reading. */
  readonly text: string;
  readonly description: string;
  readonly schema: Json;
  /** An estimate, within 3 % over all tools. */
  readonly tokens: number;
}

export interface PlannedCall {
  /** Label and value of each line of `wield call --dry-run`, with secrets redacted. */
  readonly rows: readonly (readonly [label: string, value: string])[];
  readonly verdict: Verdict;
  /** Names this plan in `POST /api/run`. */
  readonly digest: string;
}

export type RunEvent =
  | { readonly type: 'progress'; readonly progress: Progress }
  | { readonly type: 'question'; readonly question: QuestionItem }
  | { readonly type: 'result'; readonly result: ToolResult };

/** A question of a tool: a form, or a page to visit. */
export interface QuestionItem {
  readonly id: string;
  readonly tool: string;
  readonly message: string;
  readonly schema?: JsonObject;
  readonly url?: string;
}

export interface ApprovalItem {
  readonly id: string;
  readonly state: 'pending' | 'approved' | 'denied' | 'standing';
  readonly tool: string;
  readonly caller: { readonly kind: CallerKind; readonly name: string };
  /** Label and value of each line of the prompt, with invisible characters escaped. */
  readonly rows: readonly (readonly [label: string, value: string])[];
  readonly input: Json;
  /** Names the plan; required to decide. */
  readonly digest: string;
  readonly reason: string;
  /** Diff to the last approved call of this tool. */
  readonly changes?: { readonly since: string | null; readonly lines: readonly string[] };
  readonly since: string;
  /** When it expires; null: when it is revoked. */
  readonly until: string | null;
  /** Why a person denied it. */
  readonly note?: string;
}

/** A session that labels entered. */
export interface SessionItem {
  readonly id: string;
  /** Whose session it is. */
  readonly of: string;
  /** Each label with the tool that brought it and when. */
  readonly labels: readonly string[];
}

export interface Explained {
  readonly verdict: Verdict;
  readonly unmatched: readonly RuleText[];
  readonly sandbox?: string;
}

/** A finished call of the audit log. */
export interface CallRow
  extends Pick<AuditRecord, 'parent' | 'pid' | 'time' | 'tool' | 'caller' | 'user' | 'session' | 'kind' | 'door'>,
    Pick<AuditRecord, 'verdict' | 'rule'>,
    Pick<
      AuditRecord,
      'reason' | 'approval' | 'code' | 'durationMs' | 'inputBytes' | 'outputBytes' | 'sandbox' | 'workdir'
    > {
  /** Unique: of process and call. */
  readonly id: string;
  /** Of `GET /api/recording`, if this process recorded it. */
  readonly recorded?: string;
}

/** A call that runs now. Calls of other processes are seen once they have run for a moment. */
export interface RunningRow
  extends Pick<CallRow, 'id' | 'parent' | 'pid' | 'tool' | 'caller' | 'kind' | 'door' | 'workdir'> {
  readonly since: string;
}

export interface LiveCalls {
  readonly calls: readonly CallRow[];
  readonly running: readonly RunningRow[];
}

/** A call as a recording has it: a line of the file, with secrets redacted. */
export interface RecordedCall {
  readonly type: 'call';
  /** Unique in the recording. */
  readonly call: string;
  readonly parent: string | null;
  readonly time: string;
  readonly tool: string;
  readonly caller: CallerName;
  readonly input: Json;
  readonly verdict: Verdict['verdict'] | null;
  readonly result: ToolResult;
}

export interface CallExport {
  /** A line for a shell. */
  readonly line: string;
  /** A test file that uses `wield/testing`. */
  readonly test: string;
}

export interface SavedCase {
  readonly name: string;
  readonly file: string;
}

export interface ChangedItem {
  readonly tool: string;
  /** The server or package. */
  readonly from: string;
  readonly diff: readonly string[];
  /** Of the new definition; required to accept it. */
  readonly digest: string;
}

/** Tokens are estimates. Definitions are sent once per conversation; results are those of the audit log. */
export interface TokenLedger {
  readonly tools: readonly (TokenRow & { readonly server: string | null })[];
  readonly servers: readonly TokenRow[];
  readonly clients: readonly Omit<TokenRow, 'definition'>[];
}

export interface TokenRow {
  /** Of a server: null for tools of no server. */
  readonly name: string | null;
  /** Tokens of the definition, as MCP clients get it; 0 if it is not shown. */
  readonly definition: number;
  readonly calls: number;
  readonly refused: number;
  /** Durations of its calls; null without calls, and of servers. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly inputs: number;
  readonly results: number;
}

export interface ServerItem {
  readonly name: string;
  readonly kind: 'stdio' | 'http';
  /** Command line or URL, with secrets masked. */
  readonly target: string;
  readonly owner: string;
  readonly position: Position;
  readonly state: 'listed' | 'starting' | 'failed' | 'untrusted' | 'unknown' | 'off' | 'blocked';
  /** Whether this process has a connection. */
  readonly connected: boolean;
  /** Protocol version of the connection. */
  readonly protocol: string | null;
  readonly tools: number;
  readonly changed: readonly string[];
  readonly failure: { readonly message: string; readonly hint: string; readonly at: string } | null;
  readonly listedAt: string | null;
  /** The last lines that it wrote to stderr, of this process's connection. */
  readonly stderr: readonly string[];
  readonly login: 'none' | 'possible';
}

export interface HealthCheck {
  /** `absent`: an optional program that is not installed. */
  readonly level: 'ok' | 'absent' | 'warning' | 'problem';
  /** A file, or a part of the machine. */
  readonly about: string;
  readonly message: string;
  readonly hint?: string;
}

export interface SettingsList {
  readonly settings: readonly {
    readonly key: string;
    readonly value: string;
    /** Null: the default. */
    readonly position: Position | null;
  }[];
  /** Why calls are blocked, if they are. */
  readonly fault: string | null;
  readonly problems: readonly ProblemItem[];
}

/** `catalog`, `approvals`, `servers`: changed, and should be fetched again. `servers` also when one writes to stderr. */
export type PageEvent =
  | { readonly type: 'ready' }
  /** Events were left out, because the page did not read them: everything has to be fetched again. */
  | { readonly type: 'reset' }
  | { readonly type: 'catalog' }
  | { readonly type: 'servers' }
  | { readonly type: 'approvals'; readonly pending: number }
  | { readonly type: 'running'; readonly running: readonly RunningRow[] }
  | { readonly type: 'call'; readonly call: CallRow };
