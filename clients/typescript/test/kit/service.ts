/** A service of a test file's own, from the environment of the checkout. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

export const CLIENTS = fileURLToPath(new URL("../..", import.meta.url));
export const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const COMMAND = join(ROOT, ".venv", "bin", "pagefault");

export interface Service {
  readonly url: string;
  /** A key of a new project; only of a service with keys. */
  readonly newKey: (project: string) => string;
}

/** Start a service, which ends with the tests of the file. */
export async function startService(
  auth: "none" | "api-key" = "none",
  settings: Record<string, string> = {},
): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), "pagefault-client-"));
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("PAGEFAULT_"));
  const env = { ...Object.fromEntries(kept), PAGEFAULT_AUTH: auth, NO_PROXY: "*", ...settings };
  const running = spawn(COMMAND, ["serve", "--port", "0", "--data-dir", folder], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise((resolve) => running.once("exit", resolve));
  after(async () => {
    // A request that hangs on purpose would keep it waiting.
    running.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true });
  });
  const url = await new Promise<string>((resolve, reject) => {
    let said = "";
    const hear = (bytes: Buffer) => {
      said += bytes.toString();
      const found = /Pagefault is at (http:\/\/\S+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    };
    running.stdout.on("data", hear);
    running.stderr.on("data", hear);
    void ended.then(() => reject(new Error(`The service ended: ${said}`)));
  });
  return {
    url,
    newKey(project) {
      const made = spawnSync(
        COMMAND,
        ["keys", "create", "--project", project, "--data-dir", folder],
        { env, encoding: "utf8" },
      );
      return /pf_\S+/.exec(made.stdout)![0];
    },
  };
}
