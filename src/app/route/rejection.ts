import { assertNever } from '../../core/assert-never.ts';
import type { Placement } from '../../core/placement/placement.ts';
import { RouterError } from '../../core/router-error.ts';
import type { AskedRequest } from './asked-request.ts';

type Rejected = Extract<Placement, { kind: 'rejected' }>;

/** What a client is told whose request has nowhere to go. */
export function rejection({ reason, candidates }: Rejected, { pool, target }: AskedRequest): RouterError {
  const why = candidates.map(({ id, why: reasonOf }) => `${id.worker}/${id.rank} ${reasonOf ?? 'free'}`).join(', ');
  switch (reason) {
    case 'no-worker':
      return new RouterError('no-worker', `no worker of pool ${pool.pool} can take the request${why === '' ? '' : ` (${why})`}: start one, or try again`);
    case 'all-overloaded':
      return new RouterError('all-overloaded', `all workers of pool ${pool.pool} are over their limits (${why}): try again later`);
    case 'rank-not-allowed':
      return new RouterError('unknown-target', `worker ${target?.worker ?? ''} of pool ${pool.pool} can't take the request (${why}): leave out x-kinroute-worker`);
    default:
      return assertNever(reason, 'reject reason');
  }
}
