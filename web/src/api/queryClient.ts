/** What is kept of answers, and when a question is asked again. */
import { QueryClient } from "@tanstack/react-query";

import { ProblemError } from "./problem";

const PASSING = new Set([0, 429, 502, 503, 504]);

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      refetchOnWindowFocus: false,
      staleTime: 5_000,
      retry: (failures, failure) =>
        failures < 2 && failure instanceof ProblemError && PASSING.has(failure.problem.status),
    },
    mutations: { retry: false },
  },
});
