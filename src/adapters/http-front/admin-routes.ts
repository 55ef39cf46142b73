import type { FastifyInstance } from 'fastify';
import { parentAffinities, placementModes } from '../../core/placement/placement.ts';
import type { LivePolicy } from '../../core/placement/placement.ts';
import { RouterError } from '../../core/router-error.ts';
import type { RankStatus, RouterView } from '../../ports/router-view.ts';
import type { JsonObject } from './json-body.ts';
import { jsonObject } from './json-body.ts';

/** What operators and clients ask of the router itself. */
export function adminRoutes(app: FastifyInstance, view: RouterView): void {
  app.get('/health', () => ({ status: 'ok' }));
  app.get('/health/ready', (_request, reply) => {
    const readiness = view.readiness();
    return reply.code(readiness.ready ? 200 : 503).send(readiness);
  });
  app.get('/workers', () => ({ workers: view.ranks().map(listed) }));
  app.get('/v1/models', () => ({ object: 'list', data: models(view) }));
  app.get('/mode', () => view.policy());
  app.put('/mode', async (request) => {
    await view.setPolicy(policyOf(request.body instanceof Uint8Array ? jsonObject(request.body) : {}, view.policy()));
    return view.policy();
  });
}

function listed({ id, reported, reportAgeMs, ...rank }: RankStatus): object {
  return { ...rank, worker: id.worker, rank: id.rank, reported: reported === null ? null : { ...reported, id: undefined, ageMs: reportAgeMs } };
}

function models(view: RouterView): object[] {
  return view.models().map(({ id, pool, contextLength }) => ({ id, object: 'model', created: 0, owned_by: 'kinroute', pool, max_model_len: contextLength }));
}

/** Left out is as it was. */
function policyOf(fields: JsonObject, now: LivePolicy): LivePolicy {
  return {
    mode: oneOf(placementModes, 'mode', fields['mode'] ?? now.mode),
    parentAffinity: oneOf(parentAffinities, 'parentAffinity', fields['parentAffinity'] ?? now.parentAffinity),
  };
}

function oneOf<T extends string>(values: readonly T[], name: string, value: unknown): T {
  const found = values.find((each) => each === value);
  if (found !== undefined) return found;
  throw new RouterError('bad-request', `${name} ${JSON.stringify(value).slice(0, 80)} is not known: give one of ${values.join(', ')}`);
}
