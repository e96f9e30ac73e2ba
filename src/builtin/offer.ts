// What is offered: which built-in tools are listed, which tools and skills a caller may know of, what a model is told first.

import type { Catalog } from '../catalog/catalog.js';
import type { Audience } from '../catalog/listing.js';
import { isToolOf, type References } from '../catalog/skill-references.js';
import type { Policy } from '../core/rule.js';
import type { Settings } from '../core/settings.js';
import type { Skill } from '../core/skill.js';
import type { CallerKind, Owner, Tool } from '../core/tool.js';
import type { World } from '../core/world.js';
import { findDenial } from '../policy/decide.js';
import { readCapabilities } from './capabilities.js';
import { READ_RESULT } from './read-result.js';
import { describeSkills, isVisible, READ_SKILL } from './skills.js';

export interface CreateOfferOptions {
  /** Built-in tools that code wants listed, by name or group. */
  readonly named: readonly string[];
  readonly settings: () => Settings;
  readonly policy: () => Policy;
  readonly trusted: () => boolean;
  readonly workdir: () => string;
  readonly catalog: () => Pick<Catalog, 'list' | 'find'>;
  readonly references: () => Pick<References, 'refer'>;
  readonly world: World;
}

export interface Offer {
  /** Whether someone asked for a built-in tool, by its name or its group. */
  isNamed(name: string, group: string | undefined): boolean;
  /** Who is shown a built-in tool. */
  of(tool: Tool, skills: readonly Skill[]): Audience;
  /** Whether a caller of this kind may know of a tool (POL-8). */
  mayName(kind: CallerKind): (tool: Tool) => boolean;
  /** The skills whose texts a model may read. */
  skills(): readonly Skill[];
  /** What a model is told before anything else. */
  instructions(options: { readonly capabilities?: boolean }): string;
}

export function createOffer(options: CreateOfferOptions): Offer {
  const { named, settings, policy, trusted, workdir, catalog, references, world } = options;

  const isNamed = (name: string, group: string | undefined): boolean =>
    [...named, ...settings().offer].some((entry) => entry === name || entry === group);
  const isReadOnDemand = (owner: Owner): boolean =>
    settings().skills.contextMode === 'readOnDemand' || (owner === 'workspace' && !trusted());

  const findDenialOf = (tool: Tool, kind: CallerKind) =>
    findDenial(tool, { kind, door: 'library' }, { policy: policy(), within: [] });
  const mayName = (kind: CallerKind) => (tool: Tool) => findDenialOf(tool, kind) === undefined;

  // POL-12: the texts of skills are read through one tool; only a rule that names a skill takes its text away.
  const readableSkills = (): readonly Skill[] => {
    const { tools, skills } = catalog().list();
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    return skills.filter((skill) => {
      const tool = byName.get(skill.name);
      if (tool === undefined || !isToolOf(skill, tool)) return true;
      return (findDenialOf(tool, 'model')?.rule ?? null) === null;
    });
  };

  return {
    isNamed,
    of({ name, traits }, skills) {
      if (isNamed(name, traits.group)) return 'all';
      if (name === READ_SKILL && skills.some((skill) => isVisible(skill) && isReadOnDemand(skill.owner)))
        return 'all';
      // SRV-14: whoever is given a handle must be able to read it; a person has the whole output.
      return name === READ_RESULT ? 'models' : 'none';
    },
    mayName,
    skills: readableSkills,
    instructions({ capabilities = false }) {
      const skills = describeSkills(readableSkills(), {
        mode: settings().skills.contextMode,
        trusted: trusted(),
        mayRead: mayName('model')(catalog().find(READ_SKILL)),
        refer: references().refer,
      });
      // SDK-11: the text of a checkout that nobody trusts is not put into a model's mouth.
      const told = [...(world.home === undefined ? [] : [world.home]), ...(trusted() ? [workdir()] : [])];
      const inventories = capabilities ? [...new Set(told)].map(readCapabilities) : [];
      return [...inventories, skills].filter((text) => text !== '').join('\n\n');
    },
  };
}
