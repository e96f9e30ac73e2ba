// Names of files that make other programs run code, or tell agents what to do.

import { words } from '../../core/text.js';

// In lower case, since the case of names may not count.
const NAMES = new Set([
  // Git and what its hooks start
  ...words('.git .gitmodules .githooks .husky .overcommit.yml'),
  // Agents, and servers that they start
  ...words(`
    .agents .aider.conf.yml .amazonq .augment .claude .clinerules .codex .continue .crush .cursor .factory .gemini
    .goosehints .junie .kilocode .kiro .opencode .openhands .qoder .qwen .roo .trae .warp .windsurf
  `),
  // Editors, debuggers and interactive interpreters
  ...words(`
    .vscode .idea .zed .fleet .nova .run .theia .vs .devcontainer .devcontainer.json .exrc .vim .nvim.lua
    .vimspector.json .dir-locals.el .gdbinit .lldbinit .pdbrc .pdbrc.py .ghci .irbrc .pryrc .ocamlinit .rprofile
  `),
  // Shells that enter a directory, and managers of versions and packages
  ...words(`
    .envrc .direnv .mise .tool-versions .cargo .mvn .pydistutils.cfg .sbtopts .jvmopts bunfig.toml uv.toml pip.conf
    pip.ini
  `),
  // Services that build what is pushed
  ...words(`
    .github .gitlab .gitea .forgejo .circleci .buildkite .woodpecker .semaphore .teamcity .tekton .azuredevops
    .azure-pipelines .build.yml .builds netlify.toml vercel.json amplify.yml
  `),
]);

const PATTERNS = [
  // Git and what its hooks start: `lefthook-local.yml`, `.pre-commit-config.yaml`, `.lintstagedrc.json`
  /^\.?lefthook(?:-local)?\.(?:ya?ml|toml|json)$|^\.pre-commit-config\.ya?ml$|^\.lintstagedrc(?:\.|$)/,
  // Agents: `AGENTS.override.md`, `CLAUDE.local.md`, `.cursorrules`, `.roomodes`, `.mcp.json`, `opencode.jsonc`
  /^(?:agents?|claude|codex|crush|gemini|goose|qwen|warp)(?:\.\w+)?\.md$|^\.\w*(?:rules|modes)$/,
  /^\.?(?:mcp|crush|opencode)\.jsonc?$/,
  // Editors: `.nvimrc`, `app.code-workspace`, `app.sublime-project`
  /^\.\w*vimrc$|\.(?:code|sublime)-(?:workspace|project)$/,
  // Shells: `.bashrc`, `.zshenv`, `.bash_profile`, `.zlogin`
  /^\.\w*sh(?:rc|env|_\w+)$|^\.z?(?:profile|login|logout)$/,
  // Managers of versions and packages: `mise.local.toml`, `.yarnrc.yml`, `.pnp.loader.mjs`
  /^\.?mise(?:\.\w+)?\.toml$|^\.(?:npm|yarn|conda|mamba|gem|bazel|bazelisk)rc(?:\.ya?ml)?$/,
  /^\.(?:pnpmfile|pnp(?:\.loader)?)\.[cm]?js$/,
  // Services that build: `azure-pipelines-ci.yml`, `.drone.star`, `Jenkinsfile.release`
  /^\.?(?:appveyor|azure-pipelines|bitbucket-pipelines|buildspec|cirrus|cloudbuild|codemagic|drone)\b.*\.ya?ml$/,
  /^\.?(?:gitlab-ci|gitpod|readthedocs|semaphore|travis|wercker|woodpecker)\b.*\.ya?ml$/,
  /^cloudbuild\b.*\.json$|^\.(?:cirrus|drone)\.(?:star|jsonnet)$|^jenkinsfile(?:[.-]|$)/,
];

// Of these directories, builds write the rest.
const PARTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['.yarn', ['releases', 'plugins', 'sdks']],
  ['.bundle', ['config', 'plugin']],
  ['gradle', ['wrapper']],
]);

/** Whether a file or directory of a directory makes other programs run code. */
export function runsCode(name: string, directory: string): boolean {
  const known = name.toLowerCase();
  if (NAMES.has(known) || PATTERNS.some((one) => one.test(known))) return true;
  return PARTS.get(directory.toLowerCase())?.includes(known) === true;
}
