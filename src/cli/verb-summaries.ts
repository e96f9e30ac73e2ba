// What each verb is for, for `--help` and completion; not loaded with the verbs.

/** What a verb is for; `--help` lists the verbs by it. */
export type VerbGroup = 'make' | 'use' | 'connect' | 'govern' | 'install';

export interface VerbSummary {
  readonly name: string;
  readonly group: VerbGroup;
  readonly summary: string;
}

const of = (group: VerbGroup, summaries: Readonly<Record<string, string>>): readonly VerbSummary[] =>
  Object.entries(summaries).map(([name, summary]) => ({ name, group, summary }));

/** In the order of the help. */
export const SUMMARIES: readonly VerbSummary[] = [
  ...of('make', {
    init: 'Create a first tool',
    new: 'Create a tool',
    remove: 'Remove a tool or a source',
    check: 'Lint a skill, a workspace or a source; check installed files',
  }),
  ...of('use', {
    list: 'List tools, installed items, sources',
    show: 'Show a tool or a source',
    search: 'Search tools by description',
    call: 'Call a tool',
    run: 'Run a program that calls tools',
    record: 'Record calls',
    replay: 'Replay calls',
    diff: 'Compare recordings',
  }),
  ...of('connect', {
    serve: 'Serve the tools to an agent over MCP',
    worker: 'Run calls of a fleet',
    fleet: 'Show the status of a fleet',
    connect: 'Add wield to Claude Code, Cursor, …',
    mcp: 'Manage upstream MCP servers',
    completions: 'Print a shell completion script',
  }),
  ...of('govern', {
    ui: 'Open the page',
    trust: 'Let models call the tools of a workspace',
    approvals: 'Answer pending calls',
    explain: 'Show which rule decides a call',
    audit: 'Show the audit log',
    config: 'Show the configuration',
    doctor: 'Check the setup, suggest fixes, clean up',
    version: 'Print the version',
  }),
  ...of('install', {
    add: 'Add a source of tools and skills',
    install: 'Install items',
    uninstall: 'Uninstall items',
    upgrade: 'Upgrade installed items, fetch updates',
    hooks: 'List hooks, and run them again',
  }),
];
