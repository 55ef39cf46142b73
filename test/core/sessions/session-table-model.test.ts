import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RankId } from '../../../src/core/identity/ids.ts';
import type { SessionRef } from '../../../src/core/placement/placement.ts';
import type { Lease } from '../../../src/core/sessions/session-lease.ts';
import { SessionTable } from '../../../src/core/sessions/session-table.ts';
import { rank, session } from '../placement/placement-builders.ts';

/*
 * The plain reference writes history down instead of keeping generations: each binding lists its changes, each request
 * notes how many there had been when it was last placed. A commit counts where none came after.
 */
const idleMs = 10;
const ids = [rank('w1'), rank('w2'), rank('w2', 1)];
const refs = [session('m'), session('a', 'm'), session('b', 'm'), session('a', 'm', 'other')];

interface ModelRequest {
  readonly ref: SessionRef;
  readonly lease: Lease;
  readonly parts: ModelPart[];
}
interface ModelPart {
  readonly name: string;
  readonly binds: boolean;
  knew: number;
  placedOn: RankId | null;
  /** Placed on a worker that was gone afterwards, or by a binding that was taken away. */
  void: boolean;
}
interface ModelBinding {
  bound: RankId | null;
  changes: number;
  lastEndMs: number;
}

const ownName = (ref: SessionRef): string => `own ${ref.tenant} ${ref.session}`;
const groupName = (ref: SessionRef): string => `group ${ref.tenant} ${ref.parent ?? ''}`;
const parentName = (ref: SessionRef): string => `own ${ref.tenant} ${ref.parent ?? ''}`;

class Model {
  readonly bindings = new Map<string, ModelBinding>();
  readonly running: ModelRequest[] = [];

  #at(name: string): ModelBinding {
    const binding = this.bindings.get(name) ?? { bound: null, changes: 0, lastEndMs: 0 };
    this.bindings.set(name, binding);
    return binding;
  }

  partsAt(name: string): ModelPart[] {
    return this.running.flatMap(({ parts }) => parts).filter((part) => part.name === name);
  }

  expire(nowMs: number): void {
    for (const [name, binding] of this.bindings) {
      if (this.partsAt(name).length === 0 && (binding.bound === null || nowMs - binding.lastEndMs >= idleMs)) this.bindings.delete(name);
    }
  }

  begin(ref: SessionRef, lease: Lease): void {
    const part = (name: string, binds: boolean): ModelPart => ({ name, binds, knew: this.#at(name).changes, placedOn: null, void: false });
    const own = part(ownName(ref), true);
    const group = ref.parent === null ? [] : [part(groupName(ref), this.#at(ownName(ref)).bound === null)];
    this.running.push({ ref, lease, parts: [own, ...group] });
  }

  propose({ parts }: ModelRequest, id: RankId): void {
    for (const part of parts.filter(({ binds }) => binds)) {
      Object.assign(part, { knew: this.#at(part.name).changes, placedOn: id, void: false });
    }
  }

  commit({ parts }: ModelRequest, id: RankId): boolean {
    const [own] = parts.map((part) => part.binds && this.#commitPart(part, id));
    return own ?? false;
  }

  #commitPart(part: ModelPart, id: RankId): boolean {
    const binding = this.#at(part.name);
    if (part.void) return false;
    if (binding.bound === id) return true;
    if (part.knew !== binding.changes) return false;
    this.#change(binding, id);
    Object.assign(part, { knew: binding.changes, placedOn: id });
    return true;
  }

  end(request: ModelRequest, nowMs: number): void {
    this.running.splice(this.running.indexOf(request), 1);
    for (const { name } of request.parts) this.#at(name).lastEndMs = nowMs;
    this.expire(nowMs);
  }

  unbind(ref: SessionRef): void {
    const binding = this.bindings.get(ownName(ref));
    if (binding === undefined || binding.bound === null) return;
    this.#change(binding, null);
    for (const part of this.partsAt(ownName(ref))) Object.assign(part, { void: true, placedOn: null });
  }

  workerGone(worker: string): void {
    for (const [name, binding] of this.bindings) {
      const before = binding.changes;
      if (binding.bound?.worker === worker) this.#change(binding, null);
      for (const part of this.partsAt(name)) {
        if (part.placedOn?.worker === worker) Object.assign(part, { void: true, placedOn: null });
        else if (!part.void && part.knew === before) part.knew = binding.changes;
      }
    }
  }

  next(name: string): RankId | null {
    return this.bindings.get(name)?.bound ?? this.partsAt(name).find(({ placedOn }) => placedOn !== null)?.placedOn ?? null;
  }

  #change(binding: ModelBinding, id: RankId | null): void {
    binding.bound = id;
    binding.changes += 1;
  }
}

const step = fc.record({
  do: fc.constantFrom('begin', 'begin', 'propose', 'propose', 'commit', 'commit', 'end', 'end', 'wait', 'gone', 'unbind', 'expire'),
  pick: fc.nat(7),
  id: fc.constantFrom(...ids),
  ref: fc.constantFrom(...refs),
  waitMs: fc.integer({ min: 0, max: 12 }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function act(table: SessionTable, model: Model, move: Step, nowMs: number): void {
  const { id, ref } = move;
  const request = model.running[move.pick % Math.max(1, model.running.length)];
  if (move.do === 'begin') return model.begin(ref, table.begin(ref, nowMs));
  if (move.do === 'gone') {
    table.invalidateWorker(id.worker);
    return model.workerGone(id.worker);
  }
  if (move.do === 'unbind') {
    table.unbind(ref.tenant, ref.session);
    return model.unbind(ref);
  }
  if (move.do === 'expire') table.expire(nowMs);
  if (request === undefined) return;
  if (move.do === 'propose') {
    request.lease.propose(id);
    model.propose(request, id);
  } else if (move.do === 'commit') {
    expect(request.lease.commit(id, nowMs)).toBe(model.commit(request, id));
  } else if (move.do === 'end') {
    request.lease.end(nowMs);
    model.end(request, nowMs);
  }
}

function follows(moves: readonly Step[]): void {
  const table = new SessionTable({ idleMs, maxSessions: 1000 });
  const model = new Model();
  let nowMs = 0;
  for (const move of moves) {
    if (move.do === 'wait') nowMs += move.waitMs;
    model.expire(nowMs);
    act(table, model, move, nowMs);
    for (const ref of refs) {
      expect(table.bindingsFor(ref, nowMs)).toEqual({
        own: model.next(ownName(ref)),
        parent: ref.parent === null ? null : model.next(parentName(ref)),
        siblings: ref.parent === null ? null : model.next(groupName(ref)),
      });
    }
  }
  for (const request of [...model.running]) request.lease.end(nowMs);
  table.expire(nowMs + idleMs);
  expect([table.size, table.list()]).toEqual([0, []]);
}

describe('SessionTable', () => {
  it('binds as the plain reference does, and holds nothing once all is idle, after any interleaving', () => {
    fc.assert(fc.property(fc.array(step, { maxLength: 60, size: 'max' }), follows), { numRuns: 500 });
  });
});
