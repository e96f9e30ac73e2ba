// The instructions that are sent to a model before anything else: an inventory, and the skills.

import type { RemoteSkill, Skill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';
import { CALL_TOOL, type Mode } from '../core/view.js';
import type { BuiltinParts } from './builtin.js';
import { readCapabilities } from './capabilities.js';
import { READ_SKILL } from './skill-content.js';
import { readText } from './skills.js';
import { isVisible, mayName, readableRemoteSkills, readableSkills } from './visibility.js';

// In search mode it is not listed (SRV-9).
const READ: Readonly<Record<Mode, string>> = {
  all: `Call ${READ_SKILL}`,
  search: `Use ${CALL_TOOL} to call ${READ_SKILL}`,
  code: `In a program, await tools.${READ_SKILL}({ skill_name })`,
  auto: `Call ${READ_SKILL}, with ${CALL_TOOL} if it is not listed,`,
};

/** Returns the text to send to a model before anything else. */
export function createInstructions(
  parts: Omit<BuiltinParts, 'search'>,
  snapshot: Snapshot,
  { capabilities = false, home }: { readonly capabilities?: boolean | undefined; readonly home: string | undefined },
): string {
  // SDK-11: text of an untrusted workspace is not sent to the model.
  const inventory = capabilities ? readCapabilities(home, snapshot.trusted ? snapshot.workdir : undefined) : '';
  return [inventory, describeSkills(parts, snapshot)].filter((text) => text !== '').join('\n\n');
}

/**
 * Returns the instructions about skills (SKL-2); empty without skills. Texts of an untrusted workspace are not sent to
 * the model: its skills are only named.
 */
function describeSkills(parts: Omit<BuiltinParts, 'search'>, snapshot: Snapshot): string {
  const { catalog, cascade, references, remoteSkills } = parts;
  const remote = readableRemoteSkills(remoteSkills(snapshot), snapshot);
  const all = readableSkills(parts, snapshot);
  if (all.length + remote.length === 0) return '';
  const reader = catalog.find(READ_SKILL, { snapshot });
  const mayRead = mayName(cascade, reader, 'model', snapshot, catalog.listed(snapshot).skills);
  const skills = all.filter(isVisible);
  const { view } = snapshot.settings;
  const mode = snapshot.settings.skills.contextMode;
  const isWhole = (skill: Skill): boolean => mode === 'full' && (snapshot.trusted || skill.owner !== 'workspace');
  // Not mentioned if the model may not call `read_skill` (POL-8).
  const named = mayRead ? skills.filter((skill) => !isWhole(skill)) : [];
  const names = new Set(skills.map(({ name }) => name));
  const others = mayRead ? remote.filter(({ name, isStartable }) => isStartable && !names.has(name)) : [];
  const lines = [...named.map(toLine), ...describeRemote(others)];
  return [
    ...skills
      .filter(isWhole)
      .map((skill) => `# Skill: ${skill.name}\n\n${readText(skill, snapshot, references).trim()}`),
    ...(lines.length === 0
      ? []
      : [[`Skills. ${READ[view.mode]} with a name before doing what that skill is for.`, ...lines].join('\n')]),
  ].join('\n\n');
}

function toLine({ name, description }: Pick<Skill, 'name' | 'description'>): string {
  return `- ${name}: ${quoteOutside(description, 200)}`;
}

// Of one server: its author decides how many there are.
const MAX_ANNOUNCED = 50;

function describeRemote(skills: readonly RemoteSkill[]): readonly string[] {
  const servers = [...new Set(skills.map(({ server }) => server))];
  return servers.flatMap((server) => {
    const own = skills.filter((skill) => skill.server === server);
    const more = own.length - MAX_ANNOUNCED;
    return [...own.slice(0, MAX_ANNOUNCED).map(toLine), ...(more > 0 ? [`- … and ${more} more of ${server}`] : [])];
  });
}
