/** The spellings of a resource's id. */

const RESOURCE = /^(?:@?blob:)?([0-9a-f]{32})$/;

/** Return the id in `@blob:<id>`, `blob:<id>` or a bare id; null for any other text. */
export function resourceId(reference: string): string | null {
  return RESOURCE.exec(reference)?.[1] ?? null;
}
