// The options of the toolbox of a workdir, its interface, and what it has stored.

import type { AuditSink } from './audit/sinks.js';
import type { SuspendedPrograms } from './code/host/suspended.js';
import type { Configuration } from './config/index.js';
import type { Approvals } from './core/approval.js';
import type { Dispatcher } from './core/executor.js';
import type { Format } from './core/format.js';
import type { LabelAdmin } from './core/label.js';
import type { PathEntry } from './core/search-path.js';
import type { Snapshot } from './core/snapshot.js';
import type { Stores } from './core/store.js';
import type { KnownToolbox, Toolbox } from './core/toolbox.js';
import type { NamedDefinition } from './core/typed.js';
import type { Mode } from './core/view.js';
import type { ShippedIndex } from './extras/shipped-index.js';
import type { NoOtherKeys, ToolDefinition } from './formats/module/define.js';
import type { PromptDefinition, ResourceDefinition } from './formats/module/offers.js';
import type { Network } from './net/network.js';
import type { ApprovalAdmin, LocalApprovals } from './policy/approvals.js';
import type { PinStore } from './policy/pins.js';
import type { TrustStore } from './policy/trust.js';
import type { Load } from './runtime/limiter.js';
import type { Middleware, MiddlewareFunction } from './runtime/middleware.js';
import type { SharedState } from './state/files.js';
import type { MeteredTelemetry } from './telemetry/index.js';
import type { ServerAdmin } from './upstream/index.js';
import type { LoginPages } from './upstream/login/pages.js';
import type { LoginUser } from './upstream/login/user.js';
import type { ToolboxMachine } from './workspace/machine.js';

/** Options of `createNodeToolbox`. */
export interface NodeToolboxOptions<Definition extends ToolDefinition = ToolDefinition> {
  /** The workdir; by default the nearest one from `cwd` upwards. */
  readonly workdir?: string;
  /** The directory that the workdir is searched from; that of the process by default. */
  readonly cwd?: string;
  /** Tools defined in code, which take precedence over all others. */
  readonly tools?: readonly (Definition & NoOtherKeys<Definition>)[];
  /** Resources and prompts defined in code, before all others. */
  readonly resources?: readonly ResourceDefinition[];
  /** Prompts defined in code, before all others. */
  readonly prompts?: readonly PromptDefinition[];
  /** The search path; overrides the configuration, whose value `...` inserts (RES-6). */
  readonly paths?: readonly PathEntry[];
  /** Middleware around that of the configuration, outermost first. */
  readonly middleware?: readonly (Middleware | MiddlewareFunction)[];
  /** Further formats, after those of wield; `createRootFormat` of `wield/formats` makes one for a file of the workdir. */
  readonly formats?: readonly Format[];
  /** Built-in tools to list, by name or group. */
  readonly offer?: readonly string[];
  /** The profile of the configuration that narrows this toolbox; an unknown one allows nothing (POL-24). */
  readonly profile?: string;
  /** How models are shown the tools, instead of the mode of the configuration (SRV-9). */
  readonly mode?: Mode;
  /** Trusts the workspace for the life of this toolbox (POL-22). */
  readonly trust?: boolean;
  /** Ends running tools even if this process is killed; for servers. */
  readonly guard?: boolean;
  /** Shares the processes of servers with other sessions of this user, as the command does (UPS-117). */
  readonly broker?: boolean;
  /** How long a listing waits for upstream servers that were never listed; `limits.listing` by default. */
  readonly upstreamPatienceMs?: number;
  /** Called with the servers that a listing waits for, and with an empty list at the end. */
  readonly onWait?: (servers: readonly string[]) => void;
  /** Where users log in to servers at which each has a login of their own. */
  readonly loginPages?: Pick<LoginPages, 'open'> | undefined;
  /** Returns the verified token of a user, which some servers exchange for one of their own. */
  readonly subjectToken?: ((user: LoginUser) => string | undefined) | undefined;
  /** The environment; that of the process by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Wall clock in milliseconds, `Date.now` by default. */
  readonly now?: () => number;
  /** Shares the state of this toolbox with other machines. */
  readonly shared?: SharedState | undefined;
  /** Sends spans and metrics over OTLP, as the variables `OTEL_*` of the environment say (OBS-12). */
  readonly telemetry?: boolean;
  /** Counts calls and requests for `state.telemetry` even if they are not sent. */
  readonly metrics?: boolean;
  /** Runs some plans on other machines. */
  readonly dispatcher?: Dispatcher | undefined;
  /** Further receivers of the lines of the audit log; `close` waits for them. */
  readonly auditSinks?: readonly AuditSink[];
  /** Receives debug messages. */
  readonly debug?: (message: string) => void;
  /** Receives warnings that belong to no call, such as an audit log that cannot be written. */
  readonly warn?: (message: string) => void;
}

/** A toolbox with the machine and the stored state that it uses. */
export interface NodeToolbox extends Toolbox {
  /** The environment, home directory and clock that it uses. */
  readonly machine: ToolboxMachine;
  /** What it has stored, and the configuration. */
  readonly state: ToolboxState;
}

/** The toolbox of a workdir whose tools in code were given as definitions: their calls are typed by them. */
export interface KnownNodeToolbox<Known extends NamedDefinition> extends NodeToolbox {
  /** Calls a tool by its name or definition. Never throws: every outcome is a result. */
  readonly call: KnownToolbox<Known, string>['call'];
}

/** What is stored in the wield home, and the configuration. */
export interface ToolboxState {
  /** The workspaces that are trusted. */
  readonly trust: TrustStore;
  /** The accepted definitions of tools from packages and servers. */
  readonly pins: PinStore;
  /** Documents and large results. */
  readonly stores: Stores;
  /** The upstream servers. */
  readonly upstreams: ServerAdmin;
  /** How requests leave this machine. */
  readonly network: Network;
  /** What was counted, and what runs and waits now. */
  readonly telemetry: Pick<MeteredTelemetry, 'readMetrics' | 'addMetrics'>;
  /** The audit log. */
  readonly audit: { readonly directory: string; findFault(): string | undefined };
  /** Returns how many calls run and wait. */
  load(): Load;
  /** Returns settings, rules, places and trust as they are now. */
  snapshot(): Snapshot;
  /** Returns the configuration with the files that it was read from. */
  configuration(): Configuration;
  /** The approvals of this machine. */
  readonly approvals: LocalApprovals;
  /** Those that calls use: of this machine, or of the fleet. */
  readonly sharedApprovals: Approvals & ApprovalAdmin;
  /** What sessions have read (FLW-5). */
  readonly labels: LabelAdmin;
  /** Programs that wait for approvals (COD-10). */
  readonly programs: SuspendedPrograms;
  /** What tools can have as their format. */
  readonly formats: readonly string[];
  /** The formats of files of tasks, which `[tasks] from` names. */
  readonly taskFormats: readonly Format[];
  /** The index that a library ships in its directory of skills (RES-22). */
  readonly shippedIndex: Pick<ShippedIndex, 'fileOf' | 'remove'> & {
    write(directory: string): ReturnType<ShippedIndex['write']>;
  };
}
