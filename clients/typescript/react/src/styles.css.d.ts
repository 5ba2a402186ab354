/** The styles have nothing to import but themselves. TypeScript asks of every import what it is. */
export {};
