// Resources and prompts of wield itself: skills, documents, installed agents, and the prompts `tools` and `capabilities`.

import type { Catalog } from '../catalog/catalog.js';
import { isToolOf } from '../catalog/skill-references.js';
import { parseLogicalPath } from '../context/logical-path.js';
import type { ToolContext } from '../core/context.js';
import { reviveError, ToolError } from '../core/error.js';
import type { OfferSource } from '../core/format.js';
import type { JsonObject } from '../core/json.js';
import { IN_CODE } from '../core/origin.js';
import { OWN_PROMPT_NAMES, type Prompt, type Resource, toPromptName, toResourceName } from '../core/resource.js';
import { textOf } from '../core/result.js';
import type { CascadeResolver, Skill } from '../core/skill.js';
import type { Snapshot, World } from '../core/snapshot.js';
import type { Stores } from '../core/store.js';
import { quoteOutside } from '../core/text.js';
import type { CallInternals, Tool } from '../core/tool.js';
import { defineBuiltin } from '../formats/module/builtin.js';
import { decide } from '../policy/decide.js';
import { toRules } from '../policy/rules.js';
import { readCapabilities } from './capabilities.js';
import { createFollow } from './follow.js';
import { READ_SKILL } from './skill-content.js';
import { SKILL_FILE } from './skill-files.js';
import { describeSkill, findByUri, readResource, toSkillUri } from './skill-resources.js';
import { isOffered, isVisible, readableSkills } from './visibility.js';

export interface OwnOffersOptions {
  readonly catalog: Catalog;
  readonly cascade: CascadeResolver;
  readonly stores: Stores;
  /** The tools that a model may see. */
  readonly tools: (snapshot: Snapshot) => Promise<readonly Tool[]>;
  /** Built-in tools that the program offers, by name or group. */
  readonly offered: readonly string[];
  readonly world: World;
}

const CONTEXT = 'context://';
const CONTEXT_READ = 'context_read';

export function createOwnOffers(options: OwnOffersOptions): OfferSource {
  const { catalog, cascade, stores } = options;
  const skillsOf = (snapshot: Snapshot): readonly Skill[] =>
    readableSkills({ catalog, cascade }, snapshot).filter(isVisible);
  // RSC-5: a rule about the tool that reads the same applies here as well.
  const assertReadable = (name: string, input: JsonObject, internals: CallInternals): void => {
    const { caller, snapshot } = internals;
    const tool = catalog.find(name, { snapshot });
    const { verdict, reason, rule } = decide({ tool, input }, caller, toRules(snapshot));
    // Lists select the resource itself.
    if (verdict === 'allow' || rule === null) return;
    throw new ToolError('denied', `not read: as a call of ${name}, ${reason}`, {
      hint: verdict === 'ask' ? `call ${name}, which can be approved` : `see: wield explain ${name}`,
      data: { rule },
    });
  };
  // Bytes as they are stored, which clients compare with their digests (SKL-11).
  const readSkillFile = (uri: string, skill: Skill, file: string | undefined, fields: JsonObject): Resource =>
    toResource(uri, fields, async (internals) => {
      assertReadable(READ_SKILL, { skill_name: skill.name, ...(file === undefined ? {} : { file }) }, internals);
      return readResource(skill, file ?? SKILL_FILE, internals.snapshot);
    });
  const toSkill = (skill: Skill): Resource => {
    const fields = { name: skill.name, description: quoteOutside(skill.description, 500), mimeType: 'text/markdown' };
    return readSkillFile(toSkillUri(skill), skill, undefined, fields);
  };
  const findSkillFile = (uri: string, snapshot: Snapshot): Resource | undefined => {
    const found = findByUri(uri, skillsOf(snapshot));
    if (found === undefined) return undefined;
    const { skill, path } = found;
    return path === SKILL_FILE ? toSkill(skill) : readSkillFile(uri, skill, path, { name: path });
  };
  const toDocument = (path: string, kind: string, size: number | null): Resource => {
    const mimeType = kind === 'json' ? 'application/json' : kind === 'text' ? 'text/plain' : undefined;
    const fields = { name: path, ...(size === null ? {} : { size }), ...(mimeType === undefined ? {} : { mimeType }) };
    return toResource(toDocumentUri(path), fields, async (internals) => {
      assertReadable(CONTEXT_READ, { path }, internals);
      const { content, kind: now } = await (internals.store ?? stores).documents.read(path);
      const bytes = Buffer.from(content);
      return now === 'binary' ? { blob: bytes.toString('base64') } : { text: bytes.toString('utf8') };
    });
  };
  // RSC-22: the text of an installed agent is a prompt.
  const agentsOf = (snapshot: Snapshot): readonly Prompt[] => {
    const { tools, skills } = catalog.list(snapshot);
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    const isCalled = (skill: Skill): boolean => {
      const tool = byName.get(skill.name);
      return tool !== undefined && isToolOf(skill, tool);
    };
    return skills.filter((skill) => skill.agent === true && isVisible(skill) && isCalled(skill)).map(toAgentPrompt);
  };
  const describeTools = toPrompt(OWN_PROMPT_NAMES[0], 'The tools that are available here.', async ({ snapshot }) => {
    const tools = await options.tools(snapshot);
    const lines = tools.map(({ name, description }) => `- ${name}: ${quoteOutside(description, 200)}`);
    return lines.length === 0 ? 'There are no tools.' : ['Available tools:', ...lines].join('\n');
  });
  const inventory = toPrompt(OWN_PROMPT_NAMES[1], 'What the tools here can do, by theme.', async ({ snapshot }) => {
    const text = readCapabilities(options.world.home, snapshot.trusted ? snapshot.workdir : undefined);
    return text === '' ? 'There is no inventory yet; the tool capabilities_refresh writes one.' : text;
  });
  const prompts = (snapshot: Snapshot): readonly Prompt[] => [describeTools, inventory, ...agentsOf(snapshot)];
  // SRV-14: documents are offered together with the tools that read them.
  const offersDocuments = ({ settings }: Snapshot): boolean =>
    isOffered(CONTEXT_READ, 'context', options.offered, settings);

  const follow = createFollow(async (uri, snapshot) => {
    const found = findByUri(uri, skillsOf(snapshot));
    if (found !== undefined) return JSON.stringify(readResource(found.skill, found.path, snapshot));
    const [newest] = await stores.documents.versions(toPath(uri));
    return String(newest?.version);
  }, options.world.debug);

  return {
    follow,
    async resources(snapshot) {
      const documents = offersDocuments(snapshot) ? await stores.documents.list() : [];
      return [
        ...skillsOf(snapshot).map(toSkill),
        ...documents.map(({ path, kind, size }) => toDocument(path, kind, size)),
      ];
    },
    prompts,
    skills: (snapshot) =>
      skillsOf(snapshot).map((skill) => ({ ...toSkill(skill), describe: () => describeSkill(skill, snapshot) })),
    findResource(uri, snapshot) {
      if (uri.startsWith(CONTEXT) && offersDocuments(snapshot)) return toDocument(toPath(uri), 'text', null).tool;
      return findSkillFile(uri, snapshot)?.tool;
    },
    findPrompt: (name, snapshot) => prompts(snapshot).find((one) => one.name === name)?.tool,
  };
}

function toDocumentUri(path: string): string {
  return CONTEXT + path.split('/').map(encodeURIComponent).join('/');
}

function toPath(uri: string): string {
  return parseLogicalPath(decodeUri(uri.slice(CONTEXT.length)));
}

function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ToolError('not_found', `invalid URI: ${quoteOutside(text, 200)}`, { hint: 'list the resources again' });
  }
}

type Content = { readonly mimeType?: string } & ({ readonly text: string } | { readonly blob: string });

type Read = (internals: CallInternals) => Promise<Content>;

function toResource(uri: string, fields: JsonObject, read: Read): Resource {
  const { mimeType } = fields;
  const tool = toOwnTool(toResourceName(uri), `Read ${uri}.`, async (internals) => ({
    content: [{ type: 'resource', resource: { uri, mimeType, ...(await read(internals)) } }],
  }));
  return { uri, isTemplate: false, fields, tool };
}

function toPrompt(name: string, description: string, read: Run<string>): Prompt {
  const tool = toOwnTool(toPromptName(name), description, async (internals, context) => {
    const text = await read(internals, context);
    return { description, messages: [{ role: 'user', content: { type: 'text', text } }] };
  });
  return { name, fields: { description }, tool };
}

function toAgentPrompt({ name, description }: Skill): Prompt {
  const { tool, ...prompt } = toPrompt(name, quoteOutside(description, 1000), async (_internals, { toolbox }) => {
    const result = await toolbox.call(name, {});
    if (result.error !== undefined) throw reviveError(result.error);
    return textOf(result);
  });
  // A rule about the agent applies to the prompt.
  return { ...prompt, tool: { ...tool, origin: { ...tool.origin, spellings: [name] } } };
}

type Run<T> = (internals: CallInternals, context: ToolContext) => Promise<T>;

// The name is not that of a tool, so that only `resources` and `prompts` find it.
function toOwnTool(name: string, description: string, run: Run<unknown>): Tool {
  const tool = defineBuiltin({
    name,
    description,
    traits: { readOnly: true },
    run: (_input, context, internals) => run(internals, context),
  });
  return { ...tool, origin: { ...IN_CODE, format: 'builtin' } };
}
