import type { Subscription } from 'nats';
import { epoch, type Epoch, type PoolId, type WorkerId } from '../../core/identity/ids.ts';
import { isStatus } from './delivery.ts';
import type { NatsHandle } from './nats-handle.ts';

/** Who answers for a worker's name. `silent`: somebody is subscribed and says nothing, as a stopped process does. */
export type NameHolder = { readonly kind: 'nobody' } | { readonly kind: 'silent' } | { readonly kind: 'alive'; readonly life: Epoch };

const answerWithinMs = 1_000;

/** Says to all who ask which life holds this name, until unsubscribed. */
export function answerLife(handle: NatsHandle, pool: PoolId, worker: WorkerId, life: Epoch): Subscription {
  return handle.subscribe(handle.names.life(pool, worker), (question) => {
    if (question.reply !== undefined && handle.connected) handle.publish(question.reply, new TextEncoder().encode(life));
  });
}

/** A crashed agent's entry outlives it by some seconds: asking tells at once whether its name is free. */
export function askWhoLives(handle: NatsHandle, pool: PoolId, worker: WorkerId): Promise<NameHolder> {
  return new Promise((resolve, reject) => {
    const inbox = handle.newInbox();
    const finish = (holder: NameHolder): void => {
      clearTimeout(giveUp);
      subscription.unsubscribe();
      resolve(holder);
    };
    const giveUp = setTimeout(() => finish({ kind: 'silent' }), answerWithinMs);
    const subscription = handle.subscribe(inbox, (answer) => {
      finish(isStatus(answer, 503) ? { kind: 'nobody' } : { kind: 'alive', life: epoch(answer.string()) });
    });
    try {
      handle.publish(handle.names.life(pool, worker), new Uint8Array(0), { reply: inbox });
    } catch (error) {
      clearTimeout(giveUp);
      subscription.unsubscribe();
      reject(error instanceof Error ? error : new Error(String(error)));
    }
  });
}
