// Resources and prompts of module files; they are read and made in the tool host (MOD-33).

import type { ModuleOffer, OfferSource } from '../core/format.js';
import type { JsonObject } from '../core/json.js';
import { findByTemplate, isTemplate, toPromptName, toResourceName, toSpellings } from '../core/resource.js';
import type { Snapshot } from '../core/snapshot.js';
import { NO_TRAITS, needsTrust, type OfferRequest, type Tool } from '../core/tool.js';
import type { Catalog } from './catalog.js';
import type { ToSchema } from './index-file.js';

const OPEN: JsonObject = { type: 'object', additionalProperties: true };
const TRAITS = { ...NO_TRAITS, readOnly: true };

export function createModuleOffers(list: Catalog['moduleOffers'], toSchema: ToSchema): OfferSource {
  const toTool = (
    { kind, id, fields, input, action, origin }: ModuleOffer,
    as: OfferRequest['as'] = kind,
    ref = id,
  ): Tool => ({
    name: kind === 'resource' ? toResourceName(ref) : toPromptName(ref),
    description: String(fields.description ?? fields.name ?? id),
    input: toSchema(as === 'completion' ? OPEN : input, 'input'),
    action: { ...action, offer: { as, ref } },
    origin: kind === 'resource' ? { ...origin, spellings: toSpellings(ref) } : origin,
    traits: TRAITS,
  });
  const ofKind = (kind: ModuleOffer['kind'], snapshot: Snapshot): readonly ModuleOffer[] =>
    list(snapshot).filter((offer) => offer.kind === kind);
  // POL-20: what a module says about itself is not passed on without trust, though it may be known from before.
  const toListed = (kind: ModuleOffer['kind'], snapshot: Snapshot) =>
    ofKind(kind, snapshot)
      .map((offer) => ({ ...offer, tool: toTool(offer) }))
      .filter(({ tool }) => snapshot.trusted || !needsTrust(tool));
  return {
    resources: async (snapshot) =>
      toListed('resource', snapshot).map(({ id: uri, fields, tool }) => ({
        uri,
        isTemplate: isTemplate(uri),
        fields,
        tool,
      })),
    prompts: (snapshot) => toListed('prompt', snapshot).map(({ id: name, fields, tool }) => ({ name, fields, tool })),
    findResource(uri, snapshot) {
      const all = ofKind('resource', snapshot);
      const found =
        all.find(({ id }) => !isTemplate(id) && id === uri) ??
        findByTemplate(uri, all, ({ id }) => (isTemplate(id) ? id : undefined));
      return found && toTool(found, 'resource', uri);
    },
    findPrompt(name, snapshot) {
      const found = ofKind('prompt', snapshot).find(({ id }) => id === name);
      return found && toTool(found);
    },
    findCompletion(ref, snapshot) {
      const found = list(snapshot).find(({ id }) => id === ref);
      return found && toTool(found, 'completion');
    },
  };
}
