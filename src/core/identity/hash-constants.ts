/** What the two forms of the block hash, JavaScript and WebAssembly, must agree on. All odd, so that nothing is lost. */
export const laneStarts = { low: 0x243f6a88, high: 0x85a308d3 } as const;
export const blockMultipliers = { low: 0x9e3779b1, high: 0xc2b2ae3d } as const;
export const crossMultipliers = { low: 0x9e3779b1, high: 0x85ebca77 } as const;
export const scrambleMultipliers = { first: 0x85ebca6b, second: 0xc2b2ae35 } as const;
export const chainMultipliers = { low: 0x9e3779b1, high: 0x165667b1 } as const;
