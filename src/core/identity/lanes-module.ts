import { blockMultipliers, chainMultipliers, crossMultipliers, laneStarts, scrambleMultipliers } from './hash-constants.ts';

/*
 * The WebAssembly module of `hash-lanes.ts`, put together from opcodes when it is loaded: nothing binary in the
 * repository, and no tool to build it. It hashes four blocks at once, a block in each of the four lanes of a 128-bit
 * vector: JavaScript needs one integer multiplication after another for that, and only one can begin in a cycle.
 * `test/core/identity/hash-lanes.test.ts` holds it against the plain JavaScript.
 */
type Code = readonly number[];

/** Bytes from 0: tokens, then the two words of the hash before, then the hashes. */
export const lanesMemory = { tokenWords: 8_192, beforeWord: 8_192, outWord: 8_194, pages: 1 } as const;

const unsigned = (value: number): Code => (value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)]);
const signed = (value: number): Code => (value >= -64 && value < 64 ? [value & 127] : [(value & 127) | 128, ...signed(value >> 7)]);
const counted = (items: readonly Code[]): Code => [...unsigned(items.length), ...items.flat()];
const section = (id: number, body: Code): Code => [id, ...unsigned(body.length), ...body];
const name = (text: string): Code => [...unsigned(text.length), ...new TextEncoder().encode(text)];

const i32 = 0x7f;
const v128 = 0x7b;

/** Parameters first, then the other words, then the vectors. */
const local = { blockBytes: 0, groups: 1, at: 2, end: 3, out: 4, low: 5, high: 6, lows: 7, highs: 8, rows: 9, pairs: 13, tokens: 17 } as const;
const words = 5;
const vectors = 11;

const get = (index: number): Code => [0x20, ...unsigned(index)];
const set = (index: number, value: Code): Code => [...value, 0x21, ...unsigned(index)];
const constant = (value: number): Code => [0x41, ...signed(value | 0)];
const binary =
  (...opcode: Code) =>
  (a: Code, b: Code): Code => [...a, ...b, ...opcode];
const add = binary(0x6a);
const multiply = binary(0x6c);
const exclusiveOr = binary(0x73);
const rotate = binary(0x77);
const below = binary(0x49);
const load = (address: Code, offset = 0): Code => [...address, 0x28, 2, ...unsigned(offset)];
const store = (address: Code, offset: number, value: Code): Code => [...address, ...value, 0x36, 2, ...unsigned(offset)];
/** Runs once and again while `condition` is true. */
const repeatWhile = (condition: Code, body: Code): Code => [0x03, 0x40, ...body, ...condition, 0x0d, 0, 0x0b];

const vectorLoad = (address: Code): Code => [...address, 0xfd, 0x00, 2, 0];
const splat = (value: number): Code => [...constant(value), 0xfd, 0x11];
const lane = (vector: Code, index: number): Code => [...vector, 0xfd, 0x1b, index];
const vectorOr = binary(0xfd, 0x50);
const vectorXor = binary(0xfd, 0x51);
const vectorLeft = (vector: Code, bits: number): Code => [...vector, ...constant(bits), 0xfd, 0xab, 1];
const vectorRight = (vector: Code, bits: number): Code => [...vector, ...constant(bits), 0xfd, 0xad, 1];
const vectorAdd = binary(0xfd, 0xae, 1);
const vectorMultiply = binary(0xfd, 0xb5, 1);
/** Words of `a` are 0 to 3, of `b` 4 to 7. */
const pick = (a: Code, b: Code, order: Code): Code => [...a, ...b, 0xfd, 0x0d, ...order.flatMap((word) => [0, 1, 2, 3].map((byte) => 4 * word + byte))];

const rotated = (index: number, bits: number): Code => vectorOr(vectorLeft(get(index), bits), vectorRight(get(index), 32 - bits));

/** Four tokens of each of four blocks, a block in a row, become four vectors with a token of each block. */
function transposed(): Code {
  const row = (block: number): Code => vectorLoad([0, 1, 2].slice(0, block).reduce<Code>((address) => add(address, get(local.blockBytes)), get(local.at)));
  const loads = [0, 1, 2, 3].flatMap((block) => set(local.rows + block, row(block)));
  const [low, high] = [[0, 4, 1, 5], [2, 6, 3, 7]] as const;
  const pairs = [low, high].flatMap((order, half) => [0, 1].flatMap((pair) => set(local.pairs + 2 * half + pair, pick(get(local.rows + 2 * pair), get(local.rows + 2 * pair + 1), order))));
  return [...loads, ...pairs];
}

function tokenSteps(): Code {
  return [0, 1, 2, 3].flatMap((token) => {
    const half = token >> 1;
    const order = (token & 1) === 0 ? [0, 1, 4, 5] : [2, 3, 6, 7];
    return [
      ...set(local.tokens, pick(get(local.pairs + 2 * half), get(local.pairs + 2 * half + 1), order)),
      ...set(local.lows, vectorMultiply(vectorXor(rotated(local.lows, 15), get(local.tokens)), splat(blockMultipliers.low))),
      ...set(local.highs, vectorMultiply(vectorAdd(rotated(local.highs, 11), get(local.tokens)), splat(blockMultipliers.high))),
    ];
  });
}

function scrambled(index: number): Code {
  const shifted = (bits: number): Code => set(index, vectorXor(get(index), vectorRight(get(index), bits)));
  const multiplied = (by: number): Code => set(index, vectorMultiply(get(index), splat(by)));
  return [...shifted(16), ...multiplied(scrambleMultipliers.first), ...shifted(13), ...multiplied(scrambleMultipliers.second), ...shifted(16)];
}

const mixedLanes: Code = [
  ...set(local.lows, vectorXor(get(local.lows), vectorMultiply(get(local.highs), splat(crossMultipliers.low)))),
  ...scrambled(local.lows),
  ...set(local.highs, vectorXor(get(local.highs), vectorMultiply(get(local.lows), splat(crossMultipliers.high)))),
  ...scrambled(local.highs),
];

const chained: Code = [0, 1, 2, 3].flatMap((block) => [
  ...set(local.low, multiply(exclusiveOr(rotate(get(local.low), constant(13)), lane(get(local.lows), block)), constant(chainMultipliers.low))),
  ...set(local.high, add(multiply(exclusiveOr(rotate(get(local.high), constant(17)), lane(get(local.highs), block)), constant(chainMultipliers.high)), get(local.low))),
  ...store(get(local.out), 8 * block, get(local.low)),
  ...store(get(local.out), 8 * block + 4, get(local.high)),
]);

const groupOfFour: Code = [
  ...set(local.end, add(get(local.at), get(local.blockBytes))),
  ...set(local.lows, splat(laneStarts.low)),
  ...set(local.highs, splat(laneStarts.high)),
  ...repeatWhile(below(get(local.at), get(local.end)), [...transposed(), ...tokenSteps(), ...set(local.at, add(get(local.at), constant(16)))]),
  ...set(local.at, add(get(local.at), multiply(get(local.blockBytes), constant(3)))),
  ...mixedLanes,
  ...chained,
  ...set(local.out, add(get(local.out), constant(32))),
  ...set(local.groups, add(get(local.groups), constant(-1))),
];

/** Exports `memory` and `hash(blockBytes, groups)`: blocks of a multiple of 16 bytes, at least one group of four. */
export function lanesModule(): Uint8Array {
  const code: Code = [
    ...counted([[...unsigned(words), i32], [...unsigned(vectors), v128]]),
    ...set(local.out, constant(4 * lanesMemory.outWord)),
    ...set(local.low, load(constant(4 * lanesMemory.beforeWord))),
    ...set(local.high, load(constant(4 * lanesMemory.beforeWord), 4)),
    ...repeatWhile(get(local.groups), groupOfFour),
    0x0b,
  ];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, counted([[0x60, ...counted([[i32], [i32]]), 0]])),
    ...section(3, counted([[0]])),
    ...section(5, counted([[1, ...unsigned(lanesMemory.pages), ...unsigned(lanesMemory.pages)]])),
    ...section(7, counted([[...name('memory'), 2, 0], [...name('hash'), 0, 0]])),
    ...section(10, counted([[...unsigned(code.length), ...code]])),
  ]);
}
