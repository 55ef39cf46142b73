import { Generation } from './generation.ts';
import { parseSampling } from './sampling.ts';
import { newRid, wallSeconds, type SimulatedEngine } from './simulated-engine.ts';

const prompt = 'The capital city of France is';

/**
 * The small prompt that a real server computes before it is ready; its pages are the first that its events tell. Left
 * out where it would not fit.
 */
export async function warmUp(engine: SimulatedEngine): Promise<void> {
  const sampling = parseSampling({ ignore_eos: true }, [], null);
  const tokens = engine.tokenizer.encode(prompt);
  if (tokens.length >= engine.rank(0).model.longestSequence) return;
  await Promise.all(
    engine.ranks.map(async (_, rank) => {
      const space = { salt: null, extraKey: null };
      const generation = new Generation({ rid: newRid(), tokens, maxNewTokens: 8, sampling, space, sessionId: null, rank }, engine, wallSeconds(), () => undefined);
      generation.start();
      await generation.done;
    }),
  );
}
