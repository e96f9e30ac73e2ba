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
    remove: 'Remove a tool',
    check: 'Lint a skill, a workspace or a source',
    index: 'Write the index of a skill library',
  }),
  ...of('use', {
    list: 'List the tools',
    show: 'Show the details of a tool',
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
    tokens: 'Count tokens',
    mcp: 'Manage upstream MCP servers',
    capabilities: 'Summarize the tools for agents',
    completions: 'Print a shell completion script',
  }),
  ...of('govern', {
    ui: 'Open the page',
    trust: 'Let models call the tools of a workspace',
    approvals: 'Answer pending calls',
    explain: 'Show which rule decides a call',
    audit: 'Show the audit log',
    config: 'Show the configuration',
    doctor: 'Check the setup and suggest fixes',
    clean: 'Remove caches and expired data',
    version: 'Print the version',
  }),
  ...of('install', {
    add: 'Add a source of tools and skills',
    install: 'Install items',
    'show-source': 'Show a source',
    uninstall: 'Uninstall items',
    upgrade: 'Upgrade installed items',
    outdated: 'List outdated items',
    sync: 'Fetch updates of sources',
    adopt: 'Move an item into a source',
    export: 'Write what is installed as a source manifest',
    import: 'Take over what mind installed',
    hooks: 'List hooks, and run them again',
    verify: 'Check installed files',
    'remove-source': 'Remove a source and its items',
  }),
];
