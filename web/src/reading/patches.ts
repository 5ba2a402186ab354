/** How two texts differ, as a patch. */
import { createTwoFilesPatch } from "diff";

/** The longer two texts differ, the more it takes: minutes for some thousand lines. */
const LONGEST_MS = 500;

interface Named {
  readonly name: string;
  readonly text: string;
}

/** Return the patch; undefined where they differ too much for it to be found soon. */
export function patchBetween(before: Named, after: Named, context?: number): string | undefined {
  const patch = createTwoFilesPatch(before.name, after.name, before.text, after.text, "", "", {
    timeout: LONGEST_MS,
    ...(context !== undefined && { context }),
  }) as string | undefined;
  return patch?.split("\n").slice(1).join("\n");
}
