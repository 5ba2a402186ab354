/** The address an element began with, until it fails: a new one would begin to load again. */
import { useEffect, useState } from "react";

export interface SteadyUrl {
  readonly url: string | undefined;
  readonly hasFailed: boolean;
  /** To be called when loading failed: asks for a new address once, then gives up. */
  readonly retry: () => Promise<void>;
}

export function useSteadyUrl(
  offered: string | undefined,
  renew: () => Promise<string | undefined>,
): SteadyUrl {
  const [url, setUrl] = useState(offered);
  const [renewedAt, setRenewedAt] = useState<string>();
  const [hasFailed, setFailed] = useState(false);

  useEffect(() => {
    if (url === undefined && offered !== undefined) setUrl(offered);
  }, [url, offered]);

  async function retry() {
    const failed = url;
    const fresh = await renew().catch(() => undefined);
    if (fresh === undefined || fresh === failed || renewedAt === failed) {
      setFailed(true);
      return;
    }
    setRenewedAt(fresh);
    setUrl(fresh);
  }

  return { url, hasFailed, retry };
}
