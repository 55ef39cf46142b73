import { describe, expect, it } from 'vitest';
import { SessionTable } from '../../../src/core/sessions/session-table.ts';
import { rank, session } from '../placement/placement-builders.ts';

const [w1, w2, w3] = [rank('w1'), rank('w2'), rank('w3', 1)];
const newTable = (maxSessions = 100): SessionTable => new SessionTable({ idleMs: 10_000, maxSessions });
const a = session('a');
const child = (name: string): ReturnType<typeof session> => session(name, 'mother');

/** One request from begin to end at `nowMs`, bound to `id`. */
function serve(table: SessionTable, ref: ReturnType<typeof session>, id: ReturnType<typeof rank>, nowMs = 0): void {
  const lease = table.begin(ref, nowMs);
  lease.propose(id);
  lease.commit(id, nowMs);
  lease.end(nowMs);
}

describe('SessionTable', () => {
  it('binds a session once its dispatch succeeded', () => {
    const table = newTable();
    serve(table, a, w1);
    expect(table.bindingsFor(a, 0)).toEqual({ own: w1, parent: null, siblings: null });
    expect(table.list()).toEqual([{ kind: 'session', tenant: 'acme', session: 'a', id: w1, activeRequests: 0, boundAtMs: 0, idleSinceMs: 0 }]);
  });

  it('S2: keeps session-1 and session-12 apart', () => {
    const table = newTable();
    serve(table, session('session-1'), w1);
    expect(table.bindingsFor(session('session-12'), 0).own).toBeNull();
  });

  it('S3: two tenants with one session id have two bindings', () => {
    const table = newTable();
    serve(table, session('a', null, 'one'), w1);
    serve(table, session('a', null, 'two'), w2);
    expect(table.bindingsFor(session('a', null, 'one'), 0).own).toEqual(w1);
    expect(table.bindingsFor(session('a', null, 'two'), 0).own).toEqual(w2);
  });

  it('S3: does not mix up a tenant and a session that read the same when put together', () => {
    const table = newTable();
    serve(table, session('b:c', null, 'a'), w1);
    expect(table.bindingsFor(session('c', null, 'a:b'), 0).own).toBeNull();
  });

  it('keeps a binding when a request of its session went elsewhere without a commit', () => {
    const table = newTable();
    serve(table, a, w1);
    const targeted = table.begin(a, 1);
    targeted.end(2);
    expect(table.bindingsFor(a, 3).own).toEqual(w1);
  });

  it('S7: a lease of an older binding overwrites nothing, neither when it commits nor when it ends', () => {
    const table = newTable();
    const old = table.begin(a, 0);
    old.propose(w1);
    const newer = table.begin(a, 1);
    newer.propose(w2);
    expect(newer.commit(w2, 2)).toBe(true);
    expect(old.commit(w1, 3)).toBe(false);
    old.end(4);
    newer.end(4);
    expect(table.bindingsFor(a, 5).own).toEqual(w2);
  });

  it('S7: a lease from before an unbind does not bring the binding back', () => {
    const table = newTable();
    const lease = table.begin(a, 0);
    lease.propose(w1);
    lease.commit(w1, 0);
    expect(table.unbind(a.tenant, a.session)).toBe(true);
    expect(lease.commit(w1, 1)).toBe(false);
    lease.end(1);
    expect(table.bindingsFor(a, 1).own).toBeNull();
    expect(table.size).toBe(0);
    expect(table.unbind(a.tenant, a.session)).toBe(false);
  });

  it('S8: ten first requests at once all follow the first one before it has committed', () => {
    const table = newTable();
    const leases = Array.from({ length: 10 }, () => {
      const lease = table.begin(a, 0);
      const id = table.bindingsFor(a, 0).own ?? w1;
      lease.propose(id);
      return { lease, id };
    });
    expect(leases.map(({ id }) => id)).toEqual(leases.map(() => w1));
    expect(leases.map(({ lease }) => lease.commit(w1, 1))).toEqual(leases.map(() => true));
    for (const { lease } of leases) lease.end(2);
    expect(table.list()[0]).toMatchObject({ id: w1, activeRequests: 0 });
  });

  it('S8: where the first one fails before its dispatch, the next one decides', () => {
    const table = newTable();
    const winner = table.begin(a, 0);
    winner.propose(w1);
    const next = table.begin(a, 0);
    winner.end(1);
    expect(table.bindingsFor(a, 1).own).toBeNull();
    next.propose(w2);
    expect(table.bindingsFor(a, 1).own).toEqual(w2);
    next.commit(w2, 2);
    next.end(3);
    expect(table.bindingsFor(a, 3).own).toEqual(w2);
  });

  it('S8: a first request that is tried again elsewhere takes its proposal along', () => {
    const table = newTable();
    const lease = table.begin(a, 0);
    lease.propose(w1);
    lease.propose(w2);
    expect(table.bindingsFor(a, 0).own).toEqual(w2);
  });

  it('S9: with an idle time of 10 s and an end at +9 it is bound at +18 and gone at +20', () => {
    const table = newTable();
    const lease = table.begin(a, 0);
    lease.propose(w1);
    lease.commit(w1, 100);
    lease.end(9_000);
    expect(table.expire(18_000)).toBe(0);
    expect(table.bindingsFor(a, 18_000).own).toEqual(w1);
    expect(table.bindingsFor(a, 20_000).own).toBeNull();
    expect(table.size).toBe(1);
    expect(table.expire(20_000)).toBe(1);
    expect(table.size).toBe(0);
  });

  it('S9: never expires while a request runs', () => {
    const table = newTable();
    serve(table, a, w1);
    const lease = table.begin(a, 0);
    serve(table, session('b'), w2);
    expect(table.expire(1_000_000)).toBe(1);
    expect(table.bindingsFor(a, 1_000_000).own).toEqual(w1);
    lease.end(1_000_000);
    expect(table.bindingsFor(a, 1_009_999).own).toEqual(w1);
  });

  it('S10: what was bound to a worker that is gone is placed and bound anew', () => {
    const table = newTable();
    serve(table, a, w1);
    serve(table, session('b'), w2);
    expect(table.invalidateWorker(w1.worker)).toBe(1);
    expect(table.bindingsFor(a, 1).own).toBeNull();
    expect(table.bindingsFor(session('b'), 1).own).toEqual(w2);
    serve(table, a, w3, 2);
    expect(table.bindingsFor(a, 3).own).toEqual(w3);
  });

  it('S10: a request placed on the gone worker cannot bind to it, and one that was tried again elsewhere can', () => {
    const table = newTable();
    serve(table, a, w1);
    const late = table.begin(a, 1);
    late.propose(w1);
    const retried = table.begin(a, 1);
    retried.propose(w2);
    table.invalidateWorker(w1.worker);
    expect(late.commit(w1, 2)).toBe(false);
    expect(retried.commit(w2, 2)).toBe(true);
    late.end(3);
    retried.end(3);
    expect(table.bindingsFor(a, 3).own).toEqual(w2);
  });

  it('gives siblings one group, apart from where their parent is bound', () => {
    const table = newTable();
    serve(table, session('mother'), w1);
    const one = table.begin(child('one'), 0);
    one.propose(w2);
    expect(table.bindingsFor(child('two'), 0)).toEqual({ own: null, parent: w1, siblings: w2 });
    one.commit(w2, 1);
    one.end(2);
    expect(table.bindingsFor(child('two'), 3)).toEqual({ own: null, parent: w1, siblings: w2 });
    expect(table.bindingsFor(session('mother'), 3).own).toEqual(w1);
    expect(table.list().map(({ kind, session: name }) => `${kind} ${name}`)).toEqual(['session mother', 'session one', 'siblings mother']);
  });

  it('gives children of one name under two tenants two groups', () => {
    const table = newTable();
    serve(table, session('one', 'mother', 'x'), w1);
    expect(table.bindingsFor(session('two', 'mother', 'y'), 0).siblings).toBeNull();
  });

  it('lets only a child that comes to its group move it, not one that is bound elsewhere', () => {
    const table = newTable();
    serve(table, child('one'), w1);
    serve(table, child('two'), w2);
    expect(table.bindingsFor(child('three'), 0).siblings).toEqual(w2);
    serve(table, child('one'), w3);
    expect(table.bindingsFor(child('one'), 0).own).toEqual(w3);
    expect(table.bindingsFor(child('three'), 0).siblings).toEqual(w2);
  });

  it('keeps a group alive while a bound child of it runs', () => {
    const table = newTable();
    serve(table, child('one'), w1);
    const second = table.begin(child('one'), 9_000);
    expect(table.bindingsFor(child('two'), 50_000).siblings).toEqual(w1);
    second.end(50_000);
    expect(table.bindingsFor(child('two'), 59_000).siblings).toEqual(w1);
    expect(table.bindingsFor(child('two'), 60_000).siblings).toBeNull();
  });

  it('drops the longest idle above its bound, never one that runs, and counts it', () => {
    const table = newTable(2);
    serve(table, a, w1);
    const running = table.begin(a, 0);
    running.propose(w1);
    running.commit(w1, 0);
    serve(table, session('b'), w2, 1);
    serve(table, session('c'), w2, 2);
    expect(table.dropped).toBe(1);
    expect(table.bindingsFor(session('b'), 3).own).toBeNull();
    expect(table.bindingsFor(a, 3).own).toEqual(w1);
    expect(table.size).toBe(2);
  });

  it('holds more than its bound only while all of them run', () => {
    const table = newTable(1);
    const leases = ['a', 'b', 'c'].map((name) => table.begin(session(name), 0));
    for (const lease of leases) {
      lease.propose(w1);
      lease.commit(w1, 0);
    }
    expect(table.size).toBe(3);
    for (const lease of leases) lease.end(1);
    expect(table.size).toBe(1);
  });

  it('does nothing for a request without a session', () => {
    const table = newTable();
    const lease = table.begin(null, 0);
    lease.propose(w1);
    expect(lease.commit(w1, 0)).toBe(false);
    lease.end(0);
    expect(table.bindingsFor(null, 0)).toEqual({ own: null, parent: null, siblings: null });
    expect(table.size).toBe(0);
  });

  it('takes a second end of a lease for nothing', () => {
    const table = newTable();
    const lease = table.begin(a, 0);
    lease.end(1);
    serve(table, a, w1, 2);
    lease.end(50_000);
    expect(table.bindingsFor(a, 10_001).own).toEqual(w1);
    expect(table.bindingsFor(a, 10_002).own).toBeNull();
  });
});
