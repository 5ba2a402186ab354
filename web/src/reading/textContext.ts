/** What is known of the texts of a result: the file that the call names, and whether it failed. */
import { memberOf } from "@pagefault/client/json";
import { createContext } from "react";

export interface TextContextValue {
  readonly filename?: string | undefined;
  /** Why a command failed stands in its last lines. */
  readonly isFailed: boolean;
}

export const TextContext = createContext<TextContextValue>({ isFailed: false });

const FILE_MEMBERS = ["file_path", "filePath", "path", "filename", "file", "target_file"];

/** The file that the arguments of a call name. */
export function fileIn(source: string): string | undefined {
  if (!source.startsWith("{")) return undefined;
  const named = FILE_MEMBERS.find((name) => memberOf(source, name)?.startsWith('"'));
  return named === undefined ? undefined : (JSON.parse(memberOf(source, named) ?? '""') as string);
}
