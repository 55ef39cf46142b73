/** Numbers in [0, 1) that are the same for the same seed, on any machine. */
export function seededRandom(seed: string): () => number {
  let state = seedOf(seed);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    return (mix(state) >>> 0) / 0x1_0000_0000;
  };
}

const seedOf = (text: string): number => {
  let hash = 0x811c9dc5 | 0;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mix(hash);
};

const mix = (word: number): number => {
  let h = Math.imul(word ^ (word >>> 16), 0x7feb352d);
  h = Math.imul(h ^ (h >>> 15), 0x846ca68b);
  return h ^ (h >>> 16);
};
