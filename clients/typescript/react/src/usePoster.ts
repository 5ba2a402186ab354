/** A picture of a video, which the service makes; none where it has none. */
import { useEffect, useState } from "react";

import { usePagefault } from "./context.ts";

export function usePoster(id: string | null): string | undefined {
  const client = usePagefault();
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (id === null) return undefined;
    const life = new AbortController();
    let made: string | undefined;
    client
      .request(`/api/resources/${id}/poster`, {
        query: { optional: true },
        signal: life.signal,
        maxRetries: 0,
      })
      .then(async (answer) => {
        if (answer.status === 204) return;
        made = URL.createObjectURL(await answer.blob());
        if (life.signal.aborted) URL.revokeObjectURL(made);
        else setUrl(made);
      })
      .catch(() => undefined);
    return () => {
      life.abort();
      setUrl(undefined);
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [client, id]);
  return url;
}
