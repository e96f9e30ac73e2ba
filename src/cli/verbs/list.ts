// `wield list`: lists tools and skills.

import { normalizeTags } from '../../core/name.js';
import { quoteOutside } from '../../core/text.js';
import { settlesWithin } from '../../core/time-limit.js';
import { assertKnown, type Listed, type ListedOptions, printKnown, printListed, readListed } from '../listed.js';
import { openProfile, PROFILE, warnOfProfile } from '../profile.js';
import { option, toggle, unknownChoice, usageError, type Verb, type VerbCall } from '../verb.js';

export const list: Verb = {
  name: 'list',
  usage:
    'list [--hidden] [--all] [--tag TAG] [--group GROUP] [--format FORMAT] [--installed [item…] | --available | --sources] [--profile NAME] [--json]\n  wield list --outdated | --manifest | --tokens | --background',
  summary: 'List the tools that can be called from this directory.',
  examples: ['wield list', 'wield list --all --json', 'wield list --tag api --tag slow', 'wield list --format skill'],
  flags: {
    hidden: toggle('Also list hidden tools'),
    all: toggle('Also list hidden, shadowed and denied tools'),
    tag: option('TAG', 'Only tools with this tag; can be repeated to require several'),
    group: option('GROUP', 'Only tools of this group; can be repeated'),
    format: option('FORMAT', 'Only tools of this format, such as script, skill or module; can be repeated', {
      names: 'format',
    }),
    profile: PROFILE,
    installed: toggle('List installed items with their state'),
    available: toggle('List all items of the sources'),
    sources: toggle('List the sources'),
    outdated: toggle('List installed items whose source has something newer'),
    manifest: toggle('Print the sources and installed items as a source manifest'),
    tokens: toggle('Count the tokens that the tools cost a model'),
    background: toggle('List processes in the background; with an id, show the output of one'),
  },
  positionals: Number.POSITIVE_INFINITY,
  async run(call) {
    const { terminal, flags, repeated, json, reserved } = call;
    if (['installed', 'available', 'sources'].some((name) => flags.has(name)))
      return (await import('./list-installed.js')).listInstalled(call);
    if (call.positionals.length > 0)
      throw usageError(
        `unexpected argument "${quoteOutside(call.positionals[0]!, 60)}"`,
        `wield show ${quoteOutside(call.positionals[0]!, 60)} shows a tool; items can be named with --installed`,
      );
    const empty = repeated('tag').find((tag) => normalizeTags([tag]).length === 0);
    if (empty !== undefined)
      throw usageError(`--tag "${quoteOutside(empty, 40)}" has no letters or digits`, 'for example --tag api');
    const toolbox = openProfile(call);
    const { formats } = toolbox.state;
    const odd = repeated('format').find((format) => !formats.includes(format));
    if (odd !== undefined) throw unknownChoice('value of --format:', odd, formats, '--format');
    const [tags, groups] = [repeated('tag'), repeated('group')];
    const options = {
      json,
      hidden: flags.has('hidden'),
      all: flags.has('all'),
      tags,
      formats: repeated('format'),
      groups,
    };
    const whole = readListed(toolbox, reserved);
    const early = await printEarly(call, whole, () => readListed(toolbox, reserved, true), options);
    const listed = await whole;
    await warnOfProfile(call, toolbox);
    if (tags.length + groups.length > 0) assertKnown(listed, tags, groups);
    return printListed(terminal, listed, options, early);
  },
};

const EARLY_MS = 1000;

// CLI-40: a person sees what is known while servers are waited for.
async function printEarly(
  { terminal, json }: VerbCall,
  whole: Promise<Listed>,
  readNow: () => Promise<Listed>,
  options: ListedOptions,
): Promise<Listed | undefined> {
  if (json || !terminal.outIsTerminal || (await settlesWithin(whole, EARLY_MS))) return undefined;
  const early = { ...(await readNow()), problems: [], unanswered: [] };
  return printKnown(terminal, early, options) ? early : undefined;
}
